//! The console examples of the pages: every command of a `console` block prints what the page shows.
//!
//! A line that begins with `$ ` is a command, which goes on in the next line after a backslash; the lines below it are
//! its output. `…` in an output stands for any text, and ids, keys, times and ports are not compared.

use super::demo::Demo;
use crate::harness::folder::Folder;
use crate::harness::images::PNG;
use crate::harness::process::BINARY;
use regex::Regex;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// Written behind the output of each command.
const END: char = '\u{1e}';

/// A command of a page, and the output that the page shows.
struct ConsoleExample {
    line: usize,
    command: String,
    output: Vec<String>,
}

#[tokio::test]
async fn the_commands_of_the_readme_print_what_it_shows() {
    assert_outputs("README.md").await;
}

#[tokio::test]
async fn the_commands_for_application_developers_print_what_their_page_shows() {
    assert_outputs("docs/calling.md").await;
}

#[tokio::test]
async fn the_commands_for_operators_print_what_their_page_shows() {
    assert_outputs("docs/commands.md").await;
}

#[test]
fn an_output_is_compared_but_for_what_differs_each_time() {
    let example = |output: &str| ConsoleExample {
        line: 1,
        command: "true".into(),
        output: output.lines().map(str::to_owned).collect(),
    };
    for (shown, printed, is_equal) in [
        ("queued", "queued\n", true),
        ("queued", "running\n", false),
        ("queued", "queued\nrunning\n", false),
        ("queued", "", false),
        ("", "queued\n", false),
        (r#"{"a":1,…}"#, r#"{"a":1,"b":2}"#, true),
        (r#"{"a":1,…}"#, r#"{"a":2,"b":2}"#, false),
        (
            "task_F4ip… at 1795330997",
            "task_94Zt-_ at 1795331000",
            true,
        ),
        (
            "x-request-id: req_3fc0668e0c21c7a4d5ac54bf",
            "x-request-id: req_000000000000000000000000",
            true,
        ),
    ] {
        let difference = example(shown).difference(printed);
        assert_eq!(
            difference.is_none(),
            is_equal,
            "{shown} {printed} {difference:?}"
        );
    }
}

/// Runs the commands of a page in one shell: before the demo, and beside the first `routes.yaml` of the README.
async fn assert_outputs(page: &str) {
    let examples = console_examples(&read(page));
    assert!(!examples.is_empty(), "{page} has no console block");
    let demo = Demo::start().await;
    let folder = Folder::new();
    folder.write("routes.yaml", first_yaml_block(&read("README.md")));
    folder.write("gate.png", PNG);
    let addresses = [
        ("127.0.0.1:8080", demo.gateway.to_string()),
        ("127.0.0.1:9091", demo.admin.to_string()),
    ];
    let script: String = examples
        .iter()
        .map(|example| format!("{{ {}\n}} 2>&1; printf '{END}'\n", example.command))
        .collect();
    let script = addresses
        .iter()
        .fold(script, |script, (shown, real)| script.replace(shown, real));
    let output = tokio::task::spawn_blocking(move || run(&script, folder.path()))
        .await
        .unwrap();
    let output = addresses
        .iter()
        .fold(output, |output, (shown, real)| output.replace(real, shown));
    let printed: Vec<&str> = output.split_terminator(END).collect();
    assert_eq!(printed.len(), examples.len(), "{page}: {output}");
    let differences: Vec<String> = examples
        .iter()
        .zip(printed)
        .filter_map(|(example, printed)| {
            let difference = example.difference(printed)?;
            Some(format!("{page}:{}: {difference}", example.line))
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The output of a shell script that finds the program by its name.
fn run(script: &str, folder: &Path) -> String {
    let program = Path::new(BINARY).parent().unwrap().display();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", script])
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

impl ConsoleExample {
    /// The shown line that was not printed, if there is one.
    fn difference(&self, printed: &str) -> Option<String> {
        let printed: Vec<String> = printed.lines().map(masked).collect();
        let shown: Vec<String> = self.output.iter().map(|line| masked(line)).collect();
        let is_equal = shown.len() == printed.len()
            && shown
                .iter()
                .zip(&printed)
                .all(|(shown, printed)| pattern(shown).is_match(printed));
        let (command, shown, printed) = (&self.command, shown.join("\n"), printed.join("\n"));
        (!is_equal).then(|| format!("$ {command}\n--- shown\n{shown}\n--- printed\n{printed}\n"))
    }
}

/// A shown line as an expression for printed ones.
fn pattern(shown: &str) -> Regex {
    let pieces: Vec<String> = shown.split('…').map(regex::escape).collect();
    Regex::new(&format!("^{}$", pieces.join(".*"))).unwrap()
}

/// What differs each time, and what stands for it in a comparison: ids, keys, digests, times, ports.
static MASKS: LazyLock<[(Regex, &str); 8]> = LazyLock::new(|| {
    [
        (r"task_[A-Za-z0-9_-]+…?", "TASK"),
        (r"req_[0-9a-f]{24}", "REQUEST"),
        (r"(chatcmpl|file)-[0-9a-f]{24}", "ID"),
        (r"sk-hg-[A-Za-z0-9_-]{32}", "KEY"),
        (r"[0-9a-f]{64}", "DIGEST"),
        (r"revision [0-9a-f]{12}", "revision ID"),
        (r"\b1[0-9]{9}(000)?\b", "TIME"),
        (r"127\.0\.0\.1:[0-9]+", "ADDRESS"),
    ]
    .map(|(volatile, mask)| (Regex::new(volatile).unwrap(), mask))
});

fn masked(line: &str) -> String {
    let line = line.trim_end().to_owned();
    MASKS.iter().fold(line, |line, (volatile, mask)| {
        volatile.replace_all(&line, *mask).into_owned()
    })
}

/// The commands of all `console` blocks of a page.
fn console_examples(page: &str) -> Vec<ConsoleExample> {
    let mut examples: Vec<ConsoleExample> = Vec::new();
    let mut is_console = false;
    for (at, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            is_console = line == "```console";
            continue;
        }
        if !is_console {
            continue;
        }
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(ConsoleExample {
                line: at + 1,
                command: command.to_owned(),
                output: Vec::new(),
            }),
            (None, Some(last)) if last.output.is_empty() && last.command.ends_with('\\') => {
                last.command = format!("{}\n{line}", last.command);
            }
            (None, Some(last)) => last.output.push(line.to_owned()),
            (None, None) => panic!("line {}: output without a command", at + 1),
        }
    }
    examples
}

fn first_yaml_block(page: &str) -> String {
    let (_, block) = page.split_once("```yaml\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

fn read(page: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()
}

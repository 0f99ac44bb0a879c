//! Tests of random files: whatever their size, the output of `check` is short, and its time is linear in the size.

use super::check::check;
use crate::harness::folder::Folder;
use crate::harness::process::BINARY;
use std::fmt::Write;
use std::process::{Command, Stdio};

const QUARTER: usize = 64 << 10;
const WHOLE: usize = 4 * QUARTER;

/// A pseudo-random sequence, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Appends pieces until the text has `bytes` bytes.
fn filled(head: &str, bytes: usize, mut piece: impl FnMut(usize) -> String, tail: &str) -> String {
    let mut text = String::from(head);
    for n in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&piece(n));
    }
    text + tail
}

/// Generates a text of about this many bytes.
type Nonsense = fn(usize) -> String;

fn kinds() -> Vec<(&'static str, Nonsense)> {
    vec![
        ("random text", |bytes| {
            let mut random = Random(7);
            filled(
                "",
                bytes,
                |_| {
                    let byte = (random.next() % 95) as u8 + 32;
                    let end = if byte.is_multiple_of(29) { "\n" } else { "" };
                    format!("{}{end}", byte as char)
                },
                "",
            )
        }),
        ("unknown keys", |bytes| {
            filled("", bytes, |n| format!("key{n}: x\n"), "")
        }),
        ("unknown keys in one line", |bytes| {
            filled("{", bytes, |n| format!("key{n}: x, "), "}")
        }),
        ("keys that are nearly known", |bytes| {
            filled(
                "channels:\n",
                bytes,
                |n| format!("  c{n}: {{base_ur: x, modls: {{a: b}}}}\n"),
                "routes: []\n",
            )
        }),
        ("a sequence in one line", |bytes| {
            filled(
                "channels: {}\nroutes: [",
                bytes,
                |n| format!("{n}, "),
                "]\n",
            )
        }),
        ("callers of nothing", |bytes| {
            filled(
                "channels: {}\nroutes: []\ncallers:\n",
                bytes,
                |n| format!("- {{nme: c{n}, key: k{n}}}\n"),
                "",
            )
        }),
        ("secrets", |bytes| {
            filled(
                "channels:\n",
                bytes,
                |n| format!("  c{n}: {{bearer: sk-secret-{n}, credental: {{a{n}: b}}}}\n"),
                "routes: []\n",
            )
        }),
        ("variables that are not set", |bytes| {
            filled(
                "channels: {}\nroutes:\n",
                bytes,
                |n| format!("- \"${{NOT_SET_{n}}}\"\n"),
                "",
            )
        }),
        ("one key without end", |bytes| {
            filled("", bytes, |_| "k".into(), ": x\n")
        }),
        ("one value without end", |bytes| {
            filled("routes: ", bytes, |_| "v".into(), "\n")
        }),
        ("aliases", |bytes| {
            filled(
                "channels: {}\na: &a {b: 1, c: 2}\nroutes:\n",
                bytes,
                |_| "- *a\n".into(),
                "",
            )
        }),
        ("duplicate keys", |bytes| {
            filled("", bytes, |_| "key: x\n".into(), "")
        }),
        ("nested brackets", |bytes| {
            filled("a: ", bytes, |_| "[".into(), "")
        }),
        ("nested mappings", |bytes| {
            let mut text = String::new();
            for depth in 0.. {
                if text.len() >= bytes {
                    break;
                }
                writeln!(text, "{}k:", " ".repeat(depth)).unwrap();
            }
            text
        }),
        ("quotes", |bytes| filled("a: ", bytes, |_| "\"'".into(), "")),
        ("tabs", |bytes| {
            filled("a:\n", bytes, |_| "\tb: c\n".into(), "")
        }),
        ("colons", |bytes| filled("", bytes, |_| "a: ".into(), "")),
        ("models that nobody serves", |bytes| {
            let head = "channels:\n  c: {base_url: \"https://p.example\", protocols: [chat], models: {m: n}}\nroutes:\n- {name: r, match: GET /r, protocol: chat, request: [authenticate, route_model]}\ncallers:\n- name: ann\n  key_sha256: 0b5f9f3cdd0e4a21f57d5a1a2ab7e7b9e4ff5d9ac64b0a95e5f6d0f0a3f2a1c4\n  models:\n";
            filled(head, bytes, |n| format!("  - model-{n}\n"), "")
        }),
    ]
}

#[test]
fn of_nonsense_of_any_size_at_most_a_hundred_problems_are_printed() {
    let megabyte: Nonsense = |_| filled("", 1 << 20, |n| format!("key{n}: x\n"), "");
    for (kind, made) in kinds().into_iter().chain([("a megabyte", megabyte)]) {
        let output = check(&made(WHOLE));
        let all = output.stdout + &output.stderr;
        let problems = all.matches("error: ").count() + all.matches("warning: ").count();
        assert!((1..=100).contains(&problems), "{kind}: {problems} problems");
        assert!(all.len() < 100_000, "{kind}: {} bytes", all.len());
        let longest = all.lines().map(|line| line.chars().count()).max();
        assert!(longest < Some(1_200), "{kind}: a line of {longest:?}");
        if problems == 100 {
            assert!(
                all.contains("not shown"),
                "{kind}: how many more is not said"
            );
        }
    }
}

#[test]
fn twice_a_hundred_problems_are_counted_whole() {
    let text = filled("", 4096, |n| format!("key{n:04}: x\n"), "");
    let output = check(&text);
    let unknown = text.lines().count();
    // The two missing keys are errors, too.
    let more = format!("{} more problems not shown\n", unknown + 2 - 100);
    assert!(output.stderr.contains(&more), "{more} in {}", output.stderr);
    let all = format!("{} errors in routes.yaml", unknown + 2);
    assert!(output.stderr.contains(&all), "{all} in {}", output.stderr);
}

/// A file that is four times as large may take about four times as long; quadratic work would take sixteen.
#[test]
fn the_work_grows_as_the_file_does() {
    for (kind, made) in kinds() {
        let quarter = processor_time(&made(QUARTER));
        let whole = processor_time(&made(WHOLE));
        // Below half a second, the start of the process dominates.
        assert!(
            whole < 0.5 || whole < 9.0 * quarter,
            "{kind}: {quarter:.2} s for a quarter, {whole:.2} s for all"
        );
    }
}

/// The processor time of `headgate check` in seconds, which does not depend on other processes.
fn processor_time(text: &str) -> f64 {
    let folder = Folder::new();
    let file = folder.write("routes.yaml", text);
    #[allow(
        clippy::zombie_processes,
        reason = "wait4 waits for it, and knows what it took"
    )]
    let child = Command::new(BINARY)
        .arg("check")
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: the struct is plain data, both pointers are valid for the whole call, and nothing else waits for this
    // child.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let mut status = 0;
        assert_eq!(libc::wait4(id, &raw mut status, 0, &raw mut usage), id);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

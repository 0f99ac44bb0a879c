//! What all commands have in common: the variable of the configuration, completions, manual pages and the version.

use crate::harness::config::standard;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use std::process::Command;

/// A folder with a valid configuration that is not called routes.yaml.
fn folder() -> Folder {
    let folder = folder_with_schemas();
    let config = standard("https://provider.test/v1");
    folder.write("gate.yaml", format!("{config:#}"));
    folder
}

/// The exit status, and both outputs.
fn run_in(folder: &Folder, variable: Option<&str>, args: &[&str]) -> (i32, String) {
    let mut command = Command::new(BINARY);
    command.args(args).current_dir(folder.path());
    match variable {
        Some(value) => command.env("HEADGATE_CONFIG", value),
        None => command.env_remove("HEADGATE_CONFIG"),
    };
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(text).unwrap(),
    )
}

#[test]
fn commands_for_a_running_gateway_ask_the_address_in_the_routes_yaml_of_the_folder() {
    let folder = Folder::new();
    folder.write("routes.yaml", "server: {admin: 127.0.0.1:9}\nrouts: []\n");
    for args in [
        &["status"][..],
        &["top", "--once"],
        &["callback", "list"],
        &["capture", "list"],
        &["log-filter"],
    ] {
        let (_, text) = run_in(&folder, None, args);
        assert!(text.contains("http://127.0.0.1:9: "), "{args:?}: {text}");
    }
}

#[test]
fn headgate_config_is_the_path_unless_an_argument_gives_one() {
    let folder = folder();
    let gate = Some("gate.yaml");
    let table: [(Option<&str>, &[&str], i32, &str); 12] = [
        (gate, &["check"], 0, "gate.yaml is valid"),
        (None, &["check"], 1, "routes.yaml"),
        (Some(""), &["check"], 1, "routes.yaml"),
        (gate, &["check", "--config", "flag.yaml"], 1, "flag.yaml"),
        (gate, &["check", "argument.yaml"], 1, "argument.yaml"),
        (
            Some("none.yaml"),
            &["check", "gate.yaml"],
            0,
            "gate.yaml is valid",
        ),
        (
            gate,
            &["explain", "/v1/models"],
            0,
            "verdict   local reply with status 200",
        ),
        (None, &["explain", "/v1/models"], 1, "routes.yaml"),
        (gate, &["schema", "openapi"], 0, "\"openapi\": \"3.1"),
        (
            gate,
            &["status"],
            2,
            "gate.yaml does not have the address of the admin pages",
        ),
        (
            gate,
            &["status", "--admin", "127.0.0.1:9"],
            2,
            "127.0.0.1:9",
        ),
        (Some("none.yaml"), &["replay", "x.log"], 2, "none.yaml"),
    ];
    for (variable, args, code, words) in table {
        let (actual, printed) = run_in(&folder, variable, args);
        assert_eq!(actual, code, "{variable:?} {args:?}: {printed}");
        assert!(printed.contains(words), "{variable:?} {args:?}: {printed}");
    }
}

#[test]
fn bash_completes_commands_options_and_shells() {
    let folder = folder();
    let (code, script) = run_in(&folder, None, &["completions", "bash"]);
    assert_eq!(code, 0, "{script}");
    folder.write("completions.bash", script);
    for (words, expected) in [
        ("headgate che", "check"),
        ("headgate check --str", "--strict"),
        ("headgate key dig", "digest"),
        ("headgate completions z", "zsh"),
    ] {
        let count = words.split(' ').count() - 1;
        let typed = words.rsplit(' ').next().unwrap();
        let previous = words.split(' ').nth(count - 1).unwrap();
        let complete = format!(
            "source completions.bash; complete -p headgate >/dev/null || exit 1; \
             COMP_WORDS=({words}); COMP_CWORD={count}; _headgate headgate '{typed}' '{previous}'; \
             echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let bash = bash.args(["-c", &complete]).current_dir(folder.path());
        let output = bash.output().unwrap();
        assert!(output.status.success(), "{words}");
        let replies = String::from_utf8(output.stdout).unwrap();
        assert_eq!(replies.trim(), expected, "{words}");
    }
}

#[test]
fn manual_pages_are_of_all_commands_and_in_the_format_of_man() {
    let folder = folder();
    let (code, page) = run_in(&folder, None, &["man"]);
    assert_eq!(code, 0, "{page}");
    assert!(page.contains(".TH headgate 1"), "{page}");
    assert_eq!(run_in(&folder, None, &["man", "--to", "."]).0, 0);
    for name in ["headgate", "headgate-check", "headgate-key-digest"] {
        let file = folder.path().join(format!("{name}.1"));
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        assert!(page.contains(".SH EXTRA"), "{name} has no examples: {page}");
        let Ok(output) = Command::new("groff")
            .args(["-man", "-ww", "-Tutf8", "-z"])
            .arg(&file)
            .output()
        else {
            continue; // groff is not on this machine
        };
        let warnings = String::from_utf8(output.stderr).unwrap();
        assert_eq!(warnings, "", "{name}");
    }
    let (code, printed) = run_in(&folder, None, &["man", "--to", "missing"]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("create the folder"), "{printed}");
}

#[test]
fn the_long_version_has_the_build_and_its_features() {
    let folder = folder();
    let short = format!("headgate {}", env!("CARGO_PKG_VERSION"));
    let (_, printed) = run_in(&folder, None, &["-V"]);
    assert_eq!(printed.trim(), short);
    let (_, printed) = run_in(&folder, None, &["--version"]);
    let is_debug_build = option_env!("HEADGATE_PROGRAM").is_none() && cfg!(debug_assertions);
    let build = match (option_env!("HEADGATE_COMMIT"), is_debug_build) {
        (Some(commit), _) => commit.to_owned(),
        (None, true) => "debug build".to_owned(),
        (None, false) => commit_of_checkout().unwrap_or_else(|| "unknown commit".to_owned()),
    };
    let expected = format!("{short} ({build}, ");
    assert!(printed.starts_with(&expected), "{printed}");
    if cfg!(all(
        feature = "otlp",
        feature = "simulator",
        feature = "wasm"
    )) {
        assert!(
            printed.contains("features: convert otlp simulator top wasm)"),
            "{printed}"
        );
    }
}

/// The commit that git names, if the source is a checkout of its own.
fn commit_of_checkout() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let is_own = git(&["rev-parse", "--show-prefix"])?.is_empty();
    is_own.then(|| git(&["rev-parse", "--short", "HEAD"]))?
}

#[test]
fn explain_names_what_is_wrong_with_its_arguments() {
    let folder = folder();
    let table: [(&[&str], &str); 3] = [
        (
            &["v1/models"],
            "error: the path must begin with `/`, received `v1/models`",
        ),
        (
            &["/v1/chat/completions", "-d", "@nothing.json"],
            "error: cannot read nothing.json: no such file",
        ),
        (
            &["/v1/models", "--caller", "anne"],
            "error: unknown caller `anne`; did you mean `ann`?",
        ),
    ];
    for (args, expected) in table {
        let args = [&["explain"], args].concat();
        let (code, text) = run_in(&folder, Some("gate.yaml"), &args);
        assert_eq!(code, 1, "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
    }
}

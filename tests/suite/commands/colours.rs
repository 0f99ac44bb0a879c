//! Colours and progress: on a terminal, which `script` of util-linux provides, and nowhere else.

use super::changed_pair::{config_of, run};
use crate::harness::config::standard;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use std::net::TcpListener;
use std::process::{Command, Stdio};

const RED: &str = "\u{1b}[1m\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";

/// A folder with a configuration for a provider at this address, and an invalid one.
fn folder(provider: &str) -> Folder {
    let folder = folder_with_schemas();
    let config = standard(&format!("{provider}/v1"));
    folder.write("routes.yaml", format!("{config:#}"));
    folder.write("invalid.yaml", "routs: []\n");
    folder
}

/// What a command prints in a terminal with these variables.
fn in_terminal(args: &str, variables: &[(&str, &str)]) -> String {
    let command = format!("{BINARY} {args}");
    let mut script = Command::new("timeout");
    script.args(["60", "script", "-qefc", &command, "/dev/null"]);
    script.env("TERM", "xterm");
    // `anstream` reads these too, and takes every terminal of a CI machine for one with colours.
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        script.env_remove(name);
    }
    for (name, value) in variables {
        script.env(name, value);
    }
    let output = script.stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn colours_are_on_terminals_that_want_them() {
    let folder = folder("https://provider.test");
    let (good, invalid) = (config_of(&folder), folder.path().join("invalid.yaml"));
    let invalid = invalid.display();
    let no_color = ("NO_COLOR", "1");
    let dumb = ("TERM", "dumb");
    let table = [
        (format!("check {good}"), GREEN),
        (format!("check {invalid}"), RED),
        (format!("explain /v1/models -c {good} --key sk-nobody"), RED),
        (format!("diff {good} {invalid}"), RED),
        (format!("diff {good} {good} --requests {good}"), RED),
        ("status --admin 127.0.0.1:9".to_owned(), RED),
        ("top --admin nothing".to_owned(), RED),
    ];
    for (args, colour) in table {
        let shown = in_terminal(&args, &[]);
        assert!(shown.contains(colour), "{args}: {shown:?}");
        for variable in [no_color, dumb] {
            let shown = in_terminal(&args, &[variable]);
            assert!(!shown.contains('\u{1b}'), "{args}: {shown:?}");
        }
        let printed = run(&args.split(' ').collect::<Vec<_>>());
        let all = printed.stdout + &printed.stderr;
        assert!(!all.contains('\u{1b}'), "{args}: {all:?}");
    }
}

#[test]
fn a_check_that_takes_longer_than_a_second_shows_its_progress() {
    // Accepts connections by its backlog, and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = folder(&format!("http://{}", silent.local_addr().unwrap()));
    let args = format!("check --strict {}", config_of(&folder));
    let shown = in_terminal(&args, &[]);
    assert!(shown.contains("\rchecked 0 of 2"), "{shown:?}");
    let (_, after) = shown.rsplit_once("checked").unwrap();
    assert!(
        after.contains(&format!("\r{}\r", " ".repeat(14))),
        "{shown:?}"
    );
    let printed = run(&args.split(' ').collect::<Vec<_>>());
    assert!(!printed.stderr.contains("checked"), "{}", printed.stderr);
}

//! Files that diff and replay cannot use: exit status 2, and the place of the mistake.

use super::changed_pair::{config_of, run};
use crate::harness::config::standard;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;

fn folder() -> Folder {
    let folder = folder_with_schemas();
    let config = standard("https://provider.test/v1");
    folder.write("routes.yaml", format!("{config:#}"));
    folder.write("invalid.yaml", "channels: {}\nrouts: []\n");
    folder
}

#[test]
fn an_unusable_file_ends_both_commands_with_2_and_its_place() {
    let folder = folder();
    let good = config_of(&folder);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let requests = |text: &str| {
        let path = folder.write("requests.jsonl", text);
        path.to_str().unwrap().to_owned()
    };
    let invalid = at("invalid.yaml");
    let missing = at("missing.yaml");
    for (args, words) in [
        (
            vec!["diff", &good, &missing],
            "cannot read the file: no such file",
        ),
        (vec!["diff", &invalid, &good], "unknown key `routs`"),
        (
            vec!["diff", &good, &good, "--requests", &missing],
            "cannot read",
        ),
        (vec!["replay", &missing, "--config", &good], "cannot read"),
        (
            vec!["replay", &good, "--config", &invalid],
            "unknown key `routs`",
        ),
        (vec!["diff", &good], "required"),
    ] {
        let printed = run(&args);
        assert_eq!(printed.code, 2, "{args:?}: {}", printed.stdout);
        assert!(
            printed.stderr.contains(words),
            "{args:?}: {}",
            printed.stderr
        );
    }
    for (text, words) in [
        ("", "has no requests"),
        (
            "{\"path\": \"/\"}\n{\"pth\": \"/\"}\n",
            "line 2: unknown field `pth`",
        ),
        (
            "{\"log\": {\"entries\": [{\"request\": {\"method\": \"G T\", \"url\": \"/\"}}]}}",
            "entry 1: invalid method",
        ),
    ] {
        let file = requests(text);
        for args in [
            vec!["replay", &file, "--config", &good],
            vec!["diff", &good, &good, "--requests", &file],
        ] {
            let printed = run(&args);
            assert_eq!(printed.code, 2, "{args:?}: {}", printed.stdout);
            assert!(
                printed.stderr.contains(words),
                "{args:?}: {}",
                printed.stderr
            );
        }
    }
}

#[test]
fn requests_that_no_change_touches_are_no_difference() {
    let folder = folder();
    let good = config_of(&folder);
    let lines = r#"{"path": "/v1/models", "caller": "ann"}
{"path": "/v1/chat/completions", "caller": "ann", "body": {"model": "demo-large", "messages": [{"role": "user", "content": "x"}]}}
{"path": "/v1/nothing"}
"#;
    let file = folder.write("requests.jsonl", lines);
    let printed = run(&["diff", &good, &good, "--requests", file.to_str().unwrap()]);
    assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
    assert!(
        printed.stdout.contains("requests: no differences in 3"),
        "{}",
        printed.stdout
    );
    // Nothing was recorded of samples, so that replay has nothing to compare.
    let printed = run(&["replay", file.to_str().unwrap(), "--config", &good]);
    assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
    for line in [
        "not judged  3: the file has no response",
        "refused with 404 unknown_url",
    ] {
        assert!(
            printed.stdout.contains(line),
            "{line} in:\n{}",
            printed.stdout
        );
    }
}

#[test]
fn a_line_without_a_caller_is_judged_only_if_its_caller_was_asked_for() {
    let folder = folder();
    let good = config_of(&folder);
    let line = |status: u16, code: &str, route: &str| {
        format!(
            r#"{{"method": "POST", "path": "/v1/chat/completions", "route": "{route}", "status": {status}, "attempts": 0, "error_code": "{code}", "settlement": "none"}}"#
        )
    };
    for (recorded, code, printed_line) in [
        (
            line(415, "unsupported_media_type", "chat"),
            0,
            "not judged  1: refused before its caller was known",
        ),
        (line(401, "invalid_api_key", "chat"), 0, "same        1"),
        (line(404, "unknown_url", "-"), 1, "different   1"),
    ] {
        let file = folder.write("access.log", format!("{recorded}\n"));
        let printed = run(&["replay", file.to_str().unwrap(), "--config", &good]);
        let all = printed.stdout + &printed.stderr;
        assert_eq!(printed.code, code, "{recorded}: {all}");
        assert!(all.contains(printed_line), "{recorded}: {all}");
    }
}

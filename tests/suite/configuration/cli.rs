//! Tests of the command line: check, explain, key and schema.

use crate::harness::config::{CREDENTIALS, sha256, standard};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use crate::harness::request::{ANN, BOB};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct CommandOutput {
    success: bool,
    stdout: String,
    stderr: String,
}

#[test]
fn the_repositorys_own_configuration_is_good() {
    let key = run(&["key", "task"], "").stdout;
    let set = [("HEADGATE_TASK_KEY", key.trim())];
    let printed = run_with(&set, &["check", "routes.yaml"], "");
    assert!(printed.success, "{}", printed.stderr);
    assert!(
        printed.stdout.contains("routes.yaml is valid"),
        "{}",
        printed.stdout
    );
}

#[test]
fn the_shipped_configuration_requires_a_task_key_and_names_the_command_for_one() {
    let printed = run(&["check", "routes.yaml"], "");
    assert!(!printed.success, "{}", printed.stdout);
    for words in [
        "environment variable `HEADGATE_TASK_KEY` is not set",
        "export HEADGATE_TASK_KEY=$(headgate key task)",
        "1 error in routes.yaml",
    ] {
        assert!(
            printed.stderr.contains(words),
            "{words} in:\n{}",
            printed.stderr
        );
    }
}

#[test]
fn an_invalid_task_key_is_reported_without_errors_that_only_follow_from_it() {
    let printed = run_with(
        &[("HEADGATE_TASK_KEY", "short")],
        &["check", "routes.yaml"],
        "",
    );
    assert!(!printed.success, "{}", printed.stdout);
    assert!(
        printed
            .stderr
            .contains("a task key must have at least 32 characters")
    );
    assert!(
        !printed.stderr.contains("finds a channel"),
        "{}",
        printed.stderr
    );
    // The suggestion can be pasted as it is.
    assert!(
        printed
            .stderr
            .contains(r#"`task_keys: ["${HEADGATE_TASK_KEY}"]`"#)
    );
}

#[test]
fn the_schema_of_routes_yaml_is_the_one_that_is_checked_in() {
    let printed = run(&["schema"], "");
    let kept = std::fs::read_to_string(repository().join("schemas/routes.schema.json")).unwrap();
    assert!(
        printed.success && printed.stdout == kept,
        "run `make schema`"
    );
}

#[test]
fn every_error_of_a_configuration_is_printed_with_its_place() {
    let printed = run(&["check", "tests/fixtures/config/typos.yaml"], "");
    assert!(
        !printed.success && printed.stdout.is_empty(),
        "{}",
        printed.stdout
    );
    for line in [
        "--> tests/fixtures/config/typos.yaml:1:1 (sever)",
        "--> tests/fixtures/config/typos.yaml:4:5 (channels.primary.base_ur)",
        "did you mean `base_url`?",
        "--> tests/fixtures/config/typos.yaml:12:15 (routes[0].request[0])",
        "errors in tests/fixtures/config/typos.yaml",
    ] {
        assert!(
            printed.stderr.contains(line),
            "{line} in:\n{}",
            printed.stderr
        );
    }
    let run_anyway = run(&["run", "--config", "tests/fixtures/config/typos.yaml"], "");
    assert!(!run_anyway.success && run_anyway.stderr.contains("(sever)"));
    assert!(!run(&["check", "no-such-file.yaml"], "").success);
}

#[test]
fn limits_that_are_not_enforced_get_a_warning() {
    let mut config = standard("https://provider.test/v1");
    config["callers"][0]["limits"] =
        json!({"concurrent": 9, "models": {"demo-lrge": {"concurrent": 1}}});
    let (_folder, path) = written(&config);
    let printed = run(&["check", &path], "");
    assert!(printed.success, "{}", printed.stderr);
    for line in [
        "no channel serves model `demo-lrge`",
        "did you mean `demo-large`?",
        "routes.yaml:8:11",
        "limits are not enforced: no route has `rate_limit`",
        "routes.yaml:5:7",
    ] {
        assert!(
            printed.stdout.contains(line),
            "{line} in:\n{}",
            printed.stdout
        );
    }
    config["routes"][0]["request"] = json!(["authenticate", "rate_limit", "route_model"]);
    let (_folder, path) = written(&config);
    let printed = run(&["check", &path], "");
    let wrong = "`rate_limit` requires an earlier `route_model`";
    assert!(
        !printed.success && printed.stderr.contains(wrong),
        "{}",
        printed.stderr
    );
}

#[test]
fn an_unknown_profile_is_reported_with_its_place_and_the_nearest_name() {
    for (profile, reason, hint) in [
        (
            "family_a/2.O",
            "cannot read schema",
            "did you mean `family_a/2.0`?",
        ),
        ("2.0", "must begin with a protocol", "family_a/2.0"),
        ("family_c/1", "must begin with a protocol", "`"),
        ("family_a/../chat", "must begin with a protocol", "`"),
    ] {
        let mut config = standard("https://provider.test/v1");
        config["models"] = json!({"demo-large": {"profile": profile}});
        let (_folder, path) = written(&config);
        let printed = run(&["check", &path], "");
        assert!(!printed.success, "{profile}");
        for words in [reason, hint, "routes.yaml:"] {
            assert!(
                printed.stderr.contains(words),
                "{words} in:\n{}",
                printed.stderr
            );
        }
    }
}

#[test]
fn rules_of_models_are_not_checked_before_the_model_is_known() {
    let mut config = standard("https://provider.test/v1");
    config["routes"][0]["request"] = json!(["authenticate", "validate", "route_model"]);
    let (_folder, path) = written(&config);
    let printed = run(&["check", &path], "");
    let wrong = "`validate` requires an earlier `route_model`";
    assert!(
        !printed.success && printed.stderr.contains(wrong),
        "{}",
        printed.stderr
    );
}

#[test]
fn an_unusable_spool_folder_is_reported_with_its_place() {
    let mut config = standard("https://provider.test/v1");
    config["server"]["spool"] = json!({"folder": "not/there"});
    let (_folder, path) = written(&config);
    let printed = run(&["check", &path], "");
    assert!(!printed.success);
    for words in [
        "cannot create files in",
        "not/there",
        "No such file",
        "(server.spool.folder)",
        "routes.yaml:",
        "create this folder",
    ] {
        assert!(
            printed.stderr.contains(words),
            "{words} in:\n{}",
            printed.stderr
        );
    }
}

#[test]
fn what_becomes_of_a_good_request_is_explained() {
    let (folder, config) = written(&standard("https://provider.test/base/v1"));
    let body = json!({"model": "demo-large", "messages": [{"role": "user", "content": "x"}]});
    let args = [
        "explain",
        "/v1/chat/completions",
        "-c",
        &config,
        "-d",
        &body.to_string(),
    ];
    let printed = run(&args, "");
    assert!(printed.success, "{}", printed.stderr);
    let sent = body
        .to_string()
        .replace("demo-large", "sim-large-2026-08")
        .len();
    for line in [
        "route     chat (POST /v1/chat/completions)",
        "request   require_json, authenticate, limit_body, route_model, validate",
        "response  pass_sse, meter_usage",
        "caller    ann",
        "verdict   accepted",
        "1. openai (tier 0, weight 1)",
        "model    sim-large-2026-08",
        "url      https://provider.test/base/v1/chat/completions",
        "header   authorization: [secret]",
        &format!("body     {sent} bytes"),
    ] {
        assert!(
            printed.stdout.contains(line),
            "{line} in:\n{}",
            printed.stdout
        );
    }
    let all = printed.stdout + &printed.stderr;
    assert!(
        CREDENTIALS.iter().all(|secret| !all.contains(secret)),
        "{all}"
    );
    drop(folder);
}

#[test]
fn what_becomes_of_a_bad_request_is_explained() {
    let (_folder, config) = written(&standard("https://provider.test/v1"));
    let chat = "/v1/chat/completions";
    let good = r#"{"model":"demo-large","messages":[{"role":"user","content":"x"}]}"#;
    for (args, reported) in [
        (vec!["/v1/nothing"], "no route matches GET /v1/nothing"),
        (vec![chat], "this path accepts POST"),
        (vec![chat, "-d", "{"], "refused with 400"),
        (
            vec![chat, "-d", r#"{"model":"demo-large","model":"x"}"#],
            "refused with 400",
        ),
        (
            vec![chat, "-d", r#"{"model":"demo-larg"}"#],
            "did you mean `demo-large`?",
        ),
        (
            vec![chat, "-d", r#"{"model":"demo-large"}"#],
            "missing required field `messages`",
        ),
        (
            vec![chat, "-d", good, "--key", "sk-eve"],
            "refused with 401",
        ),
        (vec![chat, "-d", good, "--key", BOB], "refused with 403"),
        (
            vec![chat, "-d", good, "--caller", "bob"],
            "refused with 403",
        ),
        (
            vec![chat, "-d", good, "-H", "content-type: text/plain"],
            "refused with 415",
        ),
    ] {
        let args = [&["explain", "-c", &config], args.as_slice()].concat();
        let printed = run(&args, "");
        assert!(
            !printed.success && printed.stderr.contains(reported),
            "{args:?}: {}",
            printed.stderr
        );
    }
    let args = ["explain", "-c", &config, chat, "-d", "@-", "--key", ANN];
    assert!(
        run(&args, good).success,
        "the body comes from standard input too"
    );
    let list = run(&["explain", "-c", &config, "/v1/models", "--key", BOB], "");
    assert!(
        list.success && list.stdout.contains("demo-small"),
        "{}",
        list.stderr
    );
    assert!(!list.stdout.contains("demo-large"), "{}", list.stdout);
}

#[test]
fn a_new_key_comes_with_its_digest() {
    let value = |printed: &str, name: &str| {
        let line = printed.lines().find_map(|line| line.strip_prefix(name));
        line.expect("a line for each").trim().to_string()
    };
    let one = run(&["key", "new"], "").stdout;
    let key = value(&one, "key:");
    assert!(key.len() >= 32, "{key}");
    assert_eq!(value(&one, "key_sha256:"), sha256(key.as_bytes()));
    assert_ne!(key, value(&run(&["key", "new"], "").stdout, "key:"));
    for input in [key.clone(), format!("{key}\n"), format!("{key}\r\n")] {
        let digest = run(&["key", "digest"], &input);
        assert_eq!(digest.stdout.trim(), sha256(key.as_bytes()));
    }
}

#[test]
fn what_is_printed_for_video_tasks_is_what_the_file_wants() {
    let key = run(&["key", "task"], "").stdout;
    assert_ne!(key, run(&["key", "task"], "").stdout);
    let mut file = format!("task_keys: [{}]\nfamilies:\n", key.trim());
    for name in ["family-a", "family-b"] {
        let one = run(&["families", name], "").stdout;
        assert!(one.contains("\nstatus:\n"), "{one}");
        let indented = one.lines().map(|line| format!("    {line}\n"));
        file += &format!("  {name}:\n{}", indented.collect::<String>());
    }
    let rest = standard("https://provider.test/v1");
    for (section, value) in rest.as_object().unwrap() {
        file += &format!("{section}: {value}\n");
    }
    let folder = folder_with_schemas();
    let path = folder.write("routes.yaml", file);
    let printed = run(&["check", path.to_str().unwrap()], "");
    assert!(printed.success, "{}", printed.stderr);
    let unknown = run(&["families", "family-c"], "");
    assert!(!unknown.success && unknown.stderr.contains("did you mean `family-a`"));
}

#[test]
fn an_address_in_use_is_reported_at_once() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = standard("https://provider.test/v1");
    config["server"]["listen"] = taken.local_addr().unwrap().to_string().into();
    let (_folder, config) = written(&config);
    let printed = run(&["run", "-c", &config], "");
    assert!(
        !printed.success && printed.stderr.contains("cannot listen on"),
        "{}",
        printed.stderr
    );
}

fn written(config: &Value) -> (crate::harness::folder::Folder, String) {
    let folder = folder_with_schemas();
    let path = folder.write("routes.yaml", format!("{config:#}"));
    (folder, path.to_str().unwrap().to_string())
}

fn run(args: &[&str], input: &str) -> CommandOutput {
    run_with(&[], args, input)
}

/// Runs a command with these environment variables.
fn run_with(set: &[(&str, &str)], args: &[&str], input: &str) -> CommandOutput {
    let mut child = Command::new(BINARY)
        .args(args)
        .env_remove("HEADGATE_TASK_KEY")
        .envs(set.iter().copied())
        .current_dir(repository())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may have ended before it is written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    CommandOutput {
        success: output.status.success(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

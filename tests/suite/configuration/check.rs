//! Tests of `headgate check`: it reports what cannot work, with its position.

use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use std::process::Command;

/// A valid file; each case changes it.
pub const GOOD: &str = r#"server:
  listen: 127.0.0.1:0
callers:
  - name: ann
    key_sha256: 0b5f9f3cdd0e4a21f57d5a1a2ab7e7b9e4ff5d9ac64b0a95e5f6d0f0a3f2a1c4
    models: [demo-small]
channels:
  primary:
    base_url: https://api.provider.example/v1
    credential: {bearer: "${KEY}"}
    protocols: [chat]
    models:
      demo-small: small-2026
      demo-large: large-2026
chains:
  body:
    - require_json
    - authenticate
    - limit_body: 32MiB
    - route_model
routes:
  - name: chat
    match: POST /v1/chat/completions
    protocol: chat
    request: [{use: body}, validate]
  - name: legacy
    match: POST /v1/legacy/completions
    protocol: chat
    request: [{use: body}]
  - name: other
    match: POST /v1/other/completions
    protocol: chat
    request: [{use: body}]
"#;

pub struct CheckOutput {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

/// The output of `headgate check` for a file with this text.
pub fn check(text: &str) -> CheckOutput {
    check_in(&folder_with_schemas(), text)
}

pub fn check_in(folder: &Folder, text: &str) -> CheckOutput {
    folder.write("routes.yaml", text);
    let output = Command::new(BINARY)
        .args(["check", "routes.yaml"])
        .env("KEY", "sk-of-the-environment-5b1c")
        .current_dir(folder.path())
        .output()
        .unwrap();
    CheckOutput {
        success: output.status.success(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The valid file with `old` replaced by `new`.
pub fn changed(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    GOOD.replacen(old, new, 1)
}

#[test]
fn a_good_file_is_good_without_a_warning() {
    let printed = check(GOOD);
    assert!(printed.success, "{}", printed.stderr);
    assert_eq!(printed.stdout.lines().count(), 1, "{}", printed.stdout);
    assert_eq!(printed.stderr, "");
}

#[test]
fn settings_without_effect_are_warnings_with_place_and_suggestion() {
    for (old, new, place, words) in [
        (
            "models: [demo-small]",
            "models: [demo-small, demo-lage]",
            "6:26",
            &[
                "no channel serves model `demo-lage`",
                "did you mean `demo-large`?",
            ][..],
        ),
        (
            "models: [demo-small]",
            "models: [demo-small, \"video-*\"]",
            "6:26",
            &["no channel serves model `video-*`"],
        ),
        (
            "models: [demo-small]",
            "models: [demo-small, demo-small]",
            "6:26",
            &["caller `ann` has duplicate model `demo-small`"],
        ),
        (
            "models: [demo-small]",
            "models: []",
            "6:5",
            &["caller `ann` has no `models`"],
        ),
        (
            "example/v1",
            "example/v1/chat/completions",
            "9:15",
            &[
                "/chat/completions/chat/completions",
                "without `/chat/completions`",
            ],
        ),
        (
            "    - route_model",
            "    - rewrite_path: {match: \"^/v1/(.*)\", to: \"/v2/$1?beta=1\"}\n    - route_model",
            "20:46",
            &["`to` contains `?`", "remove the query"],
        ),
        (
            "    - route_model",
            "    - rewrite_path: {match: \"^/v1/(.*)\", to: \"/v2/$1#a\"}\n    - route_model",
            "20:46",
            &["`to` contains `#`"],
        ),
        (
            "bearer: \"${KEY}\"",
            "bearer: $PROVIDER_KEY",
            "10:26",
            &["a variable needs braces"],
        ),
        (
            "match: POST /v1/legacy/completions",
            "match: POST /v1/{any}/completions",
            "31:12",
            &["unreachable: route `legacy` above matches all of these requests"],
        ),
    ] {
        let printed = check(&changed(old, new));
        let all = format!("{new}: {}{}", printed.stdout, printed.stderr);
        assert!(printed.success, "{all}");
        assert_eq!(printed.stdout.matches("warning: ").count(), 1, "{all}");
        let place = format!("--> routes.yaml:{place} (");
        let summary = "\n1 warning in routes.yaml\nroutes.yaml is valid: ";
        for words in words.iter().copied().chain([place.as_str(), summary]) {
            assert!(printed.stdout.contains(words), "{words} in {all}");
        }
    }
}

#[test]
fn callers_channels_and_routes_that_nobody_can_use_are_warnings() {
    let callers = &GOOD[GOOD.find("callers:").unwrap()..GOOD.find("channels:").unwrap()];
    let second = "channels:\n  second: {base_url: \"https://b.example\", protocols: [messages], models: {demo-small: b}}\n";
    for (text, words) in [
        (GOOD.replace(callers, ""), "`callers` is empty"),
        (GOOD.replace(callers, "callers: []\n"), "`callers` is empty"),
        (
            GOOD.replace("channels:\n", second),
            "channel `second` is unreachable",
        ),
        (
            GOOD.replace("[demo-small]", "[demo-image]")
                .replace(
                    "channels:\n",
                    &second
                        .replace("messages", "image_edit, chat")
                        .replace("demo-small", "demo-image"),
                )
                .replace("image_edit, chat", "image_edit"),
            "no caller can use route `chat`",
        ),
    ] {
        let printed = check(&text);
        assert!(printed.success, "{}", printed.stderr);
        assert!(
            printed.stdout.contains(words),
            "{words} in {}",
            printed.stdout
        );
        assert!(
            printed.stdout.contains("--> routes.yaml:"),
            "{}",
            printed.stdout
        );
    }
}

#[test]
fn a_wrong_order_is_reported_once_and_where_it_is_written() {
    for (old, new, place, reason) in [
        (
            "    - authenticate\n    - limit_body: 32MiB\n    - route_model\n",
            "    - route_model\n    - limit_body: 32MiB\n    - authenticate\n",
            "routes.yaml:18:7 (chains.body[1])",
            "`route_model` requires an earlier `authenticate`",
        ),
        (
            "request: [{use: body}, validate]",
            "request: [validate, {use: body}]",
            "routes.yaml:25:15 (routes[0].request[0])",
            "`validate` requires an earlier `route_model`",
        ),
        (
            "    - require_json\n",
            "    - require_json\n    - use: body\n",
            "routes.yaml:18:7 (chains.body[1])",
            "circular reference body → body",
        ),
    ] {
        let printed = check(&changed(old, new));
        assert!(!printed.success, "{}", printed.stdout);
        assert_eq!(
            printed.stderr.matches("error: ").count(),
            1,
            "{}",
            printed.stderr
        );
        for words in [place, reason, "1 error in routes.yaml"] {
            assert!(
                printed.stderr.contains(words),
                "{words} in:\n{}",
                printed.stderr
            );
        }
    }
}

#[test]
fn a_capture_that_is_none_is_reported_at_the_template_with_those_that_are() {
    let headers = |value: &str| {
        format!(
            "    - set_headers: {{x-v: {{source: path, match: \"^/(?<version>v.)/(.*)\", value: \"{value}\"}}}}\n    - route_model"
        )
    };
    let path = |to: &str| {
        format!(
            "    - rewrite_path: {{match: \"^/(?<version>v.)/(.*)\", to: \"{to}\"}}\n    - route_model"
        )
    };
    for (step, column, words) in [
        (headers("$verson"), 80, "did you mean `$version`?"),
        (headers("$1x"), 80, "write `$${1}x`"),
        (
            headers("$9"),
            80,
            "use one that `match` defines (`$0`, `$1`, `$2`, `$version`)",
        ),
        (path("/$verson/$2"), 58, "did you mean `$version`?"),
        (path("/$3"), 58, "use one that `match` defines (`$0`"),
    ] {
        let printed = check(&changed("    - route_model", &step));
        assert!(!printed.success, "{}", printed.stdout);
        for words in [words, &format!("routes.yaml:20:{column} ")] {
            assert!(
                printed.stderr.contains(words),
                "{words} in:\n{}",
                printed.stderr
            );
        }
        assert!(
            step.contains("$1x") || !printed.stderr.contains("$${"),
            "{}",
            printed.stderr
        );
    }
}

#[test]
fn a_bad_schema_is_reported_with_the_place_in_its_own_file() {
    let folder = folder_with_schemas();
    let schema = "{\n  \"properties\": {\n    \"a\": {\"type\": \"strng\"}\n  }\n}\n";
    folder.write("own.json", schema);
    let text = changed("validate]", "validate: {schema: own.json}]").replace(
        "[{use: body}, validate: {schema: own.json}]",
        "[{use: body}, {validate: {schema: own.json}}]",
    );
    let printed = check_in(&folder, &text);
    assert!(!printed.success, "{}", printed.stdout);
    for words in [
        "invalid JSON Schema `own.json:3:19`, at `/properties/a/type`: must be one of array, boolean",
        "did you mean `string`?",
        "(routes[0].request[1].validate.schema)",
    ] {
        assert!(
            printed.stderr.contains(words),
            "{words} in:\n{}",
            printed.stderr
        );
    }
    assert!(
        !printed.stderr.contains("$defs") && !printed.stderr.contains("anyOf"),
        "{}",
        printed.stderr
    );
}

#[test]
fn hints_can_be_followed() {
    for (old, new, hint) in [
        (
            "models: [demo-small]",
            "models: \"*\"",
            "write a list: [\"*\"]",
        ),
        (
            "    models:\n      demo-small: small-2026\n      demo-large: large-2026\n",
            "    models: [demo-small]\n",
            "write `demo-small: value` in each line",
        ),
        ("name: ann", "name: #ann", "unquoted, ` #` begins a comment"),
        (
            "[{use: body}, validate]",
            "[body, validate]",
            "write `{use: body}` for the chain",
        ),
        (
            "credential: {bearer: \"${KEY}\"}",
            "api_key: \"${KEY}\"",
            "write `credential: {api_key: …}`",
        ),
        (
            "key_sha256: 0b5f",
            "key: 0b5f",
            "write its digest as `key_sha256`",
        ),
        (
            "match: POST",
            "match: post",
            "write `POST /v1/chat/completions`",
        ),
        (
            "chat/completions",
            "chat/completions\n    mtch: x",
            "did you mean `match`?",
        ),
    ] {
        let printed = check(&changed(old, new));
        assert!(!printed.success, "{new}");
        assert!(
            printed.stderr.contains(hint),
            "{hint} in {}",
            printed.stderr
        );
    }
}

#[test]
fn what_only_follows_from_an_error_is_not_reported() {
    let printed = check(&changed(
        "https://api.provider.example/v1",
        "api.provider.example/v1",
    ));
    assert!(
        printed.stderr.ends_with("\n1 error in routes.yaml\n"),
        "{}",
        printed.stderr
    );
}

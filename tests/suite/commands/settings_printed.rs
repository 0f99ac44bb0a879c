//! What `headgate diff` prints of settings that no request shows: groups, restarts, secrets.

use super::changed_pair::{CommandEnd, config_of, run};
use crate::harness::config::{CREDENTIALS, standard};
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use serde_json::{Value, json};

const PROVIDER: &str = "https://provider.test/v1";

fn folder_of(config: &Value) -> Folder {
    let folder = folder_with_schemas();
    folder.write("routes.yaml", format!("{config:#}"));
    folder
}

fn diff(old: &Value, new: &Value) -> CommandEnd {
    let (old, new) = (folder_of(old), folder_of(new));
    run(&["diff", &config_of(&old), &config_of(&new)])
}

#[test]
fn equal_configurations_have_no_differences() {
    let config = standard(PROVIDER);
    let printed = diff(&config, &config);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert_eq!(printed.stdout, "configuration: no differences\n");
}

#[test]
fn a_changed_setting_is_printed_in_its_group_with_both_values() {
    type Change = fn(&mut Value);
    let table: [(Change, &[&str]); 8] = [
        (
            |config| config["server"]["workers"] = 3.into(),
            &["server\n  server.workers: 2 → 3 (needs a restart)\n"],
        ),
        (
            |config| config["server"]["public_url"] = "https://gate.test".into(),
            &["server\n  server.public_url: not set → https://gate.test\n"],
        ),
        (
            |config| config["callers"][1]["limits"] = json!({"concurrent": 4}),
            &["limits\n  caller bob: limits: not set → {concurrent: 4}\n"],
        ),
        (
            |config| config["channels"]["openai"]["weight"] = 5.into(),
            &["channels\n  channel openai: weight: not set → 5\n"],
        ),
        (
            |config| config["channels"]["openai"]["timeouts"] = json!({"total": "5m"}),
            &["channels\n  channel openai: timeouts: not set → {total: 5m}\n"],
        ),
        (
            |config| {
                config["chains"]["body"] =
                    json!(["require_json", "authenticate", "route_model", {"limit_body": "32MiB"}])
            },
            &["filters\n  chain body: limit_body removed"],
        ),
        (
            |config| config["models"]["demo-large"]["display_name"] = "Demo XL".into(),
            &["models\n  model demo-large: display_name: Demo Large → Demo XL\n"],
        ),
        (
            |config| config["callers"][0]["key_sha256"] = "ab".repeat(32).into(),
            &["callers\n  caller ann: key_sha256: changed\n"],
        ),
    ];
    let old = standard(PROVIDER);
    for (change, lines) in table {
        let mut new = old.clone();
        change(&mut new);
        let printed = diff(&old, &new);
        if lines[0].contains("limit_body removed") {
            // The order of these two filters is checked: the new file is invalid or they have moved.
            assert!(printed.code > 0, "{}", printed.stdout);
            continue;
        }
        assert_eq!(printed.code, 1, "{lines:?}: {}", printed.stderr);
        for line in lines {
            assert!(
                printed.stdout.contains(line),
                "{line} in:\n{}",
                printed.stdout
            );
        }
    }
}

#[test]
fn secrets_are_compared_and_never_printed() {
    let old = standard(PROVIDER);
    let mut new = old.clone();
    new["channels"]["openai"]["credential"] = json!({"bearer": "sk-other-canary-0d41"});
    new["channels"]["messages"]["credential"] = json!({"bearer": CREDENTIALS[1]});
    new["channels"]["openai"]["headers"] = json!({"x-secret-token": "canary-in-a-header-77"});
    new["task_keys"] = json!(["canary-0123456789abcdef0123456789abcdef"]);
    let printed = diff(&old, &new);
    for line in [
        "channel openai: credential.bearer: changed",
        "channel messages: credential.api_key: removed",
        "channel messages: credential.bearer: added",
    ] {
        assert!(
            printed.stdout.contains(line),
            "{line} in:\n{}",
            printed.stdout
        );
    }
    let all = printed.stdout + &printed.stderr;
    let secrets = CREDENTIALS
        .iter()
        .chain(&["sk-other-canary-0d41", "canary-0123456789abcdef"]);
    for secret in secrets {
        assert!(!all.contains(secret), "{all}");
    }
}

//! What `headgate check` reports of callbacks that cannot work as configured.

use crate::harness::Simulator;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use crate::harness::receiver::{callback_config, set_callbacks_filter};
use crate::harness::video::openai_routes;
use serde_json::{Value, json};
use std::process::Command;

struct CheckCase {
    change: fn(&mut Value),
    is_valid: bool,
    words: &'static str,
}

fn set_webhook_url(config: &mut Value, url: &str) {
    config["callers"][0]["webhook_url"] = json!(url);
    config["callers"] = json!([config["callers"][0]]);
    let routes = config["routes"].as_array_mut().unwrap();
    routes.extend(openai_routes());
}

const WEBHOOK_URL: &str = "https://hooks.example/openai?for=ann";

fn set_mode(config: &mut Value, mode: &str) {
    set_callbacks_filter(config, &json!({"mode": mode}));
}

const CASES: &[CheckCase] = &[
    CheckCase {
        change: |_| {},
        is_valid: true,
        words: "deliveries to callbacks of caller `bob` are not signed",
    },
    CheckCase {
        change: |config| config["server"]["public_url"] = json!(""),
        is_valid: true,
        words: "the provider calls the callback URLs of callers itself, with its own task ids",
    },
    CheckCase {
        change: |config| set_mode(config, "pass"),
        is_valid: true,
        words: "the provider calls the callback URLs of callers itself, with its own task ids",
    },
    CheckCase {
        change: |config| {
            config["server"]["public_url"] = json!("");
            set_mode(config, "signed_only");
        },
        is_valid: false,
        words: "`mode: signed_only` requires `server.public_url`",
    },
    CheckCase {
        change: |config| config["callers"][0]["webhook_secrets"] = json!(["whsec_c2hvcnQ="]),
        is_valid: false,
        words: "the secret has 5 bytes; expected 24 to 64",
    },
    CheckCase {
        change: |config| drop(config["routes"].as_array_mut().unwrap().pop()),
        is_valid: true,
        words: "no route receives callbacks of providers",
    },
    CheckCase {
        change: |config| {
            let routes = config["routes"].as_array_mut().unwrap();
            routes.last_mut().unwrap()["match"] = json!("POST /elsewhere/{token}");
        },
        is_valid: true,
        words: "no route receives callbacks of providers",
    },
    CheckCase {
        change: |config| config["state"] = json!("memory"),
        is_valid: true,
        words: "with `state: memory`, status changes are not delivered after a restart",
    },
    CheckCase {
        change: |config| config["callers"] = json!([config["callers"][0]]),
        is_valid: true,
        words: "",
    },
    CheckCase {
        change: |config| set_webhook_url(config, WEBHOOK_URL),
        is_valid: true,
        words: "",
    },
    CheckCase {
        change: |config| set_webhook_url(config, "hooks.example/openai"),
        is_valid: false,
        words: "must start with `https://` or `http://`",
    },
    CheckCase {
        change: |config| {
            set_webhook_url(config, "http://hooks.example/openai");
            config["egress"] = json!({"allow": []});
        },
        is_valid: true,
        words: "events are not sent to the `webhook_url` of caller `ann`, which is not https",
    },
    CheckCase {
        change: |config| {
            set_webhook_url(config, WEBHOOK_URL);
            config["callers"][0]["webhook_secrets"] = json!([]);
        },
        is_valid: false,
        words: "`webhook_url` requires `webhook_secrets`",
    },
    CheckCase {
        change: |config| {
            set_webhook_url(config, WEBHOOK_URL);
            set_mode(config, "refuse");
        },
        is_valid: true,
        words: "videos of this route lead to no events at the `webhook_url` of caller `ann`",
    },
    CheckCase {
        change: |config| config["callers"][0]["webhook_url"] = json!(WEBHOOK_URL),
        is_valid: true,
        words: "no events are sent: no route with `protocol: videos` has `callbacks`",
    },
];

/// What `headgate check` prints about a configuration, and whether it is valid.
pub fn check(folder: &Folder, config: &Value) -> (bool, String) {
    let file = folder.write("routes.yaml", config.to_string());
    let output = Command::new(BINARY)
        .arg("check")
        .arg(file)
        .output()
        .unwrap();
    // Warnings are on stdout, errors on stderr.
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

fn warns_of_callbacks(report: &str) -> bool {
    let mut warnings = report.lines().filter(|line| line.starts_with("warning: "));
    warnings.any(|warning| warning.contains("callback"))
}

#[tokio::test]
async fn check_reports_what_callbacks_miss() {
    let simulator = Simulator::start().await;
    let folder = folder_with_schemas();
    for case in CASES {
        let mut config = callback_config(&simulator, "");
        config["state"] = json!("sqlite:state.sqlite");
        (case.change)(&mut config);
        let (is_valid, report) = check(&folder, &config);
        assert_eq!(is_valid, case.is_valid, "{}: {report}", case.words);
        match case.words {
            "" => assert!(!warns_of_callbacks(&report), "{report}"),
            words => assert!(report.contains(words), "{words}: {report}"),
        }
    }
}

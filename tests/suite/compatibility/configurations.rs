//! Configurations and access logs of an earlier version.

use crate::harness::certificates::Authority;
use crate::harness::earlier_version::{STORES, filled, version_folder};
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What `headgate check` adds to the old name of a key or value.
const RENAMED: &str = "it is now called";

/// What stands for the variables of `gateway.yaml`.
const VARIABLES: [(&str, &str); 10] = [
    ("LISTEN", "127.0.0.1:0"),
    ("PUBLIC_URL", "https://gate.example.com"),
    ("STATE", "memory"),
    ("MEDIA", "media"),
    ("PROVIDER", "http://127.0.0.1:9"),
    ("SERVICE", "http://127.0.0.1:9/check"),
    ("TIER_OF_FIRST", "2"),
    (
        "ANN_SHA256",
        "1111111111111111111111111111111111111111111111111111111111111111",
    ),
    (
        "BOB_SHA256",
        "2222222222222222222222222222222222222222222222222222222222222222",
    ),
    (
        "OPERATOR_SHA256",
        "3333333333333333333333333333333333333333333333333333333333333333",
    ),
];

/// A folder with the configurations of the version, and all files that they name.
fn configurations() -> Folder {
    let folder = folder_with_schemas();
    let authority = Authority::new();
    let gate = authority.issue(&["gate.example.com"]);
    folder.write("ca.pem", authority.pem());
    folder.write("gate.pem", gate.certificate);
    folder.write("gate.key", gate.key);
    fs::create_dir(folder.path().join("spool")).unwrap();
    fs::create_dir(folder.path().join("plugins")).unwrap();
    let module =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/filters/plugins/redact.wasm");
    fs::copy(module, folder.path().join("plugins/redact.wasm")).unwrap();
    for entry in fs::read_dir(version_folder()).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".yaml") {
            let text = fs::read_to_string(entry.path()).unwrap();
            let text = match &*name {
                "gateway.yaml" => filled(&text, Duration::ZERO, &VARIABLES),
                _ => text,
            };
            folder.write(&name, text);
        }
    }
    folder
}

/// The exit status and the output of a command.
fn run(folder: &Folder, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(BINARY)
        .args(args)
        .current_dir(folder.path())
        .env("HEADGATE_TASK_KEY", "0123456789abcdef0123456789abcdef")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn configurations_are_accepted_or_get_the_new_names_of_their_keys() {
    let folder = configurations();
    for name in [
        "shipped.yaml",
        "gateway.yaml",
        "every_key.yaml",
        "every_other_key.yaml",
        #[cfg(feature = "wasm")]
        "every_plugin_key.yaml",
    ] {
        let (code, printed) = run(&folder, &["check", name]);
        let mut errors = printed.lines().filter(|line| line.starts_with("error"));
        let is_accepted = code == Some(0) && printed.contains(" is valid");
        let is_renamed = code == Some(1) && errors.all(|line| line.contains(RENAMED));
        assert!(is_accepted || is_renamed, "{name}: {code:?}\n{printed}");
    }
}

#[test]
fn recorded_requests_end_as_they_did() {
    let folder = configurations();
    for store in STORES {
        let log = version_folder().join(store.name()).join("access.jsonl");
        let args = ["replay", log.to_str().unwrap(), "--config", "gateway.yaml"];
        let (code, printed) = run(&folder, &args);
        assert_eq!(code, Some(0), "{store:?}\n{printed}");
        assert!(printed.contains("same        18"), "{store:?}\n{printed}");
    }
}

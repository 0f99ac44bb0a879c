//! Rules for protocols: what differs between them stands in their own files.

use super::tree::{assert_none, files_below, root, sources};
use headgate_protocol::Protocol;
use regex::Regex;
use std::process::Command;

const FOLDER: &str = "crates/protocol/src/protocols";

#[test]
fn only_the_files_of_the_protocols_name_one() {
    let variants: Vec<String> = Protocol::BUILT_IN
        .iter()
        .map(|it| format!("{it:?}"))
        .collect();
    let named = format!(r"\bProtocol::(?:(?:{})\b|\{{|\*)", variants.join("|"));
    let named = Regex::new(&named).unwrap();
    let mut offenders = Vec::new();
    for file in sources().iter().filter(|file| !file.is_test()) {
        if file.path.starts_with(FOLDER) {
            continue;
        }
        let tests_from = file.tests_begin();
        let code = file.lines().take_while(|(line, _)| *line < tests_from);
        for (line, code) in code.filter(|(_, code)| named.is_match(code)) {
            offenders.push(format!("{}:{line}: {}", file.path, code.trim()));
        }
    }
    assert_none(
        "what differs between protocols is a field of `ProtocolDescriptor`",
        &offenders,
    );
}

/// `cargo fmt` does not find modules that a macro declares.
#[test]
fn the_files_of_the_protocols_are_formatted() {
    let files = files_below(FOLDER).into_iter();
    let files = files.filter(|file| file.has_extension(&["rs"]));
    let Ok(checked) = Command::new("rustfmt")
        .args(["--check", "--edition", "2024"])
        .args(files.map(|file| root().join(file.path)))
        .output()
    else {
        return;
    };
    let differences = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.success(),
        "run `make format`:\n{differences}"
    );
}

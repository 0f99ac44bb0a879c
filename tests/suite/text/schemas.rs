//! Tests of the request schemas against their fixtures: accepted bodies, and refused ones with the place and the rule.

use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_schema::CompiledSchema;
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const NAMES: [&str; 6] = [
    "chat",
    "converse",
    "count_tokens",
    "gemini",
    "messages",
    "responses",
];

/// A body that the schema must accept.
#[derive(Deserialize)]
struct AcceptedFixture {
    case: String,
    body: Value,
}

/// A body that the schema must refuse, at this place and by this rule.
#[derive(Deserialize)]
struct RefusedFixture {
    case: String,
    body: Value,
    at: String,
    rule: String,
}

#[test]
fn what_real_clients_send_is_accepted() {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for name in NAMES {
        let schema = schema(name);
        for AcceptedFixture { case, body } in fixtures::<AcceptedFixture>(name, "accept") {
            cases += 1;
            let found = schema.violations(&document(&body), 8);
            if !schema.accepts(&document(&body)) || !found.is_empty() {
                wrong.push(format!("{name}: {case}: {found:?}"));
            }
        }
    }
    assert!(cases > 500, "only {cases} cases were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_protocols_forbid_is_refused_at_its_place_and_without_a_cascade() {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for name in NAMES {
        let schema = schema(name);
        for refused in fixtures::<RefusedFixture>(name, "refuse") {
            cases += 1;
            let found = schema.violations(&document(&refused.body), 100);
            let hit = found
                .iter()
                .any(|violation| violation.pointer == refused.at && violation.rule == refused.rule);
            if !hit || found.len() > 3 || schema.accepts(&document(&refused.body)) {
                let RefusedFixture { case, at, rule, .. } = refused;
                wrong.push(format!("{name}: {case}: wanted {rule} at {at}: {found:?}"));
            }
        }
    }
    assert!(cases > 900, "only {cases} cases were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn counting_tokens_takes_the_same_parts_as_messages() {
    let definitions = |name| read(&schema_file(name))["$defs"].clone();
    assert!(definitions("messages").is_object());
    assert_eq!(definitions("count_tokens"), definitions("messages"));
}

fn schema(name: &str) -> CompiledSchema {
    CompiledSchema::compile(&read(&schema_file(name))).expect("the schema compiles")
}

fn schema_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schemas/{name}.schema.json"))
}

fn fixtures<T: for<'de> Deserialize<'de>>(name: &str, kind: &str) -> Vec<T> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/schemas")
        .join(name)
        .join(kind);
    let files = fs::read_dir(&folder).expect("the fixtures' folder is there");
    files
        .map(|file| file.expect("a file can be listed").path())
        .flat_map(|file| {
            serde_json::from_value::<Vec<T>>(read(&file))
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        })
        .collect()
}

fn read(file: &Path) -> Value {
    let text = fs::read_to_string(file).expect("the file can be read");
    serde_json::from_str(&text).expect("the file is JSON")
}

fn document(body: &Value) -> JsonDocument {
    JsonDocument::parse(Bytes::from(body.to_string()), &JsonLimits::default())
        .expect("a fixture is JSON")
}

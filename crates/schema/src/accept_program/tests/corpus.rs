//! Tests with the request schemas of the repository, their cases, and systematic changes of these.

use super::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The schemas whose cases are lists of JSON bodies.
const TEXT_SCHEMAS: [&str; 6] = [
    "chat",
    "converse",
    "count_tokens",
    "gemini",
    "messages",
    "responses",
];
/// What stands in a changed body for a number that a `Value` cannot have.
const BEYOND_DOUBLES: &str = "a number beyond all doubles";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "json")
    });
    files.sort();
    files
}

/// The request schemas by name, such as `chat` and `family_a/2.0`.
fn schemas() -> BTreeMap<String, CompiledSchema> {
    let root = repository().join("schemas");
    let folders = [root.clone(), root.join("family_a"), root.join("family_b")];
    let files = folders.iter().flat_map(|folder| json_files(folder));
    let name = |file: &PathBuf| {
        let name = file
            .strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        name.replace(".schema.json", "")
    };
    files
        .map(|file| (name(&file), compile(&read(&file))))
        .collect()
}

/// The bodies of the cases of a text schema, `accept` or `refuse`.
fn cases(schema: &str, folder: &str) -> Vec<Value> {
    let folder = repository()
        .join("tests/fixtures/schemas")
        .join(schema)
        .join(folder);
    let cases = json_files(&folder)
        .into_iter()
        .flat_map(|file| match read(&file) {
            Value::Array(cases) => cases,
            other => panic!("{other}"),
        });
    cases.map(|case| case["body"].clone()).collect()
}

/// Valid bodies of images and video, whose cases are tables for other tests.
fn media_bodies() -> Vec<(&'static str, Value)> {
    let first = json!({"type": "image", "role": "first_frame", "url": "https://x.example/a.png"});
    let last = json!({"type": "image", "role": "last_frame", "url": "https://x.example/b.png"});
    let video =
        json!({"type": "video", "role": "reference_video", "url": "https://x.example/v.mp4"});
    let everything = json!({
        "model": "v", "prompt": "A cat", "negative_prompt": "rain", "medias": [first, last], "duration": 5,
        "resolution": "720p", "ratio": "16:9", "generate_audio": true, "watermark": false, "seed": 7,
        "callback_url": "https://x.example/done",
    });
    let image = json!({"type": "image_url", "role": "first_frame", "image_url": {"url": "https://x.example/a.png"}});
    let content = json!([{"type": "text", "text": "A cat"}, image]);
    vec![
        ("video", everything),
        (
            "video",
            json!({"model": "v", "medias": [video, video], "prompt": ""}),
        ),
        (
            "video",
            json!({"model": "v", "prompt": "A cat", "medias": null, "duration": ""}),
        ),
        (
            "family_a",
            json!({"model": "v", "content": content, "duration": 5, "ratio": "16:9", "resolution": "720p"}),
        ),
        (
            "family_a/2.0",
            json!({"model": "v", "content": content, "duration": 5}),
        ),
        (
            "family_b",
            json!({"model": "v", "prompt": "A cat", "input": {"prompt": "A cat"}}),
        ),
        (
            "image_edit",
            json!({"model": "i", "prompt": "A cat", "images": ["https://x.example/a.png"], "n": 1}),
        ),
    ]
}

/// The pointers of all values of a body.
fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            pointers(value, format!("{at}/{name}"), found);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| {
            pointers(item, format!("{at}/{index}"), found);
        }),
        _ => {}
    }
    found.push(at);
}

/// The body with one value removed, doubled or replaced, for each of its values.
fn changed_bodies(body: &Value) -> Vec<Value> {
    let replacements = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1.0),
        json!(1.5),
        json!(2),
        json!(-0.0),
        json!(1e15),
        json!(""),
        json!("unheard of"),
        json!([]),
        json!([null]),
        json!({}),
        json!({"type": "text"}),
        json!(BEYOND_DOUBLES),
    ];
    let mut found = Vec::new();
    pointers(body, String::new(), &mut found);
    let mut changed = Vec::new();
    for pointer in found {
        for replacement in &replacements {
            let mut body = body.clone();
            *body.pointer_mut(&pointer).unwrap() = replacement.clone();
            changed.push(body);
        }
        let Some((parent, step)) = pointer.rsplit_once('/') else {
            continue;
        };
        let (mut without, mut doubled) = (body.clone(), body.clone());
        match without.pointer_mut(parent).unwrap() {
            Value::Object(members) => {
                drop(members.remove(&step.replace("~1", "/").replace("~0", "~")))
            }
            Value::Array(items) => drop(items.remove(step.parse().unwrap())),
            _ => {}
        }
        if let Value::Array(items) = doubled.pointer_mut(parent).unwrap() {
            items.push(items[step.parse::<usize>().unwrap()].clone());
        }
        changed.extend([without, doubled]);
    }
    changed
}

/// The body as JSON, with an escape for every character of its strings and keys.
fn escaped(value: &Value) -> String {
    let quoted = |text: &str| {
        text.encode_utf16()
            .fold(String::from("\""), |mut quoted, unit| {
                write!(quoted, "\\u{unit:04x}").unwrap();
                quoted
            })
            + "\""
    };
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(escaped).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let member =
                |(name, value): (&String, &Value)| format!("{}:{}", quoted(name), escaped(value));
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

fn spelled(body: &Value) -> String {
    body.to_string()
        .replace(&format!("\"{BEYOND_DOUBLES}\""), "1e400")
}

#[test]
fn every_request_schema_has_a_program() {
    for (name, schema) in schemas() {
        assert!(schema.program.is_some(), "{name}");
    }
}

#[test]
fn programs_prove_every_case_that_is_accepted() {
    let schemas = schemas();
    for name in TEXT_SCHEMAS {
        for body in cases(name, "accept") {
            assert_eq!(
                checked_verdict(&schemas[name], &body.to_string()),
                SchemaVerdict::Yes,
                "{name} {body}"
            );
            assert_eq!(
                checked_verdict(&schemas[name], &escaped(&body)),
                SchemaVerdict::Yes,
                "{name} {body}"
            );
        }
        for body in cases(name, "refuse") {
            assert_eq!(
                checked_verdict(&schemas[name], &body.to_string()),
                SchemaVerdict::No,
                "{name} {body}"
            );
        }
    }
    for (name, body) in media_bodies() {
        assert_ne!(
            checked_verdict(&schemas[name], &body.to_string()),
            SchemaVerdict::Unknown,
            "{name} {body}"
        );
    }
    let (name, body) = &media_bodies()[0];
    assert_eq!(
        checked_verdict(&schemas[*name], &body.to_string()),
        SchemaVerdict::Yes
    );
}

#[test]
fn programs_and_validators_agree_on_the_cases_of_other_schemas() {
    let bodies = TEXT_SCHEMAS
        .iter()
        .flat_map(|name| [cases(name, "accept"), cases(name, "refuse")].concat());
    let bodies: Vec<Value> = bodies
        .chain(media_bodies().into_iter().map(|(_, body)| body))
        .collect();
    for schema in schemas().values() {
        for body in bodies.iter().step_by(3) {
            checked_verdict(schema, &body.to_string());
        }
    }
}

#[test]
fn programs_and_validators_agree_on_changed_bodies() {
    let schemas = schemas();
    let texts = TEXT_SCHEMAS.into_iter().flat_map(|name| {
        // Every change of every body takes minutes without an optimiser.
        let bodies = cases(name, "accept").into_iter().step_by(STEP);
        bodies.map(move |body| (name, body))
    });
    for (name, body) in texts.chain(media_bodies()) {
        for body in changed_bodies(&body) {
            checked_verdict(&schemas[name], &spelled(&body));
        }
    }
}

/// One of this many bodies is changed.
const STEP: usize = 5;

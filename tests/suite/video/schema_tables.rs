//! Tests of the image and video schemas against tables of their rules: each row is accepted or refused.

use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_schema::{CompiledSchema, SchemaViolation, find_violations};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// A table: a valid body, and changes that keep it valid or make it invalid.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The names of the schemas that apply, the general one first.
    schemas: Vec<String>,
    body: Value,
    /// Only gives names to values, as YAML anchors.
    #[serde(default, rename = "vocabulary")]
    _vocabulary: Value,
    accept: Vec<Row>,
    refuse: Vec<Row>,
}

/// A case, or one case for each value of `each`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Row {
    case: String,
    /// A pointer to the values that are set there, each in a separate case.
    each: Map<String, Value>,
    /// Replaces the table's body.
    body: Option<Value>,
    /// Merged into the body.
    with: Value,
    /// Pointers to the members that are removed from the body.
    without: Vec<String>,
    /// The pointer of the violation; that of `each` if absent.
    at: Option<String>,
    rule: Option<String>,
    /// Text in the violation's reason.
    message: String,
}

struct Case {
    what: String,
    body: Value,
    at: String,
}

#[test]
fn every_rule_of_the_tables_is_kept_to() {
    let mut cases = 0;
    let mut wrong = Vec::new();
    for file in tables() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let table = read(&file);
        let schemas: Vec<CompiledSchema> = table.schemas.iter().map(|name| schema(name)).collect();
        let mut reported = |what: &str, found: &[SchemaViolation]| {
            wrong.push(format!("{name}: {what}: {found:?}"));
        };
        for row in &table.accept {
            for case in row.cases(&table.body) {
                cases += 1;
                let found = find_violations(&schemas, &document(&case.body), 8);
                if !found.is_empty() {
                    reported(&case.what, &found);
                }
            }
        }
        for row in &table.refuse {
            assert!(
                !row.message.is_empty(),
                "{name}: {}: says nothing",
                row.case
            );
            for case in row.cases(&table.body) {
                cases += 1;
                let found = find_violations(&schemas, &document(&case.body), 100);
                if !row.is_broken(&case, &found) || found.len() > 3 {
                    reported(&case.what, &found);
                }
            }
        }
    }
    println!("{cases} cases of images and video");
    assert!(cases > 850, "only {cases} cases were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_schema_of_images_and_video_has_a_table() {
    let used: Vec<String> = tables()
        .iter()
        .flat_map(|file| read(file).schemas)
        .collect();
    for folder in ["family_a", "family_b"] {
        for file in fs::read_dir(root().join("schemas").join(folder)).unwrap() {
            let file = file.unwrap().file_name().into_string().unwrap();
            let name = format!("{folder}/{}", file.trim_end_matches(".schema.json"));
            assert!(used.contains(&name), "no table uses {name}");
        }
    }
}

impl Row {
    fn cases(&self, base: &Value) -> Vec<Case> {
        if self.each.is_empty() {
            return vec![Case {
                what: self.case.clone(),
                body: self.changed(base),
                at: self.at.clone().unwrap_or_default(),
            }];
        }
        let places = self.each.iter().flat_map(|(pointer, values)| {
            let values = values.as_array().expect("`each` has lists of values");
            values.iter().map(move |value| (pointer, value))
        });
        places
            .map(|(pointer, value)| {
                let mut body = expanded(base);
                put(&mut body, pointer, expanded(value));
                Case {
                    what: format!("{pointer}: {value}"),
                    body,
                    at: self.at.clone().unwrap_or_else(|| pointer.clone()),
                }
            })
            .collect()
    }

    fn changed(&self, base: &Value) -> Value {
        let mut body = expanded(self.body.as_ref().unwrap_or(base));
        merge(&mut body, expanded(&self.with));
        for pointer in &self.without {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let parent = body.pointer_mut(parent).and_then(Value::as_object_mut);
            let taken = parent.and_then(|parent| parent.remove(key));
            assert!(taken.is_some(), "nothing at {pointer}");
        }
        body
    }

    fn is_broken(&self, case: &Case, found: &[SchemaViolation]) -> bool {
        found.iter().any(|violation| {
            violation.pointer == case.at
                && self
                    .rule
                    .as_ref()
                    .is_none_or(|rule| violation.rule == *rule)
                && violation.reason.contains(&self.message)
        })
    }
}

/// Expands `{$times: [n, value]}` to `n` times the value, in a list or in a text.
fn expanded(value: &Value) -> Value {
    let times = |value: &Value| {
        let [count, value] = value.get("$times")?.as_array()?.as_slice() else {
            return None;
        };
        Some((usize::try_from(count.as_u64()?).ok()?, value.clone()))
    };
    match value {
        Value::Object(members) => match times(value) {
            Some((count, text)) => Value::from(text.as_str().unwrap().repeat(count)),
            None => members
                .iter()
                .map(|(key, value)| (key.clone(), expanded(value)))
                .collect(),
        },
        Value::Array(items) => items
            .iter()
            .flat_map(|item| match times(item) {
                Some((count, item)) => vec![expanded(&item); count],
                None => vec![expanded(item)],
            })
            .collect(),
        scalar => scalar.clone(),
    }
}

/// Merges objects and replaces all other values; null as a whole changes nothing.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(&key) {
                    Some(known) if known.is_object() && value.is_object() => merge(known, value),
                    _ => drop(into.insert(key, value)),
                }
            }
        }
        (_, Value::Null) => {}
        (into, from) => *into = from,
    }
}

/// Sets a value at a pointer; creates missing objects.
fn put(body: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = parent
        .split('/')
        .skip(1)
        .fold(body, |at, step| match step.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[step],
        });
    parent[key] = value;
}

fn schema(name: &str) -> CompiledSchema {
    let file = root().join(format!("schemas/{name}.schema.json"));
    let text = fs::read_to_string(file).expect("the schema can be read");
    let value = serde_json::from_str(&text).expect("the schema is JSON");
    CompiledSchema::compile(&value).expect("the schema compiles")
}

fn tables() -> Vec<PathBuf> {
    let folder = root().join("tests/fixtures/schema_tables");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .collect();
    files.sort();
    files
}

fn read(file: &Path) -> Table {
    let text = fs::read_to_string(file).expect("the table can be read");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn document(body: &Value) -> JsonDocument {
    JsonDocument::parse(Bytes::from(body.to_string()), &JsonLimits::default())
        .expect("a case is JSON")
}

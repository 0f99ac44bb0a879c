//! The JSON Schema of `routes.yaml`: what the loader checks a file with, and editors complete from.

use super::routes::GatewayConfig;
use super::simplify::simplify;
use super::step::{IF, ON_ERROR, USE};
use headgate_core::feature::section::FeatureSectionSchema;
use headgate_core::pointer;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Annotation: what the keys of a mapping name, where that is not just keys.
pub(super) const KEY_NOUN: &str = "x-key-noun";
/// Annotation that editors know, too: what a pattern wants, as text.
pub(super) const PATTERN_WORDS: &str = "patternErrorMessage";
/// Annotation next to `not`: why the value is refused, as text.
pub(super) const REFUSAL: &str = "x-refusal";
/// Annotation next to [`REFUSAL`]: what to do.
pub(super) const REFUSAL_HINT: &str = "x-refusal-hint";

/// A filter as the schema of steps needs it.
#[derive(Clone, Debug)]
pub struct FilterSchema {
    /// Its name in `routes.yaml`.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// JSON Schema of its settings; it takes none if absent.
    pub settings: Option<Value>,
    /// Whether it may be written as a bare name, without settings.
    pub bare: bool,
}

/// What features add to the schema.
#[derive(Default)]
pub struct FeatureSchemas {
    pub filters: Vec<FilterSchema>,
    pub sections: Vec<FeatureSectionSchema>,
}

/// The JSON Schema (2020-12) of `routes.yaml` with these features.
pub fn routes_schema(features: &FeatureSchemas) -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let schema = settings
        .into_generator()
        .into_root_schema_for::<GatewayConfig>();
    let mut schema = schema.to_value();
    schema["title"] = json!("Headgate routes.yaml");
    for sections in &features.sections {
        add_sections(&mut schema, (sections.schema)());
    }
    simplify(&mut schema);
    let definitions = schema["$defs"]
        .as_object_mut()
        .expect("routes have definitions");
    let step = step_schema(&features.filters, definitions);
    definitions.insert("Step".into(), step);
    schema
}

/// Adds the properties and the definitions of a feature's sections to the schema of the file.
fn add_sections(schema: &mut Value, mut sections: Value) {
    for part in ["properties", "$defs"] {
        if let (Value::Object(all), Value::Object(added)) =
            (&mut schema[part], sections[part].take())
        {
            all.extend(added);
        }
    }
}

/// Pointers of the secrets (`writeOnly`) among these values.
pub(super) fn secret_pointers(schema: &Value, value: &Value) -> Vec<String> {
    let mut pointers = Vec::new();
    collect_secrets(schema, schema, value, "", &mut pointers);
    pointers
}

/// The schema that a `$ref` of another one leads to, or that one itself.
pub(super) fn resolve<'schema>(root: &'schema Value, schema: &'schema Value) -> &'schema Value {
    let target = schema["$ref"]
        .as_str()
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(schema)
}

fn step_schema(filters: &[FilterSchema], definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    properties.insert(
        USE.into(),
        json!({ "description": "Inserts the filters of a chain.", "type": "string", "minLength": 1 }),
    );
    properties.insert(
        IF.into(),
        json!({ "description": "Condition: the filter runs only if this expression is true.", "type": "string", "minLength": 1 }),
    );
    properties.insert(
        ON_ERROR.into(),
        json!({ "description": "What happens if the condition cannot be evaluated. Default: refuse in request chains, run in response chains.", "enum": ["skip", "run", "refuse"] }),
    );
    for filter in filters {
        let settings = settings_schema(filter, definitions);
        properties.insert(filter.name.into(), settings);
    }
    let one_filter =
        |keys: usize| json!({ "minProperties": keys, "maxProperties": keys, (KEY_NOUN): "filter" });
    let bare = || filters.iter().filter(|filter| filter.bare);
    let refused = json!({
        "not": {},
        (REFUSAL): "`use` takes no `if`: a condition is that of one filter",
        (REFUSAL_HINT): "write `if` on the filters of the chain"
    });
    json!({
        "description": "A filter's name, `{filter: its settings}`, the same with a condition in `if`, or `{use: chain}`.",
        "type": ["string", "object"],
        "if": { "type": "string" },
        "then": {
            "enum": bare().map(|filter| filter.name).collect::<Vec<_>>(),
            "enumDescriptions": bare().map(|filter| filter.summary).collect::<Vec<_>>()
        },
        "properties": properties,
        "additionalProperties": false,
        "allOf": [{
            "if": { "required": [ON_ERROR] },
            "then": {
                "required": [IF],
                "if": { "required": [IF] },
                "then": one_filter(3)
            },
            "else": {
                "if": { "required": [IF] },
                "then": one_filter(2),
                "else": one_filter(1)
            }
        }, {
            "if": { "required": [USE] },
            "then": { "properties": { (IF): refused } }
        }],
        (KEY_NOUN): "filter"
    })
}

/// The schema of a filter's settings, its definitions moved to those of the file.
fn settings_schema(filter: &FilterSchema, definitions: &mut Map<String, Value>) -> Value {
    let Some(mut schema) = filter.settings.clone() else {
        return json!({ "description": filter.summary, "type": ["object", "null"], "maxProperties": 0 });
    };
    simplify(&mut schema);
    let Some(object) = schema.as_object_mut() else {
        return schema;
    };
    object.remove("$schema");
    object.remove("title");
    object.insert("description".into(), json!(filter.summary));
    if filter.bare {
        accept_null(object);
    }
    let Some(Value::Object(own)) = object.remove("$defs") else {
        return schema;
    };
    let mut renamed = Vec::new();
    for (name, definition) in own {
        match definitions.get(&name) {
            Some(known) if *known == definition => {}
            None => {
                definitions.insert(name, definition);
            }
            Some(_) => renamed.push((name, definition)),
        }
    }
    for (name, mut definition) in renamed.clone() {
        rename_references(&mut definition, filter.name, &renamed);
        definitions.insert(format!("{}.{name}", filter.name), definition);
    }
    rename_references(&mut schema, filter.name, &renamed);
    schema
}

/// A filter that may be written as a bare name may also be written as a key without a value, next to `if`.
fn accept_null(schema: &mut Map<String, Value>) {
    match schema.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&json!("null")) => types.push(json!("null")),
        Some(only @ Value::String(_)) => *only = json!([only.take(), "null"]),
        _ => {}
    }
}

/// Lets references to definitions whose name was taken point at their new names.
fn rename_references(schema: &mut Value, filter: &str, renamed: &[(String, Value)]) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get_mut("$ref") {
                let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
                if renamed.iter().any(|(taken, _)| taken == name) {
                    *reference = format!("#/$defs/{filter}.{name}");
                }
            }
            object
                .values_mut()
                .for_each(|value| rename_references(value, filter, renamed));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| rename_references(item, filter, renamed)),
        _ => {}
    }
}

fn collect_secrets(
    root: &Value,
    schema: &Value,
    value: &Value,
    pointer: &str,
    pointers: &mut Vec<String>,
) {
    let schema = resolve(root, schema);
    if schema["writeOnly"] == true {
        pointers.push(pointer.to_owned());
        return;
    }
    let mut descend = |schema: &Value, value: &Value, token: &str| {
        collect_secrets(
            root,
            schema,
            value,
            &pointer::child(pointer, token),
            pointers,
        );
    };
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let of_key = schema["properties"].get(key);
                descend(
                    of_key.unwrap_or(&schema["additionalProperties"]),
                    value,
                    key,
                );
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                descend(&schema["items"], item, &at.to_string());
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::scalar::{ByteSize, Secret};
    use schemars::{JsonSchema, schema_for};

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct SignConfig {
        limit: ByteSize,
        server: CollidingConfig,
        secret: Secret,
    }

    /// Its name in the schema is that of a type of the file.
    #[derive(JsonSchema)]
    #[schemars(rename = "ServerConfig")]
    #[allow(dead_code)]
    struct CollidingConfig {
        other: bool,
    }

    fn schema() -> Value {
        let sign = FilterSchema {
            name: "sign",
            summary: "Signs.",
            settings: Some(schema_for!(SignConfig).to_value()),
            bare: false,
        };
        let pass = FilterSchema {
            name: "pass_sse",
            summary: "Passes.",
            settings: None,
            bare: true,
        };
        routes_schema(&FeatureSchemas {
            filters: vec![sign, pass],
            sections: Vec::new(),
        })
    }

    #[test]
    fn steps_list_the_filters_there_are() {
        let schema = schema();
        let step = &schema["$defs"]["Step"];
        assert_eq!(step["then"]["enum"], json!(["pass_sse"]));
        let keys: Vec<_> = step["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["if", "on_error", "pass_sse", "sign", "use"]);
        assert_eq!(step["properties"]["sign"]["description"], "Signs.");
    }

    #[test]
    fn definitions_of_settings_never_replace_those_of_the_file() {
        let schema = schema();
        let sign = &schema["$defs"]["Step"]["properties"]["sign"];
        assert_eq!(
            sign["properties"]["server"]["$ref"],
            "#/$defs/sign.ServerConfig"
        );
        assert_eq!(sign["properties"]["limit"]["$ref"], "#/$defs/ByteSize");
        assert!(schema["$defs"]["ServerConfig"]["properties"]["listen"].is_object());
        assert!(schema["$defs"]["sign.ServerConfig"]["properties"]["other"].is_object());
    }

    #[test]
    fn secrets_are_found_through_references_lists_and_settings() {
        let value = json!({
            "channels": {"a/b": {"credential": {"bearer": "x"}}, "c": {"credential": {"header": {"name": "n", "value": "v"}}}},
            "routes": [{"request": ["pass_sse", {"sign": {"secret": "x", "limit": 1}}]}]
        });
        let expected = [
            "/channels/a~1b/credential/bearer",
            "/channels/c/credential/header/value",
            "/routes/0/request/1/sign/secret",
        ];
        assert_eq!(secret_pointers(&schema(), &value), expected);
    }

    #[test]
    fn every_key_of_the_file_is_described() {
        let schema = schema();
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            let file_types = name.ends_with("Config") && !name.starts_with("sign.");
            let properties = definition["properties"].as_object();
            for (key, property) in properties.into_iter().flatten().filter(|_| file_types) {
                assert!(
                    property["description"].is_string(),
                    "{name}.{key} has no description"
                );
            }
        }
    }
}

//! Makes a generated JSON Schema tell one error for one mistake: no `anyOf`, no `oneOf`, no null.
//!
//! `oneOf` and `anyOf` can only say that nothing fitted; `enum` and `properties` say what did not.

use serde_json::{Map, Value, json};

/// Simplifies a schema and all schemas within.
pub fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(simplify);
            unwrap_description(object);
            require_a_value(object);
            bound_integers(object);
            merge_words(object);
            merge_variants(object);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// A description is wrapped in the source, not in the schema.
fn unwrap_description(object: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}

/// An optional key is left out, not null: `anyOf: [X, null]` becomes X.
fn require_a_value(object: &mut Map<String, Value>) {
    if object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    let Some(Value::Array(variants)) = object.get("anyOf") else {
        return;
    };
    let (nulls, others): (Vec<_>, Vec<_>) = variants
        .iter()
        .partition(|variant| variant["type"] == "null");
    if let ([_], [Value::Object(other)]) = (nulls.as_slice(), others.as_slice()) {
        let other = other.clone();
        object.remove("anyOf");
        for (key, value) in other {
            object.entry(key).or_insert(value);
        }
    }
}

/// The formats of Rust's integers become bounds, which validators know.
fn bound_integers(object: &mut Map<String, Value>) {
    let (least, most) = match object.get("format").and_then(Value::as_str) {
        Some("uint8") => (json!(0), json!(u8::MAX)),
        Some("uint16") => (json!(0), json!(u16::MAX)),
        Some("uint32") => (json!(0), json!(u32::MAX)),
        Some("uint64" | "uint") => (json!(0), json!(u64::MAX)),
        Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
        Some("int64" | "int") => (json!(i64::MIN), json!(i64::MAX)),
        _ => return,
    };
    object.remove("format");
    object.entry("minimum").or_insert(least);
    object.entry("maximum").or_insert(most);
}

/// `oneOf` of constant words becomes one `enum`.
fn merge_words(object: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = object.get("oneOf") else {
        return;
    };
    let mut words = Vec::new();
    let mut descriptions = Vec::new();
    for variant in variants {
        let several = variant["enum"].as_array().map(Vec::as_slice);
        let constants = several.unwrap_or(std::slice::from_ref(&variant["const"]));
        for constant in constants {
            words.push(constant.clone());
            descriptions.push(json!(variant["description"].as_str().unwrap_or_default()));
        }
    }
    if words.iter().all(Value::is_string) {
        object.remove("oneOf");
        object.insert("type".into(), json!("string"));
        object.insert("enum".into(), json!(words));
        object.insert("enumDescriptions".into(), json!(descriptions));
    }
}

/// `oneOf` of mappings with one key each becomes one mapping that has exactly one of the keys.
fn merge_variants(object: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = object.get("oneOf") else {
        return;
    };
    let mut properties = Map::new();
    for variant in variants {
        let (Some(own), Some(required)) = (
            variant["properties"].as_object(),
            variant["required"].as_array(),
        ) else {
            return;
        };
        if own.len() != 1 || required.len() != 1 {
            return;
        }
        for (key, property) in own {
            let mut property = property.clone();
            if let (Some(description), Some(property)) =
                (variant.get("description"), property.as_object_mut())
            {
                property.insert("description".into(), description.clone());
            }
            properties.insert(key.clone(), property);
        }
    }
    object.remove("oneOf");
    object.insert("type".into(), json!("object"));
    object.insert("properties".into(), Value::Object(properties));
    object.insert("additionalProperties".into(), json!(false));
    object.insert("minProperties".into(), json!(1));
    object.insert("maxProperties".into(), json!(1));
}

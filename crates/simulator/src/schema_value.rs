//! Generates values that are valid in a JSON Schema, for tool arguments and structured outputs.

use serde_json::{Map, Value, json};

/// The maximum depth of a value; a schema that recurses through required members gives `null` there.
const MAX_DEPTH: usize = 24;

/// A value that is valid in `schema`, always the same one.
pub fn value(schema: &Value) -> Value {
    SchemaValueGenerator { root: schema }.value(schema, "value", 0)
}

struct SchemaValueGenerator<'s> {
    /// The document that `$ref` pointers refer to.
    root: &'s Value,
}

impl<'s> SchemaValueGenerator<'s> {
    fn value(&self, schema: &'s Value, name: &str, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        for fixed in ["const", "default"] {
            if let Some(value) = schema.get(fixed) {
                return value.clone();
            }
        }
        if let Some(first) = schema.pointer("/enum/0") {
            return first.clone();
        }
        if let Some(target) = schema.get("$ref").and_then(|target| self.resolve(target)) {
            return self.value(target, name, depth + 1);
        }
        for union in ["/anyOf/0", "/oneOf/0"] {
            if let Some(first) = schema.pointer(union) {
                return self.value(first, name, depth + 1);
            }
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            return self.merge_all(schema, all, name, depth);
        }
        self.typed(schema, name, depth)
    }

    fn typed(&self, schema: &'s Value, name: &str, depth: usize) -> Value {
        match first_type(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, name, depth),
            "integer" => json!(number(schema).ceil() as i64),
            "number" => json!(number(schema)),
            "boolean" => json!(true),
            "null" => Value::Null,
            _ => json!(string(schema, name)),
        }
    }

    fn resolve(&self, target: &Value) -> Option<&'s Value> {
        self.root.pointer(target.as_str()?.strip_prefix('#')?)
    }

    fn merge_all(&self, schema: &'s Value, all: &'s [Value], name: &str, depth: usize) -> Value {
        let mut merged = Map::new();
        for part in all {
            match self.value(part, name, depth + 1) {
                Value::Object(members) => merged.extend(members),
                other => return other,
            }
        }
        if let Value::Object(members) = self.object(schema, depth) {
            merged.extend(members);
        }
        Value::Object(merged)
    }

    /// The required members, or all declared ones if none is required.
    fn object(&self, schema: &'s Value, depth: usize) -> Value {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return json!({});
        };
        let required = schema.get("required").and_then(Value::as_array);
        let wanted = |name: &str| required.is_none_or(|names| names.iter().any(|n| n == name));
        let members = properties.iter().filter(|(name, _)| wanted(name));
        members
            .map(|(name, member)| (name.clone(), self.value(member, name, depth + 1)))
            .collect()
    }

    fn array(&self, schema: &'s Value, name: &str, depth: usize) -> Value {
        let Some(items) = schema.get("items") else {
            return json!([]);
        };
        let least = schema.get("minItems").and_then(Value::as_u64);
        let count = least.unwrap_or(1).clamp(1, 100);
        (0..count)
            .map(|_| self.value(items, name, depth + 1))
            .collect()
    }
}

/// The first type that is not `null`; without `type` it is inferred from other keywords.
fn first_type(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            let mut names = names.iter().filter_map(Value::as_str);
            names.find(|name| *name != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

fn number(schema: &Value) -> f64 {
    let bound = |name| schema.get(name).and_then(Value::as_f64);
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|bound| bound + 1.0));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|bound| bound - 1.0));
    let number = least.unwrap_or(42.0);
    most.map_or(number, |most| number.min(most))
}

fn string(schema: &Value, name: &str) -> String {
    let mut text = match schema.get("format").and_then(Value::as_str) {
        Some("date") => "2026-01-31".to_owned(),
        Some("time") => "12:30:00Z".to_owned(),
        Some("date-time") => "2026-01-31T12:30:00Z".to_owned(),
        Some("email") => "sample@example.com".to_owned(),
        Some("uri" | "url") => "https://example.com/".to_owned(),
        Some("uuid") => "00000000-0000-4000-8000-000000000000".to_owned(),
        Some("ipv4") => "192.0.2.1".to_owned(),
        _ => format!("sample {name}"),
    };
    let length = |name| schema.get(name).and_then(Value::as_u64);
    if let Some(least) = length("minLength") {
        let missing = (least.min(100_000) as usize).saturating_sub(text.chars().count());
        text.extend(std::iter::repeat_n('x', missing));
    }
    if let Some(most) = length("maxLength") {
        text = text.chars().take(most as usize).collect();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generated_value_satisfies_its_schema() {
        let schemas = [
            json!({"type": "object", "required": ["city", "days"], "properties": {
                "city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7},
                "unit": {"enum": ["c", "f"]}}}),
            json!({"type": "object", "properties": {"when": {"type": "string", "maxLength": 4},
                "tags": {"type": "array", "items": {"type": "string", "minLength": 20}, "minItems": 3}}}),
            json!({"$defs": {"leaf": {"type": ["null", "number"], "exclusiveMaximum": 3}},
                "type": "object", "required": ["leaf"], "properties": {"leaf": {"$ref": "#/$defs/leaf"}}}),
            json!({"anyOf": [{"type": "boolean"}, {"type": "string"}]}),
            json!({"allOf": [
                {"type": "object", "required": ["a"], "properties": {"a": {"const": 7}}},
                {"type": "object", "required": ["b"], "properties": {"b": {"type": "null"}}}]}),
        ];
        for schema in schemas {
            let value = value(&schema);
            assert!(
                jsonschema::is_valid(&schema, &value),
                "{schema} got {value}"
            );
        }
    }

    #[test]
    fn only_required_members_are_filled() {
        let schema = json!({"type": "object", "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
        assert_eq!(value(&schema), json!({"a": "sample a"}));
    }

    #[test]
    fn a_schema_that_recurses_for_ever_ends() {
        let schema =
            json!({"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}});
        assert!(value(&schema).pointer("/next/next").is_some());
    }
}

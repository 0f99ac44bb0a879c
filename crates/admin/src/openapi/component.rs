//! The schemas of a document: each under a name of its own, with its definitions beside it.

use serde_json::{Map, Value, json};

/// What precedes the name of a schema in a reference.
const PREFIX: &str = "#/components/schemas/";
/// Members of our schemas that only the gateway reads.
const OWN_MEMBERS: [&str; 4] = ["$schema", "$id", "$comment", "errorMessage"];
/// What precedes the name of a schema of the gateway in its `$id`.
const BUILT_IN_ID: &str = "urn:headgate:schema:";

/// The schemas of a document, by their names.
#[derive(Default)]
pub(super) struct ComponentSchemas {
    schemas: Map<String, Value>,
    /// The schemas of requests as they are written, with the names that they have here.
    added: Vec<(Value, String)>,
}

impl ComponentSchemas {
    /// Adds the schema of a request, once, and returns a reference to it. A schema without an `$id` is named after
    /// the route.
    pub fn add_request(&mut self, schema: &Value, route: &str) -> Value {
        if let Some((_, name)) = self.added.iter().find(|(added, _)| added == schema) {
            return reference(name);
        }
        let id = schema["$id"].as_str();
        let name = match id.and_then(|id| id.strip_prefix(BUILT_IN_ID)) {
            Some(name) => format!("{}.request", allowed(name)),
            None => format!("{}.request", allowed(route)),
        };
        let name = self.free_name(name);
        let mut own = schema.clone();
        let definitions = own.as_object_mut().and_then(|own| own.remove("$defs"));
        if let Some(Value::Object(definitions)) = definitions {
            for (definition, mut schema) in definitions {
                adapt(&mut schema, &name);
                self.schemas
                    .insert(definition_name(&name, &definition), schema);
            }
        }
        adapt(&mut own, &name);
        self.schemas.insert(name.clone(), own);
        let reference = reference(&name);
        self.added.push((schema.clone(), name));
        reference
    }

    /// Adds a schema that is written here.
    pub fn add(&mut self, name: &str, schema: Value) {
        self.schemas.insert(name.to_owned(), schema);
    }

    pub fn into_map(self) -> Map<String, Value> {
        self.schemas
    }

    fn free_name(&self, name: String) -> String {
        let is_free = |name: &String| !self.schemas.contains_key(name);
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        names.find(is_free).unwrap_or(name)
    }
}

/// A reference to the schema of this name.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("{PREFIX}{name}")})
}

/// Points references at the definitions beside the schema, and removes what only the gateway reads.
fn adapt(schema: &mut Value, name: &str) {
    match schema {
        Value::Object(members) => {
            // A property may have the name of such a member; its value is a schema or a boolean, not a text.
            members.retain(|member, value| {
                !(OWN_MEMBERS.contains(&member.as_str()) && value.is_string())
            });
            if let Some(Value::String(target)) = members.get_mut("$ref") {
                match target.strip_prefix("#/$defs/") {
                    Some(definition) => {
                        *target = format!("{PREFIX}{}", definition_name(name, definition));
                    }
                    None if target == "#" => *target = format!("{PREFIX}{name}"),
                    None => {}
                }
            }
            members.values_mut().for_each(|value| adapt(value, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| adapt(item, name)),
        _ => {}
    }
}

fn definition_name(name: &str, definition: &str) -> String {
    let of_request = name.strip_suffix(".request").unwrap_or(name);
    format!("{of_request}.{}", allowed(definition))
}

/// A name with the letters that names of components may have.
fn allowed(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => letter,
        _ => '.',
    });
    letters.collect()
}

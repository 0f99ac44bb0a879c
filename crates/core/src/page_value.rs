//! Reads the JSON of admin pages, for commands: what is missing is empty.

use serde_json::Value;

/// The string in a field, empty if there is none.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The members of an array, none if it is something else.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

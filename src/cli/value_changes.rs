//! What differs between two JSON values, one line for each place, for the terminal.

use headgate_protocol::secret_shape;
use serde_json::Value;

/// The characters of a value that are printed.
const VALUE_CHARS_MAX: usize = 60;

/// A place at which two values differ.
#[derive(Debug, PartialEq, Eq)]
pub struct JsonValueChange {
    /// As `messages[0].content`; empty for the whole value.
    pub path: String,
    /// Both values, or what was added or removed.
    pub text: String,
}

/// The places at which the values differ, in the order of their keys.
pub fn value_changes(old: &Value, new: &Value) -> Vec<JsonValueChange> {
    let mut changes = Vec::new();
    collect(Some(old), Some(new), "", &mut changes);
    changes
}

/// A value on one line, cut if it is long; what looks like a credential is masked.
pub fn brief(value: &Value) -> String {
    let text = value.to_string();
    let masked = secret_shape::masked(&text);
    let mut characters = masked.chars();
    let mut brief: String = characters.by_ref().take(VALUE_CHARS_MAX).collect();
    if characters.next().is_some() {
        brief.push('…');
    }
    brief
}

fn collect(
    old: Option<&Value>,
    new: Option<&Value>,
    path: &str,
    changes: &mut Vec<JsonValueChange>,
) {
    let mut add = |text: String| {
        changes.push(JsonValueChange {
            path: path.to_owned(),
            text,
        });
    };
    match (old, new) {
        (old, new) if old == new => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                collect(old.get(key), new.get(key), &path, changes);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                let path = format!("{path}[{index}]");
                collect(old.get(index), new.get(index), &path, changes);
            }
        }
        (Some(old), Some(new)) => add(format!("{} → {}", brief(old), brief(new))),
        (None, Some(new)) => add(format!("added: {}", brief(new))),
        (Some(old), None) => add(format!("removed (was {})", brief(old))),
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_place_that_differs_has_a_line() {
        let old = json!({"a": 1, "b": {"c": [1, 2]}, "d": "x", "same": [1]});
        let new = json!({"a": 2, "b": {"c": [1, 3, 4]}, "e": "sk-0123456789abcdef", "same": [1]});
        let lines: Vec<String> = value_changes(&old, &new)
            .into_iter()
            .map(|change| format!("{}: {}", change.path, change.text))
            .collect();
        let expected = [
            "a: 1 → 2",
            "b.c[1]: 2 → 3",
            "b.c[2]: added: 4",
            "d: removed (was \"x\")",
            "e: added: \"[secret]\"",
        ];
        assert_eq!(lines, expected);
        assert_eq!(value_changes(&old, &old), []);
        assert_eq!(brief(&json!("y".repeat(99))).chars().count(), 61);
    }
}

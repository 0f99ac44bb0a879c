//! The values of a configuration in a form that two files can be compared in: secrets can be compared, never printed.

use super::document::ConfigDocument;
use headgate_core::pointer::child;
use headgate_protocol::secret_shape::MASK;
use serde_json::Value;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// What stands before the hash that takes the place of a secret; no text of a file begins so.
const SECRET_PREFIX: &str = "\u{0}secret:";
/// Hashes of secrets are comparable within one process only.
static SECRET_HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The values of a file with all variables replaced, and a hash in the place of each secret.
#[derive(Clone, Debug, Default)]
pub struct ComparableValues(Value);

impl ComparableValues {
    /// `secrets` are the pointers of the secrets among `value`.
    pub(super) fn new(mut value: Value, secrets: &[String]) -> Self {
        for pointer in secrets {
            if let Some(secret) = value.pointer_mut(pointer) {
                let hash = SECRET_HASHES.hash_one(secret.to_string());
                *secret = Value::String(format!("{SECRET_PREFIX}{hash:016x}"));
            }
        }
        Self(value)
    }

    /// The value at a pointer; null if there is none. Equal if the values of the file are.
    pub fn get(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }
}

/// Whether this is the hash in the place of a secret.
pub fn is_secret(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.starts_with(SECRET_PREFIX))
}

impl ConfigDocument {
    /// The value at a pointer as the file has it, on one line, variables by their names and secrets masked.
    pub fn shown(&self, values: &ComparableValues, pointer: &str) -> String {
        match values.get(pointer) {
            value if is_secret(value) => self.secret_names(pointer),
            Value::Object(entries) => {
                let entries = entries.keys().map(|key| {
                    let value = self.shown(values, &child(pointer, key));
                    format!("{key}: {value}")
                });
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Value::Array(items) => {
                let items =
                    (0..items.len()).map(|index| self.shown(values, &child(pointer, index)));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Value::Null => "none".into(),
            _ => self.scalar_as_written(pointer),
        }
    }

    /// A secret by the variables that it comes from, if it does.
    fn secret_names(&self, pointer: &str) -> String {
        let written = self.written(pointer).unwrap_or_default();
        let names: Vec<String> = written
            .split("${")
            .skip(1)
            .map(|rest| {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                format!("${{{}}}", &rest[..end.unwrap_or(rest.len())])
            })
            .collect();
        match names.is_empty() {
            true => MASK.into(),
            false => names.join(" "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::FeatureSchemas;
    use std::path::Path;

    const FILE: &str = r#"
channels:
  one:
    base_url: https://${HOST}/v1
    credential: {bearer: "CREDENTIAL"}
    headers: {x-team: blue}
    protocols: [chat]
    models: {a: b}
task_keys: ["0123456789abcdef0123456789abcdef"]
routes: []
"#;

    #[test]
    fn values_are_shown_as_written_and_secrets_are_compared_without_being_shown() {
        let env = |name: &str| match name {
            "HOST" => Some("gate.example".to_owned()),
            "KEY" => Some("sk-canary-of-the-environment".to_owned()),
            _ => None,
        };
        let loaded = |credential: &str| {
            let text = FILE.replace("CREDENTIAL", credential);
            crate::parse_comparable(Path::new("r.yaml"), &text, &FeatureSchemas::default(), &env)
                .unwrap()
        };
        let (one, other) = (loaded("${KEY:-sk-canary-default}"), loaded("sk-canary-2"));
        let secret = "/channels/one/credential/bearer";
        assert!(is_secret(one.values.get(secret)));
        assert_ne!(one.values.get(secret), other.values.get(secret));
        assert_eq!(one.values.get(secret), loaded("${KEY}").values.get(secret));
        for (loaded, pointer, shown) in [
            (&one, secret, "${KEY}"),
            (&other, secret, "[secret]"),
            (&one, "/channels/one/base_url", "https://${HOST}/v1"),
            (&one, "/channels/one/headers", "{x-team: blue}"),
            (&one, "/channels/one/protocols", "[chat]"),
            (&one, "/channels/one/weight", "none"),
            (&one, "/task_keys", "[[secret]]"),
        ] {
            assert_eq!(loaded.document.shown(&loaded.values, pointer), shown);
        }
    }
}

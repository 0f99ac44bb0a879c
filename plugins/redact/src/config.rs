//! The configuration of the plugin.

use crate::detect::{Detector, Kind};
use json_text::TEXT_FIELDS;
use regex_lite::Regex;
use serde::Deserialize;

/// The configuration as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RedactConfig {
    /// Kinds of data that the plugin knows. Default: all.
    pub kinds: Vec<Kind>,
    /// Further kinds, by regular expressions. Default: none.
    pub patterns: Vec<PatternConfig>,
    /// Names of the members whose strings are text. Default: those of the protocols.
    pub fields: Vec<String>,
    /// Whether responses have their placeholders replaced by the data. Default: true.
    pub restore: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternConfig {
    /// The name in the placeholder: capital letters, digits and `_`, with a letter first.
    pub name: String,
    /// The regular expression, of the syntax of the crate regex-lite.
    pub regex: String,
}

impl Default for RedactConfig {
    fn default() -> Self {
        Self {
            kinds: Kind::ALL.to_vec(),
            patterns: Vec::new(),
            fields: TEXT_FIELDS.map(str::to_owned).to_vec(),
            restore: true,
        }
    }
}

/// What the plugin does.
#[derive(Debug, Default)]
pub struct Redact {
    pub detector: Detector,
    pub fields: Vec<String>,
    pub restore: bool,
}

impl Redact {
    /// Reads the configuration; an empty one has the defaults.
    pub fn new(configuration: &[u8]) -> Result<Self, String> {
        let config: RedactConfig = if configuration.is_empty() {
            RedactConfig::default()
        } else {
            serde_json::from_slice(configuration).map_err(|error| error.to_string())?
        };
        let patterns: Result<Vec<_>, String> = config.patterns.iter().map(pattern).collect();
        Ok(Self {
            detector: Detector {
                kinds: config.kinds,
                patterns: patterns?,
            },
            fields: config.fields,
            restore: config.restore,
        })
    }
}

fn pattern(config: &PatternConfig) -> Result<(String, Regex), String> {
    let name = &config.name;
    let allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let begins_with_letter = name.starts_with(|first: char| first.is_ascii_uppercase());
    if !begins_with_letter || !name.bytes().all(allowed) {
        return Err(format!(
            "patterns: name {name:?} must be capital letters, digits and _, with a letter first"
        ));
    }
    if Kind::ALL.iter().any(|kind| kind.name() == name) {
        return Err(format!(
            "patterns: name {name:?} is that of a built-in kind"
        ));
    }
    let regex = Regex::new(&config.regex)
        .map_err(|error| format!("patterns: invalid regular expression of {name}: {error}"))?;
    if regex.is_match("") {
        return Err(format!(
            "patterns: the regular expression of {name} must not match empty text"
        ));
    }
    Ok((name.clone(), regex))
}

#[cfg(test)]
mod tests {
    use super::Redact;
    use crate::detect::Kind;

    #[test]
    fn an_empty_configuration_has_the_defaults() {
        for text in ["", "{}"] {
            let redact = Redact::new(text.as_bytes()).unwrap();
            assert!(redact.restore);
            assert_eq!(redact.detector.kinds, Kind::ALL);
        }
    }

    #[test]
    fn mistakes_are_refused_with_their_reason() {
        for (text, reason) in [
            ("{", "EOF"),
            (r#"{"kind": []}"#, "unknown field `kind`"),
            (r#"{"kinds": ["name"]}"#, "unknown variant `name`"),
            (
                r#"{"patterns": [{"name": "id", "regex": "x"}]}"#,
                "capital letters",
            ),
            (
                r#"{"patterns": [{"name": "EMAIL", "regex": "x"}]}"#,
                "built-in",
            ),
            (
                r#"{"patterns": [{"name": "ID", "regex": "("}]}"#,
                "invalid regular expression of ID",
            ),
            (
                r#"{"patterns": [{"name": "ID", "regex": "x*"}]}"#,
                "must not match empty",
            ),
        ] {
            let error = Redact::new(text.as_bytes()).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}

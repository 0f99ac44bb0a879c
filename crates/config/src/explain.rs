//! Schema errors in plain words: what is wrong with this value, and what to write instead.

use super::document::{ConfigDocument, PointerLocatedProblem};
use super::hint::{did_you_mean, list_names};
use super::renamed_keys::{new_key, new_value};
use super::schema::{KEY_NOUN, PATTERN_WORDS, REFUSAL, REFUSAL_HINT};
use headgate_core::pointer;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

/// The hint for an empty value of a variable.
const EMPTY_VARIABLE: &str = "its environment variable is set but empty";

/// Mappings with more keys get no example, since any one of them would be a guess; where each key is an alternative, none is.
const EXAMPLE_KEYS_MAX: usize = 5;

/// What a schema error says, one finding for each thing to change; of unknown keys, this `key`.
pub fn explain(
    error: &ValidationError<'_>,
    key: Option<&String>,
    schema: &Value,
    document: &ConfigDocument,
) -> Vec<PointerLocatedProblem> {
    let pointer = error.instance_path().as_str();
    let place = SchemaErrorContext {
        document,
        pointer,
        found: error.instance(),
        quoted: document.quotable(pointer),
        wanted: parent_schema(error, schema),
    };
    match error.kind() {
        Kind::AdditionalProperties { .. } => {
            key.map(|key| place.unknown_key(key)).into_iter().collect()
        }
        Kind::Required { property } => {
            vec![place.missing_key(property.as_str().unwrap_or_default())]
        }
        Kind::Type { .. } if place.is_miswritten() => vec![place.wrong_pattern()],
        Kind::Type { .. } => vec![place.wrong_type()],
        // A value of another type is told by its type.
        Kind::Enum { .. } if !place.found.is_string() => Vec::new(),
        Kind::Enum { options } => vec![place.unknown_word(options, &step_keys(error, schema))],
        Kind::Pattern { .. } | Kind::Custom { .. } => vec![place.wrong_pattern()],
        Kind::MinProperties { .. } | Kind::MaxProperties { .. } => vec![place.wrong_key_count()],
        Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } => {
            let is_expanded = document.is_expanded(pointer);
            let hint = is_expanded.then(|| EMPTY_VARIABLE.to_owned());
            vec![place.finding("must not be empty", hint)]
        }
        Kind::Not { .. } => vec![place.refused()],
        Kind::Minimum { limit } => vec![place.beyond(format!("must be at least {limit}"))],
        Kind::Maximum { limit } => vec![place.beyond(format!("must be at most {limit}"))],
        _ => vec![place.finding(error.masked_with("this").to_string(), None)],
    }
}

/// The schema whose keyword this error is about.
pub fn parent_schema<'schema>(
    error: &ValidationError<'_>,
    schema: &'schema Value,
) -> &'schema Value {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    schema.pointer(parent).unwrap_or(&Value::Null)
}

/// The keys a schema names.
pub fn keys(schema: &Value) -> impl Iterator<Item = &str> {
    let properties = schema["properties"].as_object().into_iter();
    properties.flat_map(|properties| properties.keys().map(String::as_str))
}

/// The place a schema error is about.
struct SchemaErrorContext<'error> {
    document: &'error ConfigDocument,
    pointer: &'error str,
    found: &'error Value,
    /// The value found, if it is a scalar that may be shown.
    quoted: Option<String>,
    /// The schema whose keyword was broken.
    wanted: &'error Value,
}

impl SchemaErrorContext<'_> {
    fn finding(&self, reason: impl Into<String>, hint: Option<String>) -> PointerLocatedProblem {
        PointerLocatedProblem::value(self.pointer, reason, hint)
    }

    /// A number that is too small or too large.
    fn beyond(&self, reason: String) -> PointerLocatedProblem {
        match &self.quoted {
            Some(quoted) => self.finding(format!("{reason}, found `{quoted}`"), self.range_hint()),
            None => self.finding(reason, self.range_hint()),
        }
    }

    /// A key that does not go with another one.
    fn refused(&self) -> PointerLocatedProblem {
        let text = |annotation: &str| self.wanted[annotation].as_str().map(str::to_owned);
        let reason = text(REFUSAL).unwrap_or_else(|| "must not be here".into());
        PointerLocatedProblem::key(self.pointer, reason, text(REFUSAL_HINT))
    }

    /// Both bounds of a number.
    fn range_hint(&self) -> Option<String> {
        let (least, most) = (&self.wanted["minimum"], &self.wanted["maximum"]);
        (least.is_number() && most.is_number())
            .then(|| format!("write a number from {least} to {most}"))
    }

    fn unknown_key(&self, key: &str) -> PointerLocatedProblem {
        if let Some(new) = new_key(self.pointer, key) {
            return self.renamed_key(key, new);
        }
        let noun = self.wanted[KEY_NOUN].as_str().unwrap_or("key");
        let known = |name: &str| self.wanted["properties"][name].is_object();
        let hint = match key {
            "api_key" | "bearer" if known("credential") => {
                Some(format!("write `credential: {{{key}: …}}`"))
            }
            "key" | "api_key" | "token" | "secret" if known("key_sha256") => {
                Some("write its digest as `key_sha256`; `headgate key digest` prints it".into())
            }
            _ => did_you_mean(key, keys(self.wanted)),
        };
        PointerLocatedProblem::key(
            pointer::child(self.pointer, key),
            format!("unknown {noun} `{key}`"),
            hint,
        )
    }

    /// A key by its old name; with an old value, too, the hint gives both new names.
    fn renamed_key(&self, old: &str, new: &str) -> PointerLocatedProblem {
        let pointer = pointer::child(self.pointer, old);
        let value = self.document.quotable(&pointer);
        let value = value.and_then(|value| new_value(self.pointer, new, &value));
        PointerLocatedProblem::key(
            pointer,
            format!("unknown key `{old}`; it is now called `{new}`"),
            value.map(|value| format!("write `{new}: {value}`")),
        )
    }

    fn missing_key(&self, key: &str) -> PointerLocatedProblem {
        let description = self.wanted["properties"][key]["description"].as_str();
        let meaning = description.and_then(|text| text.split(". ").next());
        let hint = meaning.map(|meaning| format!("add `{key}`: {}", without_full_stop(meaning)));
        PointerLocatedProblem::key(self.pointer, format!("missing required key `{key}`"), hint)
    }

    /// Whether a scalar stands where a special way of writing is wanted.
    fn is_miswritten(&self) -> bool {
        self.quoted.is_some() && self.wanted[PATTERN_WORDS].is_string()
    }

    fn wrong_type(&self) -> PointerLocatedProblem {
        let wanted = types(self.wanted);
        let words: Vec<&str> = match self.wanted[KEY_NOUN].as_str() {
            Some(_) => vec!["a filter's name or a mapping"],
            None => wanted.iter().map(|name| type_words(name)).collect(),
        };
        let found = match (&self.quoted, self.found) {
            (Some(quoted), _) => format!("`{quoted}`"),
            (None, Value::Null) => "nothing".into(),
            (None, Value::String(_)) => "text".into(),
            (None, Value::Array(_)) => "a list".into(),
            (None, Value::Object(_)) => "a mapping".into(),
            (None, Value::Bool(_)) => "true or false".into(),
            (None, Value::Number(_)) => "a number".into(),
        };
        let reason = format!("expected {}, found {found}", words.join(" or "));
        self.finding(reason, self.type_hint(&wanted))
    }

    fn type_hint(&self, wanted: &[&str]) -> Option<String> {
        match (self.found, &self.quoted) {
            (Value::Null, _) if self.document.is_before_comment(self.pointer) => {
                Some("put the value in quotes: unquoted, ` #` begins a comment".into())
            }
            (Value::Null, _) => Some("give it a value, or remove it".into()),
            _ if self.wanted[KEY_NOUN].is_string() => None,
            _ if self.wanted["enum"].is_array() => list_names(&texts(&self.wanted["enum"])),
            (Value::Bool(_) | Value::Number(_), None) => Some("put it in quotes".into()),
            (Value::Bool(_) | Value::Number(_), Some(quoted)) if wanted.contains(&"string") => {
                Some(match self.pointer {
                    "/server/listen" | "/server/admin" => {
                        format!("write host and port, such as `127.0.0.1:{quoted}`")
                    }
                    _ => format!("put it in quotes: \"{quoted}\""),
                })
            }
            (Value::String(_), Some(quoted)) if wanted == ["array"] => {
                Some(format!("write a list: [{}]", in_flow(quoted)))
            }
            (Value::Object(_), _) if wanted == ["array"] => {
                Some("write a list: each item starts with `- `".into())
            }
            (found, _) if wanted == ["object"] && keys(self.wanted).next().is_none() => {
                Some(self.pair_hint(found))
            }
            _ if wanted == ["object"] => {
                let known: Vec<&str> = keys(self.wanted).collect();
                let listed = list_names(&known)?;
                let is_choice = self.wanted["maxProperties"] == 1;
                Some(match known.as_slice() {
                    [first, _, ..] if is_choice || known.len() <= EXAMPLE_KEYS_MAX => {
                        format!("{listed}, as in `{{{first}: …}}`")
                    }
                    _ => listed,
                })
            }
            _ if wanted.contains(&"integer") => self.range_hint(),
            _ => None,
        }
    }

    /// How a mapping of any keys is written, with the words that stand there.
    fn pair_hint(&self, found: &Value) -> String {
        let item = format!("{}/0", self.pointer);
        let key = match found {
            Value::Array(_) => self.document.quotable(&item),
            _ => self.quoted.clone(),
        };
        let key = key.unwrap_or_else(|| "key".to_owned());
        let list = if found.is_array() {
            ", without `- ` or `[ ]`"
        } else {
            ""
        };
        let meaning = self.wanted["description"].as_str();
        let meaning = meaning.and_then(|text| text.lines().next());
        let meaning = meaning.map_or(String::new(), |text| {
            format!(": {}", without_full_stop(text))
        });
        format!("write `{key}: value` in each line{list}{meaning}")
    }

    /// A word that is not among those allowed; `keyed` are names that only go with settings.
    fn unknown_word(&self, options: &Value, keyed: &[&str]) -> PointerLocatedProblem {
        let options = texts(options);
        let Some(word) = &self.quoted else {
            return self.finding("unknown value", list_names(&options));
        };
        if keyed.contains(&word.as_str()) {
            let reason = format!("`{word}` requires settings");
            return self.finding(reason, Some(format!("write {{{word}: …}}")));
        }
        if let Some(new) = self.renamed_value(word) {
            let reason = format!("unknown value `{word}`; it is now called `{new}`");
            return self.finding(reason, None);
        }
        if keyed.is_empty() {
            return self.finding(
                format!("unknown value `{word}`"),
                did_you_mean(word, options),
            );
        }
        let hint = match self.document.has_chain(word) {
            true => Some(format!("write `{{use: {word}}}` for the chain")),
            false => did_you_mean(word, keyed.iter().copied())
                .or_else(|| Some("`headgate filters` lists the filters".to_owned())),
        };
        self.finding(format!("unknown filter `{word}`"), hint)
    }

    /// The present name of the value found.
    fn renamed_value(&self, word: &str) -> Option<&'static str> {
        let (mapping, key) = self.pointer.rsplit_once('/')?;
        new_value(mapping, key, word)
    }

    fn wrong_pattern(&self) -> PointerLocatedProblem {
        let words = self.wanted[PATTERN_WORDS].as_str();
        let words = words.unwrap_or("invalid value");
        match &self.quoted {
            Some(quoted) if words.starts_with("expected") && !quoted.is_empty() => {
                self.finding(format!("{words}; found `{quoted}`"), None)
            }
            _ if self.found == "" && self.document.is_expanded(self.pointer) => {
                self.finding(words, Some(EMPTY_VARIABLE.into()))
            }
            None if self.found.is_string() && words.starts_with("expected") => {
                let characters = self.found.as_str().map_or(0, |text| text.chars().count());
                self.finding(
                    format!("{words}; found text of {characters} characters"),
                    None,
                )
            }
            _ => self.finding(words, None),
        }
    }

    fn wrong_key_count(&self) -> PointerLocatedProblem {
        let noun = self.wanted[KEY_NOUN].as_str().unwrap_or("key");
        let found = self.found.as_object().map_or(0, serde_json::Map::len);
        let (least, most) = (&self.wanted["minProperties"], &self.wanted["maxProperties"]);
        if let Some(wanted) = least.as_u64().filter(|_| least == most) {
            // A step with a condition has further keys besides its filter.
            let found = (found + 1).saturating_sub(wanted as usize);
            let hint = match noun {
                "key" => list_names(&keys(self.wanted).collect::<Vec<_>>()),
                _ => Some(format!("give each {noun} its own `- `")),
            };
            return self.finding(format!("expected exactly one {noun}, found {found}"), hint);
        }
        if found == 0 {
            return self.finding("this must not be empty", None);
        }
        self.finding("this filter takes no settings", None)
    }
}

/// Names that a step may have as a key, where the error is that of a bare step.
fn step_keys<'schema>(error: &ValidationError<'_>, schema: &'schema Value) -> Vec<&'schema str> {
    let path = error.schema_path().as_str().strip_suffix("/then/enum");
    let step = path.and_then(|path| schema.pointer(path));
    let keyed = step.filter(|step| step[KEY_NOUN].is_string());
    keyed.into_iter().flat_map(keys).collect()
}

fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::Array(_) => texts(&schema["type"]),
        name => name.as_str().into_iter().collect(),
    }
}

fn texts(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}

fn type_words(name: &str) -> &str {
    match name {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a mapping",
        "null" => "nothing",
        other => other,
    }
}

/// A scalar as it may stand within brackets.
fn in_flow(scalar: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    match scalar.chars().all(is_plain) && !scalar.is_empty() {
        true => scalar.to_owned(),
        false => format!("{scalar:?}"),
    }
}

fn without_full_stop(text: &str) -> &str {
    text.strip_suffix('.').unwrap_or(text)
}

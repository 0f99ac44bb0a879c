//! `${VAR}` and `${VAR:-default}` in the scalars of a file, after it was parsed: no variable can add structure.

use super::document::PointerLocatedProblem;
use super::node::{YamlContent, YamlNode};
use super::source::ConfigText;
use headgate_core::pointer;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Where the file names keys that nobody else should choose: a default would be no secret.
const TASK_KEYS: &str = "/task_keys/";

/// How a variable is looked up.
pub type EnvLookup<'env> = &'env dyn Fn(&str) -> Option<String>;

/// A file's values with every variable replaced.
pub struct VariableExpansion {
    pub value: Value,
    /// Pointers of scalars that took a variable's value.
    pub pointers: BTreeSet<String>,
    /// What variables hold, by their names.
    pub variables: BTreeMap<String, String>,
    /// Variables that are not set, and references that are not written right.
    pub findings: Vec<PointerLocatedProblem>,
}

/// Replaces the variables of a tree that was read from `source`.
pub fn expand(root: &YamlNode, source: &ConfigText, env: EnvLookup<'_>) -> VariableExpansion {
    let mut expander = VariableExpander {
        source,
        env,
        pointers: BTreeSet::new(),
        variables: BTreeMap::new(),
        findings: Vec::new(),
    };
    let value = expander.node(root, "");
    VariableExpansion {
        value,
        pointers: expander.pointers,
        variables: expander.variables,
        findings: expander.findings,
    }
}

struct VariableExpander<'file> {
    source: &'file ConfigText,
    env: EnvLookup<'file>,
    pointers: BTreeSet<String>,
    variables: BTreeMap<String, String>,
    findings: Vec<PointerLocatedProblem>,
}

/// A piece of a scalar.
enum ScalarPart<'text> {
    Plain(&'text str),
    Variable {
        /// As written, `${` and `}` included.
        written: &'text str,
        name: &'text str,
        default: Option<&'text str>,
    },
    Unclosed(&'text str),
}

impl VariableExpander<'_> {
    fn node(&mut self, node: &YamlNode, pointer: &str) -> Value {
        match &node.content {
            YamlContent::Null => Value::Null,
            YamlContent::Bool(value) => Value::Bool(*value),
            YamlContent::Number(number) => Value::Number(number.clone()),
            YamlContent::Text(text) => Value::String(self.scalar(text, &node.range, pointer)),
            YamlContent::List(items) => {
                let items = items.iter().enumerate();
                let values = items.map(|(at, item)| self.node(item, &pointer::child(pointer, at)));
                Value::Array(values.collect())
            }
            YamlContent::Map(entries) => {
                let values = entries.iter().map(|entry| {
                    let pointer = pointer::child(pointer, &entry.key);
                    (entry.key.clone(), self.node(&entry.value, &pointer))
                });
                Value::Object(values.collect())
            }
        }
    }

    fn scalar(&mut self, text: &str, range: &Range<usize>, pointer: &str) -> String {
        let mut value = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                ScalarPart::Plain(plain) => value.push_str(plain),
                ScalarPart::Variable {
                    written,
                    name,
                    default,
                } => {
                    self.pointers.insert(pointer.to_owned());
                    match self.variable(name, default, pointer) {
                        Ok(expanded) => value.push_str(&expanded),
                        Err((reason, hint)) => self.fault(written, range, pointer, reason, hint),
                    }
                }
                ScalarPart::Unclosed(written) => {
                    self.pointers.insert(pointer.to_owned());
                    let hint = "a variable is written `${NAME}`; `$$` is a plain `$`";
                    self.fault(written, range, pointer, "unclosed `${`".into(), hint.into());
                }
            }
        }
        value
    }

    /// The value of a variable, or a reason and a hint. A default stands in for an unset or empty one.
    fn variable(
        &mut self,
        name: &str,
        default: Option<&str>,
        pointer: &str,
    ) -> Result<String, (String, String)> {
        if !is_name(name) {
            let reason = "invalid variable name".to_owned();
            let hint = "a variable is written `${NAME}` or `${NAME:-default}`; `$$` is a plain `$`";
            return Err((reason, hint.into()));
        }
        match ((self.env)(name), default) {
            (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
            (Some(value), _) => {
                self.variables.insert(name.to_owned(), value.clone());
                Ok(value)
            }
            (None, Some(default)) => Ok(default.to_owned()),
            (None, None) => {
                let reason = format!("environment variable `{name}` is not set");
                let hint = match pointer.starts_with(TASK_KEYS) {
                    true => format!(
                        "`headgate key task` makes a key: export {name}=$(headgate key task)"
                    ),
                    false => format!("set it, or give a default: `${{{name}:-…}}`"),
                };
                Err((reason, hint))
            }
        }
    }

    fn fault(
        &mut self,
        written: &str,
        range: &Range<usize>,
        pointer: &str,
        reason: String,
        hint: String,
    ) {
        let text = self.source.text().get(range.clone()).unwrap_or_default();
        let head = written.split(":-").next().unwrap_or(written);
        let bytes = text.find(head).map(|at| {
            let start = range.start + at;
            start..start + head.len()
        });
        self.findings.push(PointerLocatedProblem {
            pointer: pointer.to_owned(),
            ..PointerLocatedProblem::bytes(
                bytes.unwrap_or_else(|| range.clone()),
                reason,
                Some(hint),
            )
        });
    }
}

/// Cuts a scalar at its variables; `$$` is a plain `$`, and so is a `$` before anything but `{`.
fn pieces(text: &str) -> Vec<ScalarPart<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (plain, dollar) = rest.split_at(at);
        pieces.push(ScalarPart::Plain(plain));
        if let Some(after) = dollar.strip_prefix("$$") {
            pieces.push(ScalarPart::Plain("$"));
            rest = after;
        } else if !dollar.starts_with("${") {
            pieces.push(ScalarPart::Plain("$"));
            rest = &dollar[1..];
        } else if let Some(end) = dollar.find('}') {
            let inner = &dollar[2..end];
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            let written = &dollar[..=end];
            pieces.push(ScalarPart::Variable {
                written,
                name,
                default,
            });
            rest = &dollar[end + 1..];
        } else {
            pieces.push(ScalarPart::Unclosed(dollar));
            rest = "";
        }
    }
    pieces.push(ScalarPart::Plain(rest));
    pieces
}

fn is_name(name: &str) -> bool {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax;

    fn expanded(text: &str) -> (Value, Vec<String>) {
        let env = |name: &str| match name {
            "HOST" => Some("gate.example".to_owned()),
            "YAML" => Some("x\nweight: 9 # ${HOST}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let source = ConfigText::new(text);
        let root = syntax::read(&source).unwrap_or_else(|finding| panic!("{}", finding.reason));
        let expanded = expand(&root, &source, &env);
        let reasons = expanded.findings.into_iter().map(|finding| finding.reason);
        (expanded.value, reasons.collect())
    }

    #[test]
    fn variables_are_replaced_once_and_stay_text() {
        let cases = [
            ("${HOST}", "gate.example"),
            ("https://${HOST}/v1", "https://gate.example/v1"),
            ("${NONE:-d}-${HOST:-d}", "d-gate.example"),
            ("${NONE:-}", ""),
            ("${EMPTY:-d}", "d"),
            ("${EMPTY}", ""),
            ("${YAML}", "x\nweight: 9 # ${HOST}"),
            ("$${HOST} $$ $5 ^a$", "${HOST} $ $5 ^a$"),
        ];
        for (text, expected) in cases {
            let (value, reasons) = expanded(&format!("a: '{text}'"));
            assert_eq!(value["a"], expected, "{text}");
            assert_eq!(reasons, Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn every_invalid_reference_of_a_scalar_is_reported() {
        let (_, reasons) = expanded("a: '${ONE} ${T W O} ${HOST} ${'\nb: [\"${ONE}\"]");
        let expected = [
            "environment variable `ONE` is not set",
            "invalid variable name",
            "unclosed `${`",
            "environment variable `ONE` is not set",
        ];
        assert_eq!(reasons, expected);
    }
}

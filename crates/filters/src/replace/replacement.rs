//! One replacement, and the texts of a body that replacements change.

use crate::captures;
use headgate_core::filter::descriptor::InvalidSettings;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::pointer::JsonPointer;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind, quoted};
use regex::Regex;
use std::collections::BTreeMap;
use std::ops::Range;

/// A regular expression, and the text in place of its matches.
pub(super) struct Replacement {
    pattern: Regex,
    template: String,
}

/// What the replacements in one message may still search and add.
pub(super) struct ReplacementBudget {
    searched_bytes: usize,
    added_bytes: usize,
    matches: usize,
}

/// A text, or what replaces it, exceeds a budget.
#[derive(Debug)]
pub(super) struct TextBudgetError;

/// Maximum size of all texts of a body that are searched, in bytes.
const SEARCHED_BYTES_MAX: usize = 8 << 20;
/// By how many bytes replacements may lengthen a body.
const ADDED_BYTES_MAX: usize = 1 << 20;
const MATCHES_MAX: usize = 100_000;

impl ReplacementBudget {
    fn for_body() -> Self {
        Self {
            searched_bytes: SEARCHED_BYTES_MAX,
            added_bytes: ADDED_BYTES_MAX,
            matches: MATCHES_MAX,
        }
    }

    /// For a text that may have at most `bytes_max` bytes with its replacements.
    pub fn for_line(text: &str, bytes_max: usize) -> Self {
        Self {
            added_bytes: bytes_max.saturating_sub(text.len()),
            ..Self::for_body()
        }
    }
}

impl Replacement {
    /// # Errors
    /// The pattern is invalid, or the template names a group that it does not have.
    pub fn build(pattern: &str, template: &str) -> Result<Self, InvalidSettings> {
        let pattern = captures::pattern(pattern).map_err(|invalid| invalid.at("/match"))?;
        let checked = captures::check(&pattern, template, "with");
        checked.map_err(|invalid| invalid.at("/with"))?;
        Ok(Self {
            pattern,
            template: template.to_owned(),
        })
    }

    /// The text with all matches replaced; `None` if there is none.
    ///
    /// # Errors
    /// The budget is exceeded.
    pub fn replaced(
        &self,
        text: &str,
        budget: &mut ReplacementBudget,
    ) -> Result<Option<String>, TextBudgetError> {
        let left = budget.searched_bytes.checked_sub(text.len());
        budget.searched_bytes = left.ok_or(TextBudgetError)?;
        let most = text.len() + budget.added_bytes;
        let (mut replaced, mut end) = (String::new(), None);
        for captures in self.pattern.captures_iter(text) {
            budget.matches = budget.matches.checked_sub(1).ok_or(TextBudgetError)?;
            let range = captures.get_match().range();
            replaced.push_str(&text[end.unwrap_or(0)..range.start]);
            captures.expand(&self.template, &mut replaced);
            end = Some(range.end);
            if replaced.len() > most {
                return Err(TextBudgetError);
            }
        }
        let Some(end) = end else { return Ok(None) };
        replaced.push_str(&text[end..]);
        let added = replaced.len().saturating_sub(text.len());
        let left = budget.added_bytes.checked_sub(added);
        budget.added_bytes = left.ok_or(TextBudgetError)?;
        Ok(Some(replaced))
    }
}

/// The edits that the replacements amount to, each on the result of those before it.
///
/// # Errors
/// The budget is exceeded; with the field.
pub(super) fn edits(
    replacements: &[(JsonPointer, Replacement)],
    document: &JsonDocument,
) -> Result<JsonEdits, (String, TextBudgetError)> {
    let mut budget = ReplacementBudget::for_body();
    // The new texts, by the start of the text in the document.
    let mut texts: BTreeMap<usize, (Range<usize>, String)> = BTreeMap::new();
    for (pointer, replacement) in replacements {
        let mut found = Vec::new();
        gather(document.root(), pointer.steps(), &mut found);
        for node in found {
            let span = node.span();
            let replaced = match (texts.get(&span.start), node.as_str()) {
                (Some((_, text)), _) => replacement.replaced(text, &mut budget),
                (None, Some(text)) => replacement.replaced(&text, &mut budget),
                (None, None) => continue,
            };
            if let Some(text) = replaced.map_err(|too_long| (node.path(), too_long))? {
                texts.insert(span.start, (span, text));
            }
        }
    }
    let mut edits = JsonEdits::default();
    for (span, text) in texts.into_values() {
        edits.replace(span, quoted(&text));
    }
    Ok(edits)
}

/// The texts that a pointer names.
fn gather<'d>(node: DocumentNode<'d>, steps: &[String], found: &mut Vec<DocumentNode<'d>>) {
    let Some((step, rest)) = steps.split_first() else {
        if node.kind() == ValueKind::String {
            found.push(node);
        }
        return;
    };
    if step == "*" {
        let members = node.values();
        let children = members.chain(node.elements());
        children.for_each(|child| gather(child, rest, found));
    } else if let Some(child) = child(node, step) {
        gather(child, rest, found);
    }
}

fn child<'d>(node: DocumentNode<'d>, step: &str) -> Option<DocumentNode<'d>> {
    match node.kind() {
        ValueKind::Object => node.get(step),
        ValueKind::Array => node.elements().nth(step.parse().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use headgate_protocol::json::JsonLimits;

    fn replaced(rules: &[(&str, &str, &str)], body: &'static str) -> Result<String, String> {
        let rules: Vec<_> = rules
            .iter()
            .map(|(at, pattern, template)| {
                let replacement = Replacement::build(pattern, template);
                let replacement =
                    replacement.unwrap_or_else(|invalid| panic!("{}", invalid.reason));
                (JsonPointer::parse(at).unwrap(), replacement)
            })
            .collect();
        let body = Bytes::from_static(body.as_bytes());
        let document = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
        let edits = edits(&rules, &document).map_err(|(at, _)| at)?;
        let edited = edits.apply(document.body()).to_bytes();
        Ok(String::from_utf8(edited.to_vec()).unwrap())
    }

    #[test]
    fn texts_change_and_all_else_stays() {
        let body =
            r#"{ "n":1e400, "m":[ {"c":"caf\u00e9 a@b.c", "d":"a@b.c"}, {"c":["a@b.c"]}, 7 ] }"#;
        let mail = r"(?<user>\w+)@[\w.]+";
        for (rules, expected) in [
            (
                &[("/m/*/c", mail, "<$user>")][..],
                r#"{ "n":1e400, "m":[ {"c":"café <a>", "d":"a@b.c"}, {"c":["a@b.c"]}, 7 ] }"#,
            ),
            (
                &[("/m/1/c/0", mail, "x"), ("/m/*/c/*", "x", "\"y\"")],
                r#"{ "n":1e400, "m":[ {"c":"caf\u00e9 a@b.c", "d":"a@b.c"}, {"c":["\"y\""]}, 7 ] }"#,
            ),
            (
                &[
                    ("/m/0/x", mail, "x"),
                    ("/n", "1", "2"),
                    ("/m/*/c", "none", "x"),
                ],
                body,
            ),
        ] {
            assert_eq!(replaced(rules, body).as_deref(), Ok(expected), "{rules:?}");
        }
    }

    #[test]
    fn what_replacements_add_is_bounded() {
        let long = "x".repeat(20_000);
        let body = r#"{"a":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]}"#;
        assert_eq!(
            replaced(&[("/a/*", "a", &long)], body),
            Err("a[1]".to_owned())
        );
        let mut budget = ReplacementBudget::for_line("abc", 5);
        let replacement = Replacement::build("b", "12").unwrap_or_else(|_| panic!());
        assert_eq!(
            replacement.replaced("abc", &mut budget).unwrap().unwrap(),
            "a12c"
        );
        assert!(replacement.replaced("bbbbb", &mut budget).is_err());
    }
}

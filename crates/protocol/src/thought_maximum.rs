//! The most tokens of thoughts that a request allows, of which its response may show nothing.

use super::json::{DocumentNode, JsonDocument};
use super::token_maximum::{REASONING_BUDGETS, count};

/// Members that say how much a model thinks, with the places of their values.
const EFFORTS: [&str; 3] = ["/reasoning_effort", "/reasoning/effort", "/thinking/type"];
/// Members that let a model think.
const SWITCHES: [&str; 4] = [
    "/enable_thinking",
    "/reasoning/enabled",
    "/chat_template_kwargs/enable_thinking",
    "/chat_template_kwargs/thinking",
];
/// Members whose object lets a model think, unless it says otherwise.
const OBJECTS: [&str; 2] = ["/reasoning", "/thinking"];
/// Values of [`EFFORTS`] with which a model does not think.
const NO_EFFORT: [&str; 2] = ["none", "disabled"];

/// The most tokens of thoughts that a request allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThoughtMaximum {
    /// The request does not ask for thoughts.
    Unasked,
    Tokens(u64),
    /// As many as the limit of the output.
    Unlimited,
}

impl ThoughtMaximum {
    pub fn from_body(body: &JsonDocument) -> Self {
        let root = body.root();
        let at = |path: &&str| root.pointer(path);
        let efforts = EFFORTS.iter().filter_map(at);
        let mut efforts = efforts.filter_map(DocumentNode::as_str).peekable();
        let is_named = efforts.peek().is_some();
        let is_none = efforts.all(|effort| NO_EFFORT.contains(&&*effort));
        let budgets = REASONING_BUDGETS.iter().filter_map(at);
        let budget = budgets.filter_map(count).max();
        let is_on = |value: DocumentNode<'_>| value.raw() == b"true";
        let is_switched_on = SWITCHES.iter().filter_map(at).any(is_on);
        let is_object = |value: DocumentNode<'_>| value.raw().starts_with(b"{");
        let has_object = OBJECTS.iter().filter_map(at).any(is_object);
        match budget {
            Some(tokens) if tokens > 0 => Self::Tokens(tokens),
            _ if is_named && !is_none || is_switched_on => Self::Unlimited,
            None if has_object && !is_named => Self::Unlimited,
            _ => Self::Unasked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonLimits;
    use bytes::Bytes;

    #[test]
    fn a_request_allows_thoughts_by_its_budget_its_effort_or_a_switch() {
        use ThoughtMaximum::{Tokens, Unasked, Unlimited};
        for (body, expected) in [
            ("{}", Unasked),
            (r#"{"reasoning_effort":"high"}"#, Unlimited),
            (r#"{"reasoning_effort":"none"}"#, Unasked),
            (r#"{"reasoning_effort":null}"#, Unasked),
            (r#"{"reasoning":{"effort":"low"}}"#, Unlimited),
            (r#"{"reasoning":{"effort":"none"}}"#, Unasked),
            (r#"{"reasoning":{"summary":"auto"}}"#, Unlimited),
            (r#"{"reasoning":{"max_tokens":2000}}"#, Tokens(2000)),
            (
                r#"{"thinking":{"type":"enabled","budget_tokens":1024}}"#,
                Tokens(1024),
            ),
            (r#"{"thinking":{"type":"adaptive"}}"#, Unlimited),
            (r#"{"thinking":{"type":"disabled"}}"#, Unasked),
            (r#"{"thinking_budget":0}"#, Unasked),
            (r#"{"thinking_budget":"512"}"#, Tokens(512)),
            (r#"{"enable_thinking":true}"#, Unlimited),
            (
                r#"{"enable_thinking":true,"thinking_budget":70}"#,
                Tokens(70),
            ),
            (r#"{"chat_template_kwargs":{"thinking":true}}"#, Unlimited),
        ] {
            let bytes = Bytes::copy_from_slice(body.as_bytes());
            let document = JsonDocument::parse(bytes, &JsonLimits::default()).unwrap();
            assert_eq!(ThoughtMaximum::from_body(&document), expected, "{body}");
        }
    }
}

//! Functions in place of tools that take free text.

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::{Grammar, Tool};

/// The schema of their arguments.
pub const SCHEMA: &str = r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}"#;

pub fn note_function(tool: &Tool<'_>, ledger: &mut Ledger) {
    let reason = "is a function with the text as `input` here";
    ledger.add(tool.at, FieldOutcome::Approximated, reason);
}

/// The description of a tool of free text, with what its text must match.
pub fn description_with_grammar<'a>(
    description: Option<&EscapedText<'a>>,
    grammar: Option<&Grammar<'a>>,
) -> EscapedText<'a> {
    let mut whole = description.cloned().unwrap_or_default();
    if let Some(grammar) = grammar {
        if !whole.is_empty() {
            whole.push(&EscapedText::literal(r"\n\n"));
        }
        whole.push(&EscapedText::literal(
            "The input must match this grammar in the syntax ",
        ));
        whole.push(&grammar.syntax);
        whole.push(&EscapedText::literal(r":\n"));
        whole.push(&grammar.definition);
    }
    whole
}

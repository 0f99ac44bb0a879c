//! What the writers of several protocols say of the tools of a request.

use crate::escaped_text::EscapedText;
use crate::free_text_tools::description_with_grammar;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::{Grammar, Request, ToolSignature};

/// Why a strict tool is not sent as one.
pub const NOT_STRICT: &str = "is sent without `strict`, which the channel's model does not take";

/// Refuses the tools that only their provider runs.
pub fn note_provider_tools(request: &Request<'_>, ledger: &mut Ledger) {
    for tool in &request.tools {
        if let ToolSignature::Provider(_) = tool.definition {
            let reason = "is a tool that only its provider runs; remove it, or use a channel of this protocol";
            ledger.add(tool.at, FieldOutcome::Refused, reason);
        }
    }
}

/// Writes the description of a function in place of a tool of free text, if it has one.
pub fn write_free_text_description(
    description: Option<&EscapedText<'_>>,
    grammar: Option<&Grammar<'_>>,
    json: &mut JsonWriter,
) {
    let description = description_with_grammar(description, grammar);
    if !description.is_empty() {
        json.key("description").text(&description);
    }
}

//! Writes the tools of a request, and the choice between them.

use super::content::write_cache_mark;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Request, Tool, ToolCallChoice, ToolSignature};
use crate::tool_names::sent_name;
use headgate_protocol::conversation::ConversationFormat;

/// A tool without a schema takes no arguments.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;
/// The schema of a function in place of a tool of free text.
const FREE_TEXT: &str = r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}"#;

pub(super) fn write_tools(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let is_own = |tool: &&Tool<'_>| !matches!(tool.definition, ToolSignature::Provider(_));
    for tool in request.tools.iter().filter(|tool| !is_own(tool)) {
        let reason =
            "is a tool that only its provider runs; remove it, or use a channel of this protocol";
        ledger.add(tool.at, FieldOutcome::Refused, reason);
    }
    // Without tools there is nothing to choose from.
    if !request.tools.iter().any(|tool| is_own(&tool)) {
        return;
    }
    json.key("tools").begin_array();
    for tool in request.tools.iter().filter(is_own) {
        write_tool(tool, json, ledger);
    }
    json.end_array();
    write_choice(request, json, ledger);
}

fn write_tool(tool: &Tool<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let (name, description, parameters, strict) = match &tool.definition {
        ToolSignature::Function {
            name,
            description,
            parameters,
            strict,
        } => (
            name,
            description,
            parameters.unwrap_or(NO_PARAMETERS),
            *strict,
        ),
        ToolSignature::Custom {
            name, description, ..
        } => {
            let reason = "is a function with the text as `input` here";
            ledger.add(tool.at, FieldOutcome::Approximated, reason);
            (name, description, FREE_TEXT, None)
        }
        ToolSignature::Provider(_) => return,
    };
    json.begin_object();
    json.key("name")
        .text(&sent_name(name, ConversationFormat::Messages));
    if let Some(description) = description {
        json.key("description").text(description);
    }
    json.key("input_schema").raw(parameters);
    if strict == Some(true) {
        json.key("strict").bool(true);
    }
    write_cache_mark(tool.cache.as_ref(), json, ledger);
    json.end_object();
}

/// Writes the choice; whether several calls are allowed is a member of it.
fn write_choice(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let is_single = request.parallel_tool_calls == Some(false);
    let (mode, name): (&'static str, Option<&EscapedText<'_>>) = match &request.tool_choice {
        None if !is_single => return,
        None | Some(ToolCallChoice::Auto) => ("auto", None),
        Some(ToolCallChoice::None) => ("none", None),
        Some(ToolCallChoice::Required) => ("any", None),
        Some(ToolCallChoice::Function(name)) => ("tool", Some(name)),
        Some(ToolCallChoice::Allowed { names, required }) => match (names.as_slice(), required) {
            ([name], true) => ("tool", Some(name)),
            _ => {
                let reason = "allows several tools out of all, which the messages protocol cannot say; send only these as `tools`";
                let at = request.body.get("tool_choice").unwrap_or(request.body);
                ledger.add(at, FieldOutcome::Refused, reason);
                ("auto", None)
            }
        },
    };
    json.key("tool_choice").begin_object();
    json.key("type").literal(mode);
    if let Some(name) = name {
        json.key("name")
            .text(&sent_name(name, ConversationFormat::Messages));
    }
    if is_single && mode != "none" {
        json.key("disable_parallel_tool_use").bool(true);
    }
    json.end_object();
}

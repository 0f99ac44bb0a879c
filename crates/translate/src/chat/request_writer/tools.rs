//! Writes the tools of a request, and the choice between them.

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
    if let Some(choice) = &request.tool_choice {
        json.key("tool_choice");
        write_choice(choice, json);
    }
    if let Some(parallel) = request.parallel_tool_calls {
        json.key("parallel_tool_calls").bool(parallel);
    }
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
            name,
            description,
            grammar,
        } => {
            let outcome = match grammar {
                None => FieldOutcome::Approximated,
                Some(_) => FieldOutcome::Dropped,
            };
            ledger.add(
                tool.at,
                outcome,
                "is a function with the text as `input` here",
            );
            (name, description, FREE_TEXT, None)
        }
        ToolSignature::Provider(_) => return,
    };
    json.begin_object().key("type").literal("function");
    let name = sent_name(name, ConversationFormat::Chat);
    json.key("function").begin_object().key("name").text(&name);
    if let Some(description) = description {
        json.key("description").text(description);
    }
    json.key("parameters").raw(parameters);
    if let Some(strict) = strict {
        json.key("strict").bool(strict);
    }
    json.end_object().end_object();
}

fn write_choice(choice: &ToolCallChoice<'_>, json: &mut JsonWriter) {
    match choice {
        ToolCallChoice::Auto => {
            json.literal("auto");
        }
        ToolCallChoice::None => {
            json.literal("none");
        }
        ToolCallChoice::Required => {
            json.literal("required");
        }
        ToolCallChoice::Function(name) => write_function_name(name, json),
        ToolCallChoice::Allowed { names, required } => {
            json.begin_object().key("type").literal("allowed_tools");
            json.key("allowed_tools").begin_object().key("mode");
            json.literal(if *required { "required" } else { "auto" });
            json.key("tools").begin_array();
            for name in names {
                write_function_name(name, json);
            }
            json.end_array().end_object().end_object();
        }
    }
}

fn write_function_name(name: &EscapedText<'_>, json: &mut JsonWriter) {
    json.begin_object().key("type").literal("function");
    let name = sent_name(name, ConversationFormat::Chat);
    json.key("function").begin_object().key("name").text(&name);
    json.end_object().end_object();
}

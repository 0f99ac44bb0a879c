//! Writes the tools of a request, and the choice between them.

use crate::escaped_text::EscapedText;
use crate::free_text_tools::{SCHEMA, description_with_grammar, note_function};
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Request, Tool, ToolCallChoice, ToolSignature};
use crate::tool_names::sent_name;
use headgate_protocol::conversation::ProviderFormat;

/// A tool without a schema takes no arguments.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;
pub(super) fn write_tools(
    request: &Request<'_>,
    takes_custom: bool,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
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
        match &tool.definition {
            ToolSignature::Custom { .. } if !takes_custom => {
                note_function(tool, ledger);
                write_function_in_place(tool, json);
            }
            ToolSignature::Function { .. }
            | ToolSignature::Custom { .. }
            | ToolSignature::Provider(_) => write_tool(tool, json),
        }
    }
    json.end_array();
    if let Some(choice) = &request.tool_choice {
        json.key("tool_choice");
        write_choice(request, choice, takes_custom, json);
    }
    if let Some(parallel) = request.parallel_tool_calls {
        json.key("parallel_tool_calls").bool(parallel);
    }
}

/// Writes a function in place of a tool of free text.
fn write_function_in_place(tool: &Tool<'_>, json: &mut JsonWriter) {
    let ToolSignature::Custom {
        name,
        description,
        grammar,
    } = &tool.definition
    else {
        return;
    };
    begin_named("function", name, json);
    let description = description_with_grammar(description.as_ref(), grammar.as_ref());
    if !description.is_empty() {
        json.key("description").text(&description);
    }
    json.key("parameters").raw(SCHEMA).end_object().end_object();
}

fn write_tool(tool: &Tool<'_>, json: &mut JsonWriter) {
    match &tool.definition {
        ToolSignature::Function {
            name,
            description,
            parameters,
            strict,
        } => {
            begin_named("function", name, json);
            if let Some(description) = description {
                json.key("description").text(description);
            }
            json.key("parameters");
            json.raw(parameters.unwrap_or(NO_PARAMETERS));
            if let Some(strict) = strict {
                json.key("strict").bool(*strict);
            }
        }
        ToolSignature::Custom {
            name,
            description,
            grammar,
        } => {
            begin_named("custom", name, json);
            if let Some(description) = description {
                json.key("description").text(description);
            }
            if let Some(grammar) = grammar {
                json.key("format").begin_object();
                json.key("type").literal("grammar");
                json.key("grammar").begin_object();
                json.key("syntax").text(&grammar.syntax);
                json.key("definition").text(&grammar.definition);
                json.end_object().end_object();
            }
        }
        ToolSignature::Provider(_) => return,
    }
    json.end_object().end_object();
}

fn write_choice(
    request: &Request<'_>,
    choice: &ToolCallChoice<'_>,
    takes_custom: bool,
    json: &mut JsonWriter,
) {
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
        ToolCallChoice::Function(name) => write_tool_name(request, name, takes_custom, json),
        ToolCallChoice::Allowed { names, required } => {
            json.begin_object().key("type").literal("allowed_tools");
            json.key("allowed_tools").begin_object().key("mode");
            json.literal(if *required { "required" } else { "auto" });
            json.key("tools").begin_array();
            for name in names {
                write_tool_name(request, name, takes_custom, json);
            }
            json.end_array().end_object().end_object();
        }
    }
}

fn write_tool_name(
    request: &Request<'_>,
    name: &EscapedText<'_>,
    takes_custom: bool,
    json: &mut JsonWriter,
) {
    let mut tools = request.tools.iter();
    let is_custom = tools.any(|tool| match &tool.definition {
        ToolSignature::Custom { name: custom, .. } => custom.decoded() == name.decoded(),
        ToolSignature::Function { .. } | ToolSignature::Provider(_) => false,
    });
    let kind = if is_custom && takes_custom {
        "custom"
    } else {
        "function"
    };
    begin_named(kind, name, json);
    json.end_object().end_object();
}

/// Begins a tool of a kind, or a mention of it.
fn begin_named(kind: &'static str, name: &EscapedText<'_>, json: &mut JsonWriter) {
    json.begin_object().key("type").literal(kind);
    let name = sent_name(name, ProviderFormat::Chat);
    json.key(kind).begin_object().key("name").text(&name);
}

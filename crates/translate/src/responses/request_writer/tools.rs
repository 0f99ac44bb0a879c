//! Writes the tools of a request, and the choice between them.

use crate::escaped_text::EscapedText;
use crate::json_schema::write_parameters;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Grammar, Request, Tool, ToolCallChoice, ToolSignature};
use crate::tool_names::sent_name;
use headgate_protocol::conversation::ProviderFormat;

/// Writes what a request says of tools; nothing if no tool remains.
pub(super) fn write_tools(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let mut has_tools = false;
    for tool in &request.tools {
        if let ToolSignature::Provider(name) = &tool.definition {
            let name = name.as_written();
            let reason = format!(
                "is of type `{name:.64}`, which has no counterpart in the responses protocol"
            );
            ledger.add(tool.at, FieldOutcome::Refused, reason);
            continue;
        }
        if !std::mem::replace(&mut has_tools, true) {
            json.key("tools").begin_array();
        }
        write_tool(tool, json);
    }
    if !has_tools {
        return;
    }
    json.end_array();
    if let Some(choice) = &request.tool_choice {
        write_choice(choice, &request.tools, json.key("tool_choice"));
    }
    if let Some(parallel) = request.parallel_tool_calls {
        json.key("parallel_tool_calls").bool(parallel);
    }
}

fn write_tool(tool: &Tool<'_>, json: &mut JsonWriter) {
    match &tool.definition {
        ToolSignature::Function {
            name,
            description,
            parameters,
            strict,
        } => {
            begin_tool("function", name, description.as_ref(), json);
            write_parameters(*parameters, json.key("parameters"));
            // The protocol's default is true, those of the others are false.
            json.key("strict").bool(strict.unwrap_or(false));
            json.end_object();
        }
        ToolSignature::Custom {
            name,
            description,
            grammar,
        } => {
            begin_tool("custom", name, description.as_ref(), json);
            if let Some(grammar) = grammar {
                write_grammar(grammar, json.key("format"));
            }
            json.end_object();
        }
        ToolSignature::Provider(_) => {}
    }
}

fn begin_tool(
    kind: &'static str,
    name: &EscapedText<'_>,
    description: Option<&EscapedText<'_>>,
    json: &mut JsonWriter,
) {
    json.begin_object().key("type").literal(kind);
    let name = sent_name(name, ProviderFormat::Responses);
    json.key("name").text(&name);
    if let Some(description) = description {
        json.key("description").text(description);
    }
}

fn write_grammar(grammar: &Grammar<'_>, json: &mut JsonWriter) {
    json.begin_object().key("type").literal("grammar");
    json.key("syntax").text(&grammar.syntax);
    json.key("definition").text(&grammar.definition);
    json.end_object();
}

fn write_choice(choice: &ToolCallChoice<'_>, tools: &[Tool<'_>], json: &mut JsonWriter) {
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
        ToolCallChoice::Function(name) => write_named(name, tools, json),
        ToolCallChoice::Allowed { names, required } => {
            json.begin_object().key("type").literal("allowed_tools");
            let mode = if *required { "required" } else { "auto" };
            json.key("mode").literal(mode);
            json.key("tools").begin_array();
            for name in names {
                write_named(name, tools, json);
            }
            json.end_array().end_object();
        }
    }
}

/// Names a tool, with its type.
fn write_named(name: &EscapedText<'_>, tools: &[Tool<'_>], json: &mut JsonWriter) {
    let is_this = |tool: &Tool<'_>| match &tool.definition {
        ToolSignature::Custom { name: custom, .. } => custom.decoded() == name.decoded(),
        ToolSignature::Function { .. } | ToolSignature::Provider(_) => false,
    };
    let kind = match tools.iter().any(is_this) {
        true => "custom",
        false => "function",
    };
    begin_tool(kind, name, None, json);
    json.end_object();
}

//! Writes the tools of a request, and the choice between them.

use super::content::write_cache_mark;
use crate::dialect::MessagesDialect;
use crate::escaped_text::EscapedText;
use crate::free_text_tools::{SCHEMA, note_function};
use crate::json_schema::{write_closed_parameters, write_parameters};
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Request, Tool, ToolCallChoice, ToolSignature};
use crate::tool_declarations::{NOT_STRICT, note_provider_tools, write_free_text_description};
use crate::tool_names::sent_name;
use headgate_protocol::conversation::ProviderFormat;

pub(super) fn write_tools(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    note_provider_tools(request, ledger);
    let mut tools = request.tools.iter().filter(|tool| is_sent(tool, request));
    let Some(first) = tools.next() else {
        // Without tools there is nothing to choose from.
        return;
    };
    json.key("tools").begin_array();
    for tool in std::iter::once(first).chain(tools) {
        write_tool(tool, dialect, json, ledger);
    }
    json.end_array();
    write_choice(request, json, ledger);
}

/// Whether a tool may be called. The protocol has no choice of several tools out of all, so that others are not sent.
fn is_sent(tool: &Tool<'_>, request: &Request<'_>) -> bool {
    tool.name().is_some_and(|name| request.allows_tool(name))
}

fn write_tool(
    tool: &Tool<'_>,
    dialect: &MessagesDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.begin_object();
    match &tool.definition {
        ToolSignature::Function {
            name,
            description,
            parameters,
            strict,
        } => {
            write_name(name, json);
            if let Some(description) = description {
                json.key("description").text(description);
            }
            json.key("input_schema");
            match parameters.filter(|_| *strict == Some(true)) {
                Some(schema) if dialect.structured_outputs => {
                    write_closed_parameters(schema, json, ledger);
                    json.key("strict").bool(true);
                }
                Some(_) => {
                    ledger.add(tool.at, FieldOutcome::Approximated, NOT_STRICT);
                    write_parameters(*parameters, json);
                }
                None => write_parameters(*parameters, json),
            }
        }
        ToolSignature::Custom {
            name,
            description,
            grammar,
        } => {
            note_function(tool, ledger);
            write_name(name, json);
            write_free_text_description(description.as_ref(), grammar.as_ref(), json);
            json.key("input_schema").raw(SCHEMA);
        }
        ToolSignature::Provider(_) => {}
    }
    write_cache_mark(tool.cache.as_ref(), json, ledger);
    json.end_object();
}

fn write_name(name: &EscapedText<'_>, json: &mut JsonWriter) {
    let name = sent_name(name, ProviderFormat::Messages);
    json.key("name").text(&name);
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
        Some(ToolCallChoice::Allowed { required, .. }) => {
            let reason = "is sent as these tools alone";
            let at = request.body.get("tool_choice").unwrap_or(request.body);
            ledger.add(at, FieldOutcome::Approximated, reason);
            (if *required { "any" } else { "auto" }, None)
        }
    };
    json.key("tool_choice").begin_object();
    json.key("type").literal(mode);
    if let Some(name) = name {
        write_name(name, json);
    }
    if is_single && mode != "none" {
        json.key("disable_parallel_tool_use").bool(true);
    }
    json.end_object();
}

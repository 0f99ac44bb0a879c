//! Writes the tools of a request, and the choice between them.

use super::marks::note_mark;
use crate::escaped_text::EscapedText;
use crate::free_text_tools::{SCHEMA, note_function};
use crate::json_schema::{has_no_parameters, write_parameters_with_plain_references};
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Request, Tool, ToolCallChoice, ToolSignature};
use crate::tool_declarations::{note_provider_tools, write_free_text_description};
use crate::tool_names::sent_name;
use headgate_protocol::conversation::ProviderFormat;

pub(super) fn write_tools(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    note_single_calls(request, ledger);
    note_provider_tools(request, ledger);
    let mut is_open = false;
    for tool in &request.tools {
        if let ToolSignature::Provider(_) = tool.definition {
            continue;
        }
        if !std::mem::replace(&mut is_open, true) {
            json.key("tools").begin_array().begin_object();
            json.key("functionDeclarations").begin_array();
        }
        write_tool(tool, json, ledger);
    }
    // Without tools there is nothing to choose from.
    if is_open {
        json.end_array().end_object().end_array();
        write_choice(request, json);
    }
}

fn write_tool(tool: &Tool<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    note_mark(tool.cache.as_ref(), ledger);
    json.begin_object();
    match &tool.definition {
        ToolSignature::Function {
            name,
            description,
            parameters,
            strict: _,
        } => {
            write_name(name, json);
            if let Some(description) = description {
                json.key("description").text(description);
            }
            if let Some(schema) = parameters.filter(|schema| !has_no_parameters(*schema)) {
                json.key("parametersJsonSchema");
                write_parameters_with_plain_references(schema, json, ledger);
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
            json.key("parametersJsonSchema").raw(SCHEMA);
        }
        ToolSignature::Provider(_) => {}
    }
    json.end_object();
}

fn write_name(name: &EscapedText<'_>, json: &mut JsonWriter) {
    let name = sent_name(name, ProviderFormat::Gemini);
    json.key("name").text(&name);
}

fn write_choice(request: &Request<'_>, json: &mut JsonWriter) {
    let Some(choice) = &request.tool_choice else {
        return;
    };
    let (mode, names) = match choice {
        ToolCallChoice::Auto => ("AUTO", &[][..]),
        ToolCallChoice::None => ("NONE", &[][..]),
        ToolCallChoice::Required => ("ANY", &[][..]),
        ToolCallChoice::Function(name) => ("ANY", std::slice::from_ref(name)),
        ToolCallChoice::Allowed { names, required } => match required {
            true => ("ANY", &**names),
            // Calls or texts, and of calls only those.
            false => ("VALIDATED", &**names),
        },
    };
    json.key("toolConfig").begin_object();
    json.key("functionCallingConfig").begin_object();
    json.key("mode").literal(mode);
    if !names.is_empty() {
        json.key("allowedFunctionNames").begin_array();
        for name in names {
            json.text(&sent_name(name, ProviderFormat::Gemini));
        }
        json.end_array();
    }
    json.end_object().end_object();
}

/// Models may always call several tools at once.
fn note_single_calls(request: &Request<'_>, ledger: &mut Ledger) {
    if request.parallel_tool_calls != Some(false) {
        return;
    }
    let found = request.parallel_calls_member();
    let reason = "asks for one call at a time, and models of the gemini protocol may always make several; remove it, or let the route drop it with `on_loss: drop`";
    ledger.add(found.unwrap_or(request.body), FieldOutcome::Refused, reason);
}

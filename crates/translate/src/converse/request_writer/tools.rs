//! Writes the tools of a request, and the choice between them.

use super::content::write_cache_point;
use crate::dialect::ModelFamily;
use crate::escaped_text::EscapedText;
use crate::free_text_tools::{SCHEMA, note_function};
use crate::json_schema::{write_closed_parameters, write_parameters};
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Part, PartKind, Request, Tool, ToolCallChoice, ToolSignature};
use crate::tool_declarations::{NOT_STRICT, note_provider_tools, write_free_text_description};
use crate::tool_names::sent_name;
use headgate_protocol::conversation::ProviderFormat;

/// Writes what a request says of tools.
pub(super) struct ToolWriter<'w> {
    pub family: ModelFamily,
    /// Whether the model is held to the schemas of strict tools.
    pub structured_outputs: bool,
    pub json: &'w mut JsonWriter,
    pub ledger: &'w mut Ledger,
}

impl ToolWriter<'_> {
    /// `has_choice` is whether the choice between the tools is written already.
    pub fn write(&mut self, request: &Request<'_>, has_choice: bool) {
        note_provider_tools(request, self.ledger);
        let sent: Vec<&Tool<'_>> = request
            .tools
            .iter()
            .filter(|tool| is_sent(tool, request))
            .collect();
        let has_calls = has_calls(request);
        if sent.is_empty() {
            if has_calls {
                let reason = "is missing, and the converse protocol demands the tools of a conversation that has calls; send them again";
                self.ledger
                    .add_path("tools".to_owned(), FieldOutcome::Refused, reason);
            }
            return;
        }
        if matches!(request.tool_choice, Some(ToolCallChoice::None)) {
            let at = request.body.get("tool_choice").unwrap_or(request.body);
            if !has_calls {
                let reason = "is sent as no tools";
                self.ledger.add(at, FieldOutcome::Approximated, reason);
                return;
            }
            let reason = "forbids calls, which the converse protocol cannot in a conversation that has some; remove it, or let the route drop it with `on_loss: drop`";
            self.ledger.add(at, FieldOutcome::Refused, reason);
        }
        self.json.key("toolConfig").begin_object();
        self.json.key("tools").begin_array();
        for tool in sent {
            self.write_tool(tool);
            write_cache_point(tool.cache.as_ref(), self.family, self.json, self.ledger);
        }
        self.json.end_array();
        write_choice(request, has_choice, self.json, self.ledger);
        self.json.end_object();
    }

    fn write_tool(&mut self, tool: &Tool<'_>) {
        self.json.begin_object().key("toolSpec").begin_object();
        match &tool.definition {
            ToolSignature::Function {
                name,
                description,
                parameters,
                strict,
            } => {
                write_name(name, self.json);
                // An empty one is refused.
                if let Some(description) = description.as_ref().filter(|it| !it.is_empty()) {
                    self.json.key("description").text(description);
                }
                let schema = parameters.filter(|_| *strict == Some(true));
                self.json.key("inputSchema").begin_object().key("json");
                match schema {
                    Some(schema) if self.structured_outputs => {
                        write_closed_parameters(schema, self.json, self.ledger);
                        self.json.end_object().key("strict").bool(true);
                    }
                    Some(_) | None => {
                        write_parameters(*parameters, self.json);
                        self.json.end_object();
                    }
                }
                if schema.is_some() && !self.structured_outputs {
                    let outcome = FieldOutcome::Approximated;
                    self.ledger.add(tool.at, outcome, NOT_STRICT);
                }
            }
            ToolSignature::Custom {
                name,
                description,
                grammar,
            } => {
                note_function(tool, self.ledger);
                write_name(name, self.json);
                write_free_text_description(description.as_ref(), grammar.as_ref(), self.json);
                self.json.key("inputSchema").begin_object();
                self.json.key("json").raw(SCHEMA).end_object();
            }
            ToolSignature::Provider(_) => {}
        }
        self.json.end_object().end_object();
    }
}

/// Whether the conversation has calls or results of tools.
fn has_calls(request: &Request<'_>) -> bool {
    let is_call = |part: &Part<'_>| {
        matches!(
            part.kind,
            PartKind::ToolCall { .. } | PartKind::ToolResult { .. }
        )
    };
    let mut turns = request.turns.iter();
    turns.any(|turn| turn.parts.iter().any(is_call))
}

/// Whether a tool may be called. The protocol has no choice of several tools out of all, so that others are not sent.
fn is_sent(tool: &Tool<'_>, request: &Request<'_>) -> bool {
    tool.name().is_some_and(|name| request.allows_tool(name))
}

fn write_name(name: &EscapedText<'_>, json: &mut JsonWriter) {
    let name = sent_name(name, ProviderFormat::Converse);
    json.key("name").text(&name);
}

fn write_choice(
    request: &Request<'_>,
    has_choice: bool,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let (mode, name): (&'static str, Option<&EscapedText<'_>>) = match &request.tool_choice {
        None | Some(ToolCallChoice::None) => return,
        Some(ToolCallChoice::Auto) => ("auto", None),
        Some(ToolCallChoice::Required) => ("any", None),
        Some(ToolCallChoice::Function(name)) => ("tool", Some(name)),
        Some(ToolCallChoice::Allowed { required, .. }) => {
            let reason = "is sent as these tools alone";
            let at = request.body.get("tool_choice").unwrap_or(request.body);
            ledger.add(at, FieldOutcome::Approximated, reason);
            (if *required { "any" } else { "auto" }, None)
        }
    };
    if has_choice {
        return;
    }
    json.key("toolChoice").begin_object();
    json.key(mode).begin_object();
    if let Some(name) = name {
        write_name(name, json);
    }
    json.end_object().end_object();
}

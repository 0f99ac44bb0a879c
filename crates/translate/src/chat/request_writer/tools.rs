//! Writes the tools of a request, and the choice between them.

use crate::dialect::{ChatDialect, ChatToolSupport, ForcedCalls};
use crate::escaped_text::EscapedText;
use crate::free_text_tools::{SCHEMA, note_function};
use crate::json_schema::write_parameters;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{ReasoningEffort, Request, Tool, ToolCallChoice, ToolSignature};
use crate::tool_declarations::{note_provider_tools, write_free_text_description};
use crate::tool_names::sent_name;
use headgate_protocol::conversation::ProviderFormat;

/// Writes the tools that the provider may call, and the choice between them. Whether the model must not think, since it must
/// call one.
pub(super) fn write_tools(
    request: &Request<'_>,
    dialect: &ChatDialect,
    takes_custom: bool,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) -> bool {
    note_provider_tools(request, ledger);
    let support = &dialect.tools;
    let mut tools = request.tools.iter();
    let is_sent = |tool: &&Tool<'_>| is_sent(request, tool, support);
    // Without tools there is nothing to choose from.
    if !tools.any(|tool| is_sent(&tool)) {
        return false;
    }
    json.key("tools").begin_array();
    for tool in request.tools.iter().filter(is_sent) {
        note_strict(tool, support, ledger);
        match &tool.definition {
            ToolSignature::Custom { .. } if !takes_custom => {
                note_function(tool, ledger);
                write_function_in_place(tool, json);
            }
            ToolSignature::Function { .. }
            | ToolSignature::Custom { .. }
            | ToolSignature::Provider(_) => write_tool(tool, support, json),
        }
    }
    json.end_array();
    let at = request.body.get("tool_choice");
    let choice = request.tool_choice.as_ref();
    if let Some(choice) = choice.filter(|choice| !is_default(choice, support))
        && dialect.members.begin("tool_choice", at, json, ledger)
    {
        ChoiceWriter {
            request,
            support,
            takes_custom,
        }
        .write(choice, json, ledger);
    }
    write_parallel(request, dialect, json, ledger);
    if !support.with_thoughts {
        note_without_thoughts(request, ledger);
        return true;
    }
    let without_thoughts =
        support.forced_calls == ForcedCalls::WithoutThoughts && request.must_call_tool();
    if without_thoughts {
        let reason = "is sent without thoughts, since the channel's model does not think before a call that it must make";
        let at = at.unwrap_or(request.body);
        ledger.add(at, FieldOutcome::Approximated, reason);
    }
    without_thoughts
}

/// Notes that a model which has tools does not think, unless the caller wants that anyway.
fn note_without_thoughts(request: &Request<'_>, ledger: &mut Ledger) {
    let reasoning = &request.reasoning;
    let is_off =
        reasoning.is_enabled == Some(false) || reasoning.effort == Some(ReasoningEffort::None);
    if let Some(tools) = request.body.get("tools").filter(|_| !is_off) {
        let reason = "is sent without thoughts, since the channel's model does not think in the chat protocol while it has tools; a channel of the responses protocol lets it";
        ledger.add(tools, FieldOutcome::Approximated, reason);
    }
}

fn write_parallel(
    request: &Request<'_>,
    dialect: &ChatDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let Some(parallel) = request.parallel_tool_calls else {
        return;
    };
    let at = request.parallel_calls_member();
    let members = &dialect.members;
    if members.begin("parallel_tool_calls", at, json, ledger) {
        json.bool(parallel);
    }
}

/// Whether a tool may be called. Where the choice cannot be several tools out of all, others are not sent.
fn is_sent(request: &Request<'_>, tool: &Tool<'_>, support: &ChatToolSupport) -> bool {
    tool.name()
        .is_some_and(|name| support.allowed_tools || request.allows_tool(name))
}

/// Whether a choice is what the provider does without one: some refuse any choice while the model thinks.
fn is_default(choice: &ToolCallChoice<'_>, support: &ChatToolSupport) -> bool {
    matches!(choice, ToolCallChoice::Auto) && support.forced_calls == ForcedCalls::WithoutThoughts
}

fn note_strict(tool: &Tool<'_>, support: &ChatToolSupport, ledger: &mut Ledger) {
    if let ToolSignature::Function {
        strict: Some(true), ..
    } = tool.definition
        && !support.strict
    {
        let reason = "is sent without `strict`, which the channel's provider does not have";
        ledger.add(tool.at, FieldOutcome::Approximated, reason);
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
    write_free_text_description(description.as_ref(), grammar.as_ref(), json);
    json.key("parameters").raw(SCHEMA).end_object().end_object();
}

fn write_tool(tool: &Tool<'_>, support: &ChatToolSupport, json: &mut JsonWriter) {
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
            write_parameters(*parameters, json.key("parameters"));
            if let Some(strict) = strict.filter(|_| support.strict) {
                json.key("strict").bool(strict);
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

/// Writes which tools the model must call.
struct ChoiceWriter<'w> {
    request: &'w Request<'w>,
    support: &'w ChatToolSupport,
    takes_custom: bool,
}

impl ChoiceWriter<'_> {
    fn write(&self, choice: &ToolCallChoice<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
        if self.support.forced_calls == ForcedCalls::Refused && self.request.must_call_tool() {
            let reason = "forces a call, which the channel's provider does not take; send `auto`";
            self.note(FieldOutcome::Refused, reason, ledger);
            json.literal("auto");
            return;
        }
        match choice {
            ToolCallChoice::Auto => {
                json.literal("auto");
            }
            ToolCallChoice::None => {
                json.literal("none");
            }
            ToolCallChoice::Required => self.write_required(json, ledger),
            ToolCallChoice::Function(name) => self.write_name(name, json),
            ToolCallChoice::Allowed { required, .. } if !self.support.allowed_tools => {
                let reason = "is sent as these tools alone";
                self.note(FieldOutcome::Approximated, reason, ledger);
                match required {
                    true => self.write_required(json, ledger),
                    false => {
                        json.literal("auto");
                    }
                }
            }
            ToolCallChoice::Allowed { names, required } => {
                json.begin_object().key("type").literal("allowed_tools");
                json.key("allowed_tools").begin_object().key("mode");
                json.literal(if *required { "required" } else { "auto" });
                json.key("tools").begin_array();
                for name in names {
                    self.write_name(name, json);
                }
                json.end_array().end_object().end_object();
            }
        }
    }

    /// Any of the tools. Providers that do not take that get the name of the only one.
    fn write_required(&self, json: &mut JsonWriter, ledger: &mut Ledger) {
        if self.support.required {
            json.literal("required");
            return;
        }
        let tools = self.request.tools.iter();
        let mut sent = tools.filter(|tool| is_sent(self.request, tool, self.support));
        let only = sent.next().filter(|_| sent.next().is_none());
        match only.and_then(Tool::name) {
            Some(name) => self.write_name(name, json),
            None => {
                let reason = "demands a call of any tool, which the channel's provider does not take; name one, or send `auto`";
                self.note(FieldOutcome::Refused, reason, ledger);
                json.literal("auto");
            }
        }
    }

    fn write_name(&self, name: &EscapedText<'_>, json: &mut JsonWriter) {
        let mut tools = self.request.tools.iter();
        let is_custom = tools.any(|tool| match &tool.definition {
            ToolSignature::Custom { name: custom, .. } => custom.decoded() == name.decoded(),
            ToolSignature::Function { .. } | ToolSignature::Provider(_) => false,
        });
        let kind = match is_custom && self.takes_custom {
            true => "custom",
            false => "function",
        };
        begin_named(kind, name, json);
        json.end_object().end_object();
    }

    fn note(&self, outcome: FieldOutcome, reason: &'static str, ledger: &mut Ledger) {
        let body = self.request.body;
        ledger.add(body.get("tool_choice").unwrap_or(body), outcome, reason);
    }
}

/// Begins a tool of a kind, or a mention of it.
fn begin_named(kind: &'static str, name: &EscapedText<'_>, json: &mut JsonWriter) {
    json.begin_object().key("type").literal(kind);
    let name = sent_name(name, ProviderFormat::Chat);
    json.key(kind).begin_object().key("name").text(&name);
}

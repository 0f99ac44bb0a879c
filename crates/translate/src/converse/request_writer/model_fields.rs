//! Writes what the protocol has no member for and passes on to the model as it is.

use crate::dialect::{MessagesDialect, ModelFamily};
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::messages::write_thinking;
use crate::superset::{ReasoningEffort, Request, ToolCallChoice};
use crate::tool_names::sent_name;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::DocumentNode;

/// Why settings of sampling are left out.
pub(super) const NOT_WITH_THOUGHTS: &str =
    "is left out, since the channel's model does not take it while it thinks";

/// What the fields for a model decide for the rest of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelFields {
    /// They have the choice of a tool.
    pub has_choice: bool,
    /// They ask the model to think, for a caller of another protocol than its own.
    pub thinks: bool,
}

/// Writes the fields for the model.
pub(super) fn write_model_fields(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    family: ModelFamily,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) -> ModelFields {
    let mut fields = JsonWriter::default();
    fields.begin_object();
    let thinks = write_reasoning(request, dialect, family, &mut fields, ledger);
    write_top_k(request, dialect, (family, thinks), &mut fields, ledger);
    let has_choice = write_single_call(request, family, &mut fields, ledger);
    fields.end_object();
    if fields.as_bytes() != b"{}" {
        json.key("additionalModelRequestFields");
        json.raw(fields.as_bytes());
    }
    // The text at which the model stopped is a field of the model, too.
    if family == ModelFamily::Claude
        && request.protocol == ConversationFormat::Messages
        && !request.sampling.stop.is_empty()
    {
        json.key("additionalModelResponseFieldPaths").begin_array();
        json.literal("/stop_sequence").end_array();
    }
    ModelFields { has_choice, thinks }
}

/// Writes how the model should think; whether that rules out settings of sampling, which callers of its own protocol know.
fn write_reasoning(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    family: ModelFamily,
    fields: &mut JsonWriter,
    ledger: &mut Ledger,
) -> bool {
    let thinking = request.body.get("thinking");
    let thinking = thinking.filter(|thinking| !thinking.is_null());
    match (family, request.protocol) {
        (ModelFamily::Claude, ConversationFormat::Messages) => {
            if let Some(thinking) = thinking {
                fields.key("thinking").raw(thinking.raw());
            }
        }
        (ModelFamily::Claude, ConversationFormat::Chat | ConversationFormat::Responses) => {
            let limit = request.sampling.max_output_tokens;
            let limit = limit.and_then(DocumentNode::as_u64).unwrap_or(u64::MAX);
            return write_thinking(request, dialect, limit, fields, ledger);
        }
        (ModelFamily::GptOss, _) => write_effort(request, fields, ledger),
        (ModelFamily::Nova | ModelFamily::Other, _) => note_unknown(request, ledger),
    }
    false
}

/// Writes one of the three efforts that open models have.
fn write_effort(request: &Request<'_>, fields: &mut JsonWriter, ledger: &mut Ledger) {
    let Some(effort) = request.reasoning.effort else {
        return note_unknown(request, ledger);
    };
    let nearest = effort.clamp(ReasoningEffort::Low, ReasoningEffort::High);
    if nearest != effort {
        let reason = "becomes the nearest effort that the channel's model takes";
        let at = effort_node(request.body);
        ledger.add(at, FieldOutcome::Approximated, reason);
    }
    fields.key("reasoning_effort").literal(nearest.name());
    if let Some(thinking) = request.body.get("thinking").filter(|node| !node.is_null()) {
        let reason = "is left out, since the channel's model takes an effort";
        ledger.add(thinking, FieldOutcome::Approximated, reason);
    }
}

fn note_unknown(request: &Request<'_>, ledger: &mut Ledger) {
    let reason = "is left out, since the channel's model is not known to take it";
    let reasoning = &request.reasoning;
    let body = request.body;
    if reasoning.effort.is_some() {
        ledger.add(effort_node(body), FieldOutcome::Approximated, reason);
    }
    let thinking = body.get("thinking").filter(|node| !node.is_null());
    let members = ["summary", "generate_summary"].into_iter();
    let summaries = members.filter_map(|name| body.get("reasoning")?.get(name));
    for node in thinking.into_iter().chain(summaries) {
        ledger.add(node, FieldOutcome::Approximated, reason);
    }
}

fn write_top_k(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    (family, thinks): (ModelFamily, bool),
    fields: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let Some(top_k) = request.sampling.top_k else {
        return;
    };
    match family {
        ModelFamily::Claude if thinks => {
            ledger.add(top_k, FieldOutcome::Approximated, NOT_WITH_THOUGHTS);
        }
        ModelFamily::Claude => {
            if dialect.members.takes("top_k", Some(top_k), ledger) {
                fields.key("top_k").raw(top_k.raw());
            }
        }
        ModelFamily::Nova => {
            fields.key("inferenceConfig").begin_object();
            fields.key("topK").raw(top_k.raw()).end_object();
        }
        ModelFamily::GptOss | ModelFamily::Other => {
            let reason = "is no setting that the channel's model is known to take; remove it, or let the route drop it with `on_loss: drop`";
            ledger.add(top_k, FieldOutcome::Refused, reason);
        }
    }
}

/// Writes that an answer has at most one call, which only some models take, as part of the choice of a tool.
fn write_single_call(
    request: &Request<'_>,
    family: ModelFamily,
    fields: &mut JsonWriter,
    ledger: &mut Ledger,
) -> bool {
    let is_single = request.parallel_tool_calls == Some(false) && !request.tools.is_empty();
    if !is_single || matches!(request.tool_choice, Some(ToolCallChoice::None)) {
        return false;
    }
    if family != ModelFamily::Claude {
        let at = request.parallel_calls_member();
        let reason = "is no setting that the channel's model is known to take; remove it, or let the route drop it with `on_loss: drop`";
        ledger.add(at.unwrap_or(request.body), FieldOutcome::Refused, reason);
        return false;
    }
    fields.key("tool_choice").begin_object().key("type");
    match &request.tool_choice {
        None | Some(ToolCallChoice::Auto | ToolCallChoice::None) => {
            fields.literal("auto");
        }
        Some(ToolCallChoice::Required) => {
            fields.literal("any");
        }
        Some(ToolCallChoice::Allowed { required, .. }) => {
            fields.literal(if *required { "any" } else { "auto" });
        }
        Some(ToolCallChoice::Function(name)) => {
            fields.literal("tool");
            let name = sent_name(name, ProviderFormat::Converse);
            fields.key("name").text(&name);
        }
    }
    fields.key("disable_parallel_tool_use").bool(true);
    fields.end_object();
    true
}

/// Where the caller asks for an effort.
fn effort_node(body: DocumentNode<'_>) -> DocumentNode<'_> {
    let effort = body.get("reasoning_effort");
    effort
        .or_else(|| body.pointer("/reasoning/effort"))
        .or_else(|| body.pointer("/output_config/effort"))
        .unwrap_or(body)
}

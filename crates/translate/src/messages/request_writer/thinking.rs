//! Writes how much the model should think.

use crate::dialect::{MessagesDialect, ThinkingRequest};
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{ContentRole, Part, PartKind, ReasoningEffort, Request, ThinkingOrigin};
use crate::thinking::note_summary;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::DocumentNode;
use std::borrow::Cow;

/// The least budget of thoughts that providers take, in tokens.
const BUDGET_MIN: u64 = 1024;

/// Writes whether the model should think, within a limit of output tokens; whether it should.
pub(crate) fn write_thinking(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    limit: u64,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) -> bool {
    let reasoning = &request.reasoning;
    if request.protocol == ConversationFormat::Messages {
        return write_own(request, json);
    }
    let effort = match reasoning.effort {
        None => {
            note_summary(request, ledger);
            return false;
        }
        Some(ReasoningEffort::None) => {
            write_off(request, dialect, json, ledger);
            note_summary(request, ledger);
            return false;
        }
        Some(effort) => effort,
    };
    let thinks = write_for_effort(request, dialect, (effort, limit), json, ledger);
    if !thinks {
        note_summary(request, ledger);
    }
    thinks
}

/// Writes whether the model should think for an effort; whether it should.
fn write_for_effort(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    (effort, limit): (ReasoningEffort, u64),
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) -> bool {
    let as_budget = dialect.thinking == ThinkingRequest::Budget;
    let reason = if dialect.thinking == ThinkingRequest::None {
        "is left out, since the channel's model does not think"
    } else if request.must_call_tool() {
        "is sent without thoughts, since models of the messages protocol do not think before a call that they must make"
    } else if as_budget && lacks_thoughts(request) {
        "is left out, since the thoughts before the last calls are not there to give back"
    } else if !as_budget {
        json.key("thinking").begin_object();
        json.key("type").literal("adaptive");
        write_display(request, json);
        json.end_object();
        return true;
    } else if write_budget(request, dialect, (effort, limit), json) {
        note(request, "becomes a budget of tokens", ledger);
        return true;
    } else {
        "is left out, since the limit of output tokens has no room for thoughts"
    };
    note(request, reason, ledger);
    false
}

/// The effort as the protocol names it, for models that take efforts.
pub(crate) fn named_effort<'d>(
    request: &Request<'_>,
    dialect: &'d MessagesDialect,
    ledger: &mut Ledger,
) -> Option<&'d str> {
    let effort = request.reasoning.effort?;
    let takes_efforts = dialect.effort || request.protocol == ConversationFormat::Messages;
    if effort == ReasoningEffort::None || !takes_efforts {
        return None;
    }
    if effort < ReasoningEffort::Low {
        note(
            request,
            "becomes `low`, the least effort of the messages protocol",
            ledger,
        );
    }
    let least = effort.max(ReasoningEffort::Low);
    let word = dialect.efforts.word(least);
    if word != least.name() {
        note(request, format!("becomes `{word}`"), ledger);
    }
    Some(word)
}

/// Writes that the model should not think. Some models always do.
fn write_off(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    if dialect.thinking == ThinkingRequest::None {
        // It does not think, as the caller wants it.
    } else if dialect.thinking_off {
        json.key("thinking").begin_object();
        json.key("type").literal("disabled").end_object();
    } else {
        let reason = "is left to the model, whose thoughts cannot be switched off";
        note(request, reason, ledger);
    }
}

/// Writes what a caller of the same protocol asks for.
fn write_own(request: &Request<'_>, json: &mut JsonWriter) -> bool {
    let reasoning = &request.reasoning;
    let Some(thinks) = reasoning.is_enabled else {
        return false;
    };
    json.key("thinking").begin_object().key("type");
    match reasoning.budget.filter(|_| thinks) {
        Some(budget) => json
            .literal("enabled")
            .key("budget_tokens")
            .raw(budget.raw()),
        None => json.literal(if thinks { "adaptive" } else { "disabled" }),
    };
    json.end_object();
    thinks
}

/// Writes a budget within the limit of the response; `false` if there is no room for one.
fn write_budget(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    (effort, limit): (ReasoningEffort, u64),
    json: &mut JsonWriter,
) -> bool {
    let budget = dialect.budgets.get(effort).copied();
    let tokens = budget.unwrap_or(BUDGET_MIN);
    // The limit is for thoughts and answer together, and half of it is left for the answer.
    let tokens = tokens.min(limit / 2);
    if tokens < BUDGET_MIN {
        return false;
    }
    json.key("thinking").begin_object();
    json.key("type").literal("enabled");
    json.key("budget_tokens").number(tokens);
    write_display(request, json);
    json.end_object();
    true
}

/// Who wants a summary of thoughts wants to see them. Newer models show none without being asked.
fn write_display(request: &Request<'_>, json: &mut JsonWriter) {
    if request.reasoning.summary.is_some() {
        json.key("display").literal("summarized");
    }
}

/// Whether the conversation ends with results of calls before which there are no thoughts of the channel. Models that
/// think within a budget want them back.
fn lacks_thoughts(request: &Request<'_>) -> bool {
    let is_result = |part: &Part<'_>| matches!(part.kind, PartKind::ToolResult { .. });
    let is_own_thought = |part: &Part<'_>| match &part.kind {
        PartKind::Thinking { origin, .. } | PartKind::SealedThinking { origin, .. } => {
            *origin == ThinkingOrigin::Channel
        }
        PartKind::Text(_)
        | PartKind::Refusal(_)
        | PartKind::Image { .. }
        | PartKind::Document { .. }
        | PartKind::Audio { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => false,
    };
    let mut turns = request.turns.iter().rev();
    let has_results = turns
        .next()
        .is_some_and(|turn| turn.parts.iter().any(is_result));
    let calls = turns.find(|turn| turn.role == ContentRole::Assistant);
    has_results && !calls.is_some_and(|turn| turn.parts.iter().any(is_own_thought))
}

fn note(request: &Request<'_>, reason: impl Into<Cow<'static, str>>, ledger: &mut Ledger) {
    ledger.add(
        effort_node(request.body),
        FieldOutcome::Approximated,
        reason,
    );
}

/// Where the caller asks for an effort.
fn effort_node(body: DocumentNode<'_>) -> DocumentNode<'_> {
    let effort = body.get("reasoning_effort");
    effort
        .or_else(|| body.pointer("/reasoning/effort"))
        .unwrap_or(body)
}

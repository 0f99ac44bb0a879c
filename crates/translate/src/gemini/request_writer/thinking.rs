//! Writes how much the model should think.

use crate::gemini::models::{GeminiModel, ThinkingControl, ThinkingLevel};
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{ReasoningEffort, Request};
use crate::thinking::note_summary;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::DocumentNode;

/// Tokens for thoughts by effort.
const BUDGETS: [(ReasoningEffort, u64); 5] = [
    (ReasoningEffort::Minimal, 1024),
    (ReasoningEffort::Low, 2048),
    (ReasoningEffort::Medium, 4096),
    (ReasoningEffort::High, 8192),
    (ReasoningEffort::Max, 16_384),
];

/// What the caller asks for.
#[derive(Clone, Copy)]
enum ThinkingDemand<'a> {
    Off,
    /// As much as the model decides.
    Adaptive,
    Effort(ReasoningEffort),
    Budget(DocumentNode<'a>),
}

pub(super) fn write_thinking(
    request: &Request<'_>,
    model: GeminiModel,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let Some(demand) = thinking_demand(request) else {
        note_summary(request, ledger);
        return;
    };
    let mut config = JsonWriter::default();
    config.begin_object();
    match model.thinking {
        ThinkingControl::None => {
            let reason = "is left out, since the channel's model does not think";
            note(request, reason, ledger);
        }
        ThinkingControl::Budget {
            min,
            max,
            can_be_off,
        } => {
            let bounds = (min, max, can_be_off);
            write_budget(request, demand, bounds, &mut config, ledger);
        }
        ThinkingControl::Level(levels) => {
            write_level(request, demand, levels, &mut config, ledger);
        }
    }
    let thinks = !matches!(demand, ThinkingDemand::Off) && model.thinking != ThinkingControl::None;
    if thinks && wants_thoughts(request) {
        config.key("includeThoughts").bool(true);
    } else {
        note_summary(request, ledger);
    }
    config.end_object();
    if config.as_bytes() != b"{}" {
        json.key("thinkingConfig").raw(config.as_bytes());
    }
}

fn thinking_demand<'a>(request: &Request<'a>) -> Option<ThinkingDemand<'a>> {
    let reasoning = &request.reasoning;
    match (reasoning.is_enabled, reasoning.effort) {
        (Some(false), _) | (_, Some(ReasoningEffort::None)) => Some(ThinkingDemand::Off),
        (_, Some(effort)) => Some(ThinkingDemand::Effort(effort)),
        (Some(true), None) => Some(match reasoning.budget {
            Some(budget) => ThinkingDemand::Budget(budget),
            None => ThinkingDemand::Adaptive,
        }),
        // A budget of a caller who did not ask for thoughts.
        (None, None) => reasoning.summary.as_ref().map(|_| ThinkingDemand::Adaptive),
    }
}

/// Callers of responses see thoughts if they ask for a summary, those of messages if they let the model think. Those of chat
/// have no member for that.
fn wants_thoughts(request: &Request<'_>) -> bool {
    match request.protocol {
        ConversationFormat::Chat => true,
        ConversationFormat::Messages => request.reasoning.is_enabled == Some(true),
        ConversationFormat::Responses => request.reasoning.summary.is_some(),
    }
}

fn write_budget(
    request: &Request<'_>,
    demand: ThinkingDemand<'_>,
    (min, max, can_be_off): (u64, u64, bool),
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let tokens = match demand {
        ThinkingDemand::Adaptive => {
            json.key("thinkingBudget").raw("-1");
            return;
        }
        ThinkingDemand::Off if can_be_off => 0,
        ThinkingDemand::Off => {
            note(request, "becomes the least budget of the model", ledger);
            min
        }
        ThinkingDemand::Effort(effort) => {
            note(request, "becomes a budget of tokens", ledger);
            note_budget(request, ledger);
            let mut budgets = BUDGETS.into_iter();
            let budget = budgets.find(|(up_to, _)| effort <= *up_to);
            budget.map_or(max, |(_, tokens)| tokens).clamp(min, max)
        }
        ThinkingDemand::Budget(budget) => match budget.as_u64() {
            Some(tokens) if (min..=max).contains(&tokens) => {
                json.key("thinkingBudget").raw(budget.raw());
                return;
            }
            tokens => {
                note(request, "becomes the nearest budget of the model", ledger);
                tokens.unwrap_or(max).clamp(min, max)
            }
        },
    };
    json.key("thinkingBudget").number(tokens);
}

fn write_level(
    request: &Request<'_>,
    demand: ThinkingDemand<'_>,
    levels: &[ThinkingLevel],
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let (wanted, is_level) = match demand {
        ThinkingDemand::Adaptive => return,
        ThinkingDemand::Off => (ThinkingLevel::Minimal, false),
        ThinkingDemand::Budget(budget) => {
            let effort = ReasoningEffort::for_budget(budget.as_u64().unwrap_or(u64::MAX));
            (level(effort), false)
        }
        ThinkingDemand::Effort(effort) => {
            note_budget(request, ledger);
            (level(effort), effort <= ReasoningEffort::High)
        }
    };
    let mut enough = levels.iter().filter(|level| **level >= wanted);
    let nearest = enough.next().or(levels.last()).copied().unwrap_or(wanted);
    if !is_level || nearest != wanted {
        let reason = match demand {
            ThinkingDemand::Off => "becomes the least level of the model",
            ThinkingDemand::Adaptive | ThinkingDemand::Effort(_) | ThinkingDemand::Budget(_) => {
                "becomes the nearest level"
            }
        };
        note(request, reason, ledger);
    }
    json.key("thinkingLevel").literal(nearest.word());
}

fn level(effort: ReasoningEffort) -> ThinkingLevel {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal => ThinkingLevel::Minimal,
        ReasoningEffort::Low => ThinkingLevel::Low,
        ReasoningEffort::Medium => ThinkingLevel::Medium,
        ReasoningEffort::High | ReasoningEffort::XHigh | ReasoningEffort::Max => {
            ThinkingLevel::High
        }
    }
}

/// Notes a budget that stands beside an effort.
fn note_budget(request: &Request<'_>, ledger: &mut Ledger) {
    let reasoning = &request.reasoning;
    let budget = reasoning
        .budget
        .filter(|_| reasoning.is_enabled == Some(true));
    if let Some(budget) = budget {
        let reason = "is left out beside the effort";
        ledger.add(budget, FieldOutcome::Approximated, reason);
    }
}

/// Notes what becomes of what the caller asks for, where it does.
fn note(request: &Request<'_>, reason: &'static str, ledger: &mut Ledger) {
    let body = request.body;
    let places = [
        "/reasoning_effort",
        "/reasoning/effort",
        "/output_config/effort",
        "/thinking/budget_tokens",
        "/thinking",
        "/reasoning",
    ];
    let found = places.iter().find_map(|place| body.pointer(place));
    ledger.add(found.unwrap_or(body), FieldOutcome::Approximated, reason);
}

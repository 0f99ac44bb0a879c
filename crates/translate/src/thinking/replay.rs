//! What becomes of thoughts of earlier turns.

use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Part, PartKind, ThinkingOrigin};
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};

/// How a writer gives thoughts back to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThinkingReplay {
    /// In the form in which the caller gave them.
    Same,
    /// As text beside the message of the assistant.
    ReasoningContent,
    /// Not at all.
    LeftOut,
}

/// Decides how the thoughts of a part are given back. Those that are left out are in the ledger.
pub(crate) fn replay(
    part: &Part<'_>,
    caller: ConversationFormat,
    channel: ProviderFormat,
    ledger: &mut Ledger,
) -> ThinkingReplay {
    let origin = match &part.kind {
        PartKind::Thinking { origin, .. } | PartKind::SealedThinking { origin, .. } => *origin,
        PartKind::Text(_)
        | PartKind::Refusal(_)
        | PartKind::Image { .. }
        | PartKind::Document { .. }
        | PartKind::Audio { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => ThinkingOrigin::Caller,
    };
    match (origin, channel) {
        (ThinkingOrigin::Channel, ProviderFormat::Chat) => ThinkingReplay::ReasoningContent,
        (ThinkingOrigin::Channel, _) => ThinkingReplay::Same,
        (ThinkingOrigin::Caller, _) if caller.provider_format() == channel => ThinkingReplay::Same,
        (ThinkingOrigin::Caller, _) => {
            let reason = "has thoughts of another provider, which this one cannot check";
            ledger.add(part.at, FieldOutcome::Dropped, reason);
            ThinkingReplay::LeftOut
        }
    }
}

/// Whether the thoughts of a part go back in the form in which the caller gave them.
pub(crate) fn is_replayed(
    part: &Part<'_>,
    caller: ConversationFormat,
    channel: ProviderFormat,
    ledger: &mut Ledger,
) -> bool {
    match replay(part, caller, channel, ledger) {
        ThinkingReplay::Same => true,
        ThinkingReplay::ReasoningContent | ThinkingReplay::LeftOut => false,
    }
}

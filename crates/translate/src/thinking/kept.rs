//! Thoughts that the gateway keeps for chat callers: most clients give back calls, and no thoughts.

use super::handle::{MARK, split_handle};
use super::seal::{PREFIX, ThinkingSealer};
use crate::ProtocolPair;
use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{
    ContentRole, Part, PartKind, ReasoningEffort, Request, ThinkingOrigin, Turn,
};
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::{DocumentNode, JsonDocument};

const PARTIAL: &str =
    "has only a part of the seals of this turn, which its provider would take for changed thoughts";
/// Handles of one request whose thoughts are looked up.
const HANDLES_MAX: usize = 256;

/// The handles in a request without all of their thoughts, the newest ones if there are too many.
pub fn thinking_handles(pair: ProtocolPair, body: &JsonDocument) -> Vec<Box<str>> {
    if pair.caller != ConversationFormat::Chat
        || memchr::memmem::find(body.body(), MARK.as_bytes()).is_none()
    {
        return Vec::new();
    }
    let mut handles: Vec<Box<str>> = Vec::new();
    let messages = body.root().get("messages");
    for message in messages.into_iter().flat_map(DocumentNode::elements) {
        let [calls, details] = message.get_each(["tool_calls", "reasoning_details"]);
        let mut details = details
            .into_iter()
            .flat_map(DocumentNode::elements)
            .peekable();
        if details.peek().is_some() && are_whole(details.filter(|it| is_sealed_detail(*it))) {
            continue;
        }
        for call in calls.into_iter().flat_map(DocumentNode::elements) {
            let id = call.get("id").and_then(EscapedText::from_node);
            let id = id.as_ref().map(EscapedText::decoded);
            if let Some((_, handle)) = id.as_deref().and_then(split_handle)
                && handles.last().is_none_or(|last| **last != *handle)
            {
                handles.push(handle.into());
            }
        }
    }
    handles.drain(..handles.len().saturating_sub(HANDLES_MAX));
    handles
}

/// Puts the seals that handles stand for before their calls, and gives calls and results the ids of the provider.
///
/// Thoughts that are not there are in the ledger.
pub(crate) fn restore_kept(
    request: &mut Request<'_>,
    sealer: Option<&dyn ThinkingSealer>,
    ledger: &mut Ledger,
) {
    if request.protocol != ConversationFormat::Chat {
        return;
    }
    let asks_for_thoughts = request
        .reasoning
        .effort
        .is_some_and(|effort| effort != ReasoningEffort::None);
    let mut misses_thoughts = asks_for_thoughts && sealer.is_some();
    for turn in &mut request.turns {
        match turn.role {
            ContentRole::Assistant => {
                restore_turn(turn, sealer, ledger);
                if misses_thoughts && !turn.parts.iter().any(is_thoughts) {
                    note_absence(turn, ledger);
                    misses_thoughts = false;
                }
            }
            ContentRole::User => restore_result_ids(turn),
            ContentRole::System => {}
        }
    }
}

fn restore_turn(turn: &mut Turn<'_>, sealer: Option<&dyn ThinkingSealer>, ledger: &mut Ledger) {
    let mut handles: Vec<(usize, Box<str>)> = Vec::new();
    for (position, part) in turn.parts.iter_mut().enumerate() {
        if let PartKind::ToolCall { id, .. } = &mut part.kind
            && let Some(handle) = take_handle(id)
            && handles.last().is_none_or(|(_, last)| *last != handle)
        {
            handles.push((position, handle));
        }
    }
    let has_seals = turn.parts.iter().any(is_seal);
    let details = turn.at.get("reasoning_details").into_iter();
    let details = details.flat_map(DocumentNode::elements);
    let has_all_seals = are_whole(details.filter(|it| is_sealed_detail(*it)));
    if has_all_seals && (has_seals || handles.is_empty()) {
        return;
    }
    let found = handles.into_iter().map(|(position, handle)| {
        let at = turn.parts[position].at;
        match sealer.and_then(|sealer| sealer.find_kept(&handle)) {
            Some(seals) => (position, at, seals),
            None => {
                let reason = "has a handle of thoughts that are not kept: they are kept for a day, within bounds, and only for their caller";
                ledger.add(at.get("id").unwrap_or(at), FieldOutcome::Dropped, reason);
                (position, at, "")
            }
        }
    });
    let found: Vec<_> = found.filter(|(_, _, seals)| !seals.is_empty()).collect();
    if found.is_empty() {
        if !has_all_seals {
            turn.parts.retain(|part| !is_seal(part));
            let path = format!("{}.reasoning_details", turn.at.path());
            ledger.add_path(path, FieldOutcome::Dropped, PARTIAL);
        }
        return;
    }
    let mut parts = std::mem::take(&mut turn.parts).into_iter().enumerate();
    let mut found = found.into_iter().peekable();
    // The first thoughts begin the turn, as models demand; later ones stand before the call that has their handle.
    if let Some((_, at, seals)) = found.next() {
        add_seals(at, seals, &mut turn.parts);
    }
    for (position, part) in &mut parts {
        if let Some((_, at, seals)) = found.next_if(|(call, _, _)| *call == position) {
            add_seals(at, seals, &mut turn.parts);
        }
        // What the caller shows of the same thoughts is no proof.
        if !is_thoughts(&part) {
            turn.parts.push(part);
        }
    }
}

fn restore_result_ids(turn: &mut Turn<'_>) {
    for part in &mut turn.parts {
        if let PartKind::ToolResult { id, .. } = &mut part.kind {
            take_handle(id);
        }
    }
}

/// Removes the handle from an id.
fn take_handle(id: &mut EscapedText<'_>) -> Option<Box<str>> {
    let (own, handle) = {
        let decoded = id.decoded();
        let (own, handle) = split_handle(&decoded)?;
        (EscapedText::plain(own), handle.into())
    };
    *id = own;
    Some(handle)
}

fn add_seals<'a>(at: DocumentNode<'a>, seals: &str, parts: &mut Vec<Part<'a>>) {
    parts.extend(seals.lines().map(|seal| Part {
        at,
        kind: PartKind::SealedThinking {
            data: EscapedText::plain(seal),
            origin: ThinkingOrigin::Caller,
        },
        cache: None,
    }));
}

fn note_absence(turn: &Turn<'_>, ledger: &mut Ledger) {
    let path = format!("{}.reasoning_details", turn.at.path());
    let reason =
        "is not there, so that the model does not get back what it may have thought in this turn";
    ledger.add_path(path, FieldOutcome::Dropped, reason);
}

fn is_thoughts(part: &Part<'_>) -> bool {
    matches!(
        part.kind,
        PartKind::Thinking { .. } | PartKind::SealedThinking { .. }
    )
}

/// Whether there are all seals of a turn, by their `index`. The stream helper of the SDK of OpenAI for JavaScript keeps the last
/// delta of the list alone.
fn are_whole<'a>(seals: impl Iterator<Item = DocumentNode<'a>>) -> bool {
    let indexes = seals.map(|seal| seal.get("index").and_then(DocumentNode::as_u64));
    let mut numbered = (0..).zip(indexes);
    numbered.all(|(position, index)| index.is_none_or(|index: u64| index == position))
}

fn is_sealed_detail(detail: DocumentNode<'_>) -> bool {
    let data = detail.get("data").and_then(EscapedText::from_node);
    data.is_some_and(|data| data.as_written().starts_with(PREFIX))
}

/// Whether the caller gives back a seal.
fn is_seal(part: &Part<'_>) -> bool {
    let seal = match &part.kind {
        PartKind::Thinking { signature, .. } => signature.as_ref(),
        PartKind::SealedThinking { data, .. } => Some(data),
        _ => None,
    };
    seal.is_some_and(|seal| seal.as_written().starts_with(PREFIX))
}

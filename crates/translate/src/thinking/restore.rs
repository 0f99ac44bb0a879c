//! Opens the seals of thoughts that a caller gives back.

use super::seal::{ForeignSeal, SealedThoughts, ThinkingSealer, ThoughtText};
use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{ContentRole, Part, PartKind, Request, ThinkingOrigin};
use sha2::{Digest, Sha256};

/// Puts what a seal has in its place. Thoughts whose seal does not open are removed, with an entry in the ledger.
pub(crate) fn restore_thoughts(
    request: &mut Request<'_>,
    sealer: Option<&dyn ThinkingSealer>,
    ledger: &mut Ledger,
) {
    let Some(sealer) = sealer else {
        return;
    };
    let turns = request.turns.iter_mut();
    for turn in turns.filter(|turn| turn.role == ContentRole::Assistant) {
        let mut position = 0;
        turn.parts.retain_mut(|part| {
            let restored = restore(part, position, sealer);
            position += u16::from(is_thoughts(part));
            if restored.is_err() {
                let reason = "has thoughts that another channel, model or caller sealed, or that were changed";
                ledger.add(part.at, FieldOutcome::Dropped, reason);
            }
            restored.is_ok()
        });
    }
}

fn is_thoughts(part: &Part<'_>) -> bool {
    matches!(
        part.kind,
        PartKind::Thinking { .. } | PartKind::SealedThinking { .. }
    )
}

/// # Errors
/// The part has a seal that does not open here.
fn restore(
    part: &mut Part<'_>,
    position: u16,
    sealer: &dyn ThinkingSealer,
) -> Result<(), ForeignSeal> {
    let (seal, text) = match &part.kind {
        PartKind::Thinking {
            text,
            signature: Some(signature),
            ..
        } => (signature, Some(text)),
        PartKind::SealedThinking { data, .. } => (data, None),
        _ => return Ok(()),
    };
    let Some(thoughts) = SealedThoughts::open(seal, sealer)? else {
        return Ok(());
    };
    if thoughts.position != position {
        return Err(ForeignSeal);
    }
    let proof = thoughts.proof.map(|proof| EscapedText::plain(&proof));
    part.kind = match (thoughts.text, text) {
        (ThoughtText::Unreadable, _) => PartKind::SealedThinking {
            data: proof.ok_or(ForeignSeal)?,
            origin: ThinkingOrigin::Channel,
        },
        (ThoughtText::Digest(digest), Some(text)) => {
            let is_same = <[u8; 32]>::from(Sha256::digest(&*text.decoded())) == digest;
            PartKind::Thinking {
                text: text.clone(),
                signature: is_same.then_some(proof).ok_or(ForeignSeal)?,
                origin: ThinkingOrigin::Channel,
            }
        }
        (ThoughtText::Digest(_), None) => return Err(ForeignSeal),
        (ThoughtText::Whole(text), _) => PartKind::Thinking {
            text: EscapedText::plain(&text),
            signature: proof,
            origin: ThinkingOrigin::Channel,
        },
    };
    Ok(())
}

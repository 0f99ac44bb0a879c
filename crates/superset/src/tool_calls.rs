//! Which call each result of a tool answers.

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::{ContentRole, Part, PartKind, Turn};
use std::borrow::Cow;

/// The tool calls of a conversation, by their ids. An id may come again in a later turn, as some engines count from zero.
#[derive(Debug, Default)]
pub struct ToolCallIndex<'r> {
    /// In the order of ids, then of turns.
    calls: Vec<IndexedCall<'r>>,
}

/// A call of a turn of the assistant.
#[derive(Debug)]
pub struct IndexedCall<'r> {
    id: Cow<'r, str>,
    turn: usize,
    /// Its index in the turn.
    pub part: usize,
    pub name: &'r EscapedText<'r>,
    /// How many calls of earlier turns have the same id.
    pub repetition: usize,
    is_answered: bool,
}

impl<'r> ToolCallIndex<'r> {
    /// Refuses results without a call before them, and calls of a turn that cannot be told apart.
    pub fn new(turns: &'r [Turn<'r>], ledger: &mut Ledger) -> Self {
        let mut index = Self::default();
        for (position, turn) in turns.iter().enumerate() {
            index.add_calls(position, turn);
        }
        let calls = &mut index.calls;
        calls.sort_unstable_by(|a, b| (&*a.id, a.turn, a.part).cmp(&(&*b.id, b.turn, b.part)));
        for later in 1..calls.len() {
            let (before, call) = (&calls[later - 1], &calls[later]);
            if before.id != call.id {
                continue;
            }
            if before.turn == call.turn {
                let reason = "is a call with the id of another one of its turn";
                let at = turns[call.turn].parts[call.part].at;
                ledger.add(at, FieldOutcome::AlwaysRefused, reason);
            }
            calls[later].repetition = before.repetition + 1;
        }
        index.check_results(turns, ledger);
        index
    }

    /// The call that a result in a turn answers: one of the turn of the assistant directly before it.
    pub fn answered(
        &self,
        turns: &[Turn<'_>],
        turn: usize,
        id: &EscapedText<'_>,
    ) -> Option<&IndexedCall<'r>> {
        self.find(turn_of_calls(turns, turn)?, id)
            .map(|found| &self.calls[found])
    }

    /// A call of a turn.
    pub fn call(&self, turn: usize, id: &EscapedText<'_>) -> Option<&IndexedCall<'r>> {
        self.find(turn, id).map(|found| &self.calls[found])
    }

    fn add_calls(&mut self, position: usize, turn: &'r Turn<'r>) {
        for (part, call) in turn.parts.iter().enumerate() {
            if let PartKind::ToolCall { id, name, .. } = &call.kind {
                self.calls.push(IndexedCall {
                    id: id.decoded(),
                    turn: position,
                    part,
                    name,
                    repetition: 0,
                    is_answered: false,
                });
            }
        }
    }

    fn find(&self, turn: usize, id: &EscapedText<'_>) -> Option<usize> {
        let id = id.decoded();
        let order = |call: &IndexedCall<'_>| (&*call.id, call.turn).cmp(&(&*id, turn));
        self.calls.binary_search_by(order).ok()
    }

    fn check_results(&mut self, turns: &[Turn<'_>], ledger: &mut Ledger) {
        for (position, turn) in turns.iter().enumerate() {
            for part in &turn.parts {
                if let PartKind::ToolResult { id, .. } = &part.kind {
                    let before = turn_of_calls(turns, position);
                    let call = before.and_then(|before| self.find(before, id));
                    self.check_result(part, call, ledger);
                }
            }
        }
    }

    fn check_result(&mut self, part: &Part<'_>, call: Option<usize>, ledger: &mut Ledger) {
        let reason = match call.map(|call| &mut self.calls[call]) {
            None => "is the result of no call in the message before it",
            Some(call) if call.is_answered => "is the second result of one call",
            Some(call) => {
                call.is_answered = true;
                return;
            }
        };
        ledger.add(part.at, FieldOutcome::AlwaysRefused, reason);
    }
}

/// The turn whose calls the results of a turn answer. Instructions between them do not count.
fn turn_of_calls(turns: &[Turn<'_>], turn: usize) -> Option<usize> {
    let before = turns[..turn]
        .iter()
        .rposition(|turn| turn.role != ContentRole::System)?;
    (turns[before].role == ContentRole::Assistant).then_some(before)
}

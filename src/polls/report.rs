//! What a provider said of a task, and how it is noted for other gateways and for after a restart.

use crate::protocol::json::{Document, Limits};
use crate::task::family::Family;
use crate::task::id::TaskId;
use crate::task::state::State;
use bytes::Bytes;
use std::fmt;

/// What a provider said of a task.
pub struct Report {
    /// Its answer, as it came.
    pub answer: Document,
    /// How the task stands by it.
    pub state: State,
    /// Unix milliseconds.
    pub said_ms: u64,
}

impl Report {
    /// Reads a provider's answer; the error says in its own words why it is none.
    ///
    /// # Errors
    /// It is no JSON, or says nothing of this task.
    pub fn read(
        family: &Family,
        task: &TaskId,
        answer: Bytes,
        said_ms: u64,
    ) -> Result<Self, String> {
        let answer = Document::parse(answer, &Limits::default())
            .map_err(|malformed| malformed.to_string())?;
        let status = family
            .status(&answer, task, said_ms)
            .map_err(|unreadable| unreadable.to_string())?;
        Ok(Self {
            answer,
            state: status.state,
            said_ms,
        })
    }

    /// For the state store: when it was said, and what.
    pub fn to_note(&self) -> Bytes {
        let mut note = self.said_ms.to_string().into_bytes();
        note.push(b'\n');
        note.extend_from_slice(self.answer.body());
        note.into()
    }

    /// Reads what [`Self::to_note`] wrote, if it is the end of this task.
    pub fn of_note(family: &Family, task: &TaskId, note: &Bytes) -> Option<Self> {
        let line = note.iter().position(|byte| *byte == b'\n')?;
        let said_ms = std::str::from_utf8(&note[..line]).ok()?.parse().ok()?;
        let report = Self::read(family, task, note.slice(line + 1..), said_ms).ok()?;
        report.state.is_terminal().then_some(report)
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.state.name(), self.said_ms)
    }
}

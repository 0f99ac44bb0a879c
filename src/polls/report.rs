//! What a provider said of a task, and how it is noted for other gateways and for after a restart.

use crate::protocol::json::{JsonDocument, JsonLimits};
use crate::task::family::VideoFamily;
use crate::task::id::TaskId;
use crate::task::state::TaskState;
use bytes::Bytes;
use std::fmt;

/// What a provider said of a task.
pub struct StatusReport {
    /// Its answer, as it came.
    pub response: JsonDocument,
    /// How the task stands by it.
    pub state: TaskState,
    /// Unix milliseconds.
    pub reported_ms: u64,
}

impl StatusReport {
    /// Reads a provider's answer; the error says in its own words why it is none.
    ///
    /// # Errors
    /// It is no JSON, or says nothing of this task.
    pub fn read(
        family: &VideoFamily,
        task: &TaskId,
        response: Bytes,
        reported_ms: u64,
    ) -> Result<Self, String> {
        let response = JsonDocument::parse(response, &JsonLimits::default())
            .map_err(|malformed| malformed.to_string())?;
        let status = family
            .status(&response, task, reported_ms)
            .map_err(|unreadable| unreadable.to_string())?;
        Ok(Self {
            response,
            state: status.state,
            reported_ms,
        })
    }

    /// For the state store: when it was said, and what.
    pub fn to_note(&self) -> Bytes {
        let mut note = self.reported_ms.to_string().into_bytes();
        note.push(b'\n');
        note.extend_from_slice(self.response.body());
        note.into()
    }

    /// Reads what [`Self::to_note`] wrote, if it is the end of this task.
    pub fn of_note(family: &VideoFamily, task: &TaskId, note: &Bytes) -> Option<Self> {
        let line = note.iter().position(|byte| *byte == b'\n')?;
        let reported_ms = std::str::from_utf8(&note[..line]).ok()?.parse().ok()?;
        let report = Self::read(family, task, note.slice(line + 1..), reported_ms).ok()?;
        report.state.is_terminal().then_some(report)
    }
}

impl fmt::Debug for StatusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.state.name(), self.reported_ms)
    }
}

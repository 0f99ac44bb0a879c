//! A provider's report about a task, and its form in the state store.

use bytes::Bytes;
use headgate_core::task::family::VideoFamily;
use headgate_core::task::id::TaskId;
use headgate_core::task::state::TaskState;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use std::fmt;

/// A provider's report about a task.
pub struct ProviderStatusReport {
    /// The provider's response, unchanged.
    pub response: JsonDocument,
    /// The state of the task according to the response.
    pub state: TaskState,
    /// When the report was received, in Unix milliseconds.
    pub reported_ms: u64,
}

impl ProviderStatusReport {
    /// Parses a provider's response to a status query.
    ///
    /// # Errors
    /// The response is not JSON, or is not about this task; a sentence that says why.
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

    /// The form in the state store: the time in Unix milliseconds, a line feed, and the response.
    pub fn to_note(&self) -> Bytes {
        let mut note = self.reported_ms.to_string().into_bytes();
        note.push(b'\n');
        note.extend_from_slice(self.response.body());
        note.into()
    }

    /// Parses what [`Self::to_note`] wrote; `None` unless it is the final status of this task.
    pub fn from_note(family: &VideoFamily, task: &TaskId, note: &Bytes) -> Option<Self> {
        let line = note.iter().position(|byte| *byte == b'\n')?;
        let reported_ms = std::str::from_utf8(&note[..line]).ok()?.parse().ok()?;
        let report = Self::read(family, task, note.slice(line + 1..), reported_ms).ok()?;
        report.state.is_terminal().then_some(report)
    }
}

impl fmt::Debug for ProviderStatusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.state.name(), self.reported_ms)
    }
}

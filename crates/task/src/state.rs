//! The six states of a task, and their order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a task in the generic protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Queued,
    Running,
    Succeeded,
    Failed,
    Cancelled,
    Expired,
}

impl TaskState {
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::Expired,
    ];

    /// The name in responses, metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// Whether no other state follows it.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Expired => true,
        }
    }

    /// The state after this report if `known` was the state before: a terminal state never changes, and a running task
    /// is not queued again. Polls and callbacks may arrive out of order.
    pub fn after(self, known: Self) -> Self {
        let goes_back = known == Self::Running && self == Self::Queued;
        match known.is_terminal() || goes_back {
            true => known,
            false => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_state_stays_whatever_is_reported_later() {
        for known in TaskState::ALL {
            for report in TaskState::ALL {
                let expected = match (known, report) {
                    (TaskState::Queued, report) => report,
                    (TaskState::Running, TaskState::Queued) => TaskState::Running,
                    (TaskState::Running, report) => report,
                    (known, _) => known,
                };
                assert_eq!(report.after(known), expected, "{known:?} {report:?}");
            }
        }
    }

    #[test]
    fn words_are_those_of_the_protocol() {
        for state in TaskState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
    }
}

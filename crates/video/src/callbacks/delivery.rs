//! One event that is delivered to a caller: its id, its body, and when it is sent again.

use headgate_core::task::state::TaskState;
use headgate_protocol::hex::HexDisplay;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// An event for a caller: the status of a task, as it was when it changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The key of the subscription.
    pub subscription: String,
    /// For the end of a task: the id of the event that it runs, which is not sent after this one.
    pub earlier: Option<String>,
    pub url: String,
    /// Whether the event may only be sent with a signature.
    #[serde(default)]
    pub signed_only: bool,
    pub state: TaskState,
    /// JSON text.
    pub body: String,
    /// Unix milliseconds.
    pub created_ms: u64,
    /// Number of attempts.
    pub attempts: u32,
    pub phase: DeliveryLeaseState,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
}

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryLeaseState {
    /// Waits for its next attempt.
    Waiting,
    /// A gateway sends it; another one may, from this Unix millisecond on.
    Leased { until_ms: u64 },
}

impl Delivery {
    /// The id of the event that a task reached a state: the same on every gateway, and for every attempt.
    pub fn id(task: &str, state: TaskState) -> String {
        let hash = Sha256::new().chain_update(task).chain_update([0]);
        let hash = hash.chain_update(state.name()).finalize();
        format!("evt_{}", HexDisplay(&hash[..16]))
    }

    /// Whether a text may be the id of an event.
    pub fn is_id(text: &str) -> bool {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        text.starts_with("evt_") && text.bytes().all(is_part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_one_id_for_each_task_and_state() {
        let id = Delivery::id("task_a", TaskState::Running);
        assert_eq!(id, Delivery::id("task_a", TaskState::Running));
        assert_ne!(id, Delivery::id("task_a", TaskState::Failed));
        assert_ne!(id, Delivery::id("task_b", TaskState::Running));
        assert_eq!(id.len(), 36);
    }
}

//! One event that is delivered to a caller: its id, its body, and when it is sent again.

use headgate_core::task::state::TaskState;
use headgate_protocol::hex::HexDisplay;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// The time between an attempt and the next one, in seconds: ten attempts within a day, at the times that the Standard
/// Webhooks specification suggests.
const RETRY_SECONDS: [u64; 9] = [5, 295, 1_500, 5_400, 10_800, 18_000, 14_400, 21_600, 14_400];
/// The longest `Retry-After` of a receiver that is followed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// An interval is lengthened by up to this share of it, so that receivers are not called in step.
const JITTER: f64 = 0.1;

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

    /// How long to wait after a failed attempt; `None` if it was the last one. `random` is from 0 to 1.
    pub fn retry_delay(&self, retry_after: Option<Duration>, random: f64) -> Option<Duration> {
        let failed = usize::try_from(self.attempts).ok()?.checked_sub(1)?;
        let interval = Duration::from_secs(*RETRY_SECONDS.get(failed)?);
        let interval = interval.mul_f64(1.0 + JITTER * random);
        let requested = retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
        Some(interval.max(requested))
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

    #[test]
    fn attempts_are_spread_over_a_day_and_follow_retry_after() {
        let mut delivery = Delivery {
            subscription: String::new(),
            earlier: None,
            url: String::new(),
            signed_only: false,
            state: TaskState::Running,
            body: String::new(),
            created_ms: 0,
            attempts: 1,
            phase: DeliveryLeaseState::Waiting,
            last_error: None,
        };
        let requested = Duration::from_secs(60);
        assert_eq!(delivery.retry_delay(Some(requested), 0.0), Some(requested));
        let longest = delivery.retry_delay(Some(Duration::MAX), 0.0);
        assert_eq!(longest, Some(RETRY_AFTER_MAX));
        let mut total = Duration::ZERO;
        while let Some(delay) = delivery.retry_delay(None, 0.0) {
            assert!(delivery.retry_delay(None, 1.0).unwrap() > delay);
            total += delay;
            delivery.attempts += 1;
        }
        assert_eq!((delivery.attempts, total.as_secs()), (10, 24 * 60 * 60));
    }
}

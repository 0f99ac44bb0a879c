//! Video tasks: sealed ids, and how families of providers say what the generic protocol says. No I/O, no server.

pub mod definition;
pub mod families;
pub mod family;
pub mod generic;
pub mod id;
pub mod state;
pub mod status;
pub mod time;

use family::VideoFamily;
use id::TaskKeyRing;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a configuration says of video tasks.
#[derive(Debug, Default)]
pub struct TaskSettings {
    /// By name.
    pub families: BTreeMap<Arc<str>, Arc<VideoFamily>>,
    /// None where the configuration has no keys; [`Self::keys`] then says what to do.
    pub keys: Option<TaskKeyRing>,
}

/// Task ids cannot be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("missing `task_keys`: task ids cannot be encrypted")]
pub struct MissingTaskKeys;

/// What to do about missing or bad keys.
pub const NO_KEYS_HINT: &str = "run `headgate key task`, put the key in an environment variable and write `task_keys: [\"${HEADGATE_TASK_KEY}\"]`";

impl TaskSettings {
    /// The keys, for what cannot work without.
    ///
    /// # Errors
    /// If there are none.
    pub fn keys(&self) -> Result<&TaskKeyRing, MissingTaskKeys> {
        self.keys.as_ref().ok_or(MissingTaskKeys)
    }
}

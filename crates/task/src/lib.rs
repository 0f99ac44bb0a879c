//! Video tasks: sealed ids, and the mapping between the generic protocol and families of providers. No I/O.

pub mod callback_signature;
pub mod definition;
pub mod families;
pub mod family;
pub mod generic;
pub mod id;
pub mod media_kind;
pub mod openai_video;
pub mod requested_format;
pub mod resolution;
pub mod state;
pub mod status;
pub mod time;
pub mod token;

use family::VideoFamily;
use headgate_protocol::Protocol;
use id::TaskIdKeyRing;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The settings of video tasks.
#[derive(Debug, Default)]
pub struct TaskSettings {
    /// Families by name.
    pub families: BTreeMap<Arc<str>, Arc<VideoFamily>>,
    /// `None` if the configuration has no keys.
    pub keys: Option<TaskIdKeyRing>,
}

/// Task ids cannot be sealed without keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("missing `task_keys`: task ids cannot be encrypted")]
pub struct MissingTaskIdKeyRing;

/// The hint for missing or invalid keys.
pub const NO_KEYS_HINT: &str = "run `headgate key task`, put the key in an environment variable and write `task_keys: [\"${HEADGATE_TASK_KEY}\"]`";

impl TaskSettings {
    /// The families whose own API has this protocol and declares its calls, by name.
    pub fn native_families(&self, protocol: Protocol) -> impl Iterator<Item = &Arc<VideoFamily>> {
        let families = self.families.values();
        families.filter(move |family| {
            family.protocol == Some(protocol) && family.native_api().replaces_urls()
        })
    }

    /// The keys, for code that cannot work without them.
    ///
    /// # Errors
    /// There are no keys.
    pub fn keys(&self) -> Result<&TaskIdKeyRing, MissingTaskIdKeyRing> {
        self.keys.as_ref().ok_or(MissingTaskIdKeyRing)
    }
}

//! What identifies the counter of a limit.

use super::limit_kind::LimitKind;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// How the name of a group begins where a counter has that of a caller: no caller has such a name.
pub const GROUP_PREFIX: &str = "group:";
/// Likewise how the holder of a key's budget begins, which the names of the caller and of the key follow.
pub const KEY_PREFIX: &str = "key:";
/// The holder of budgets that all callers share.
pub const EVERY_CALLER: &str = "callers:";
/// How the holder of a channel's budget begins, which the name of the channel follows.
pub const CHANNEL_PREFIX: &str = "channel:";
/// How names begin that no caller has.
pub const RESERVED_PREFIXES: [&str; 4] = [GROUP_PREFIX, KEY_PREFIX, EVERY_CALLER, CHANNEL_PREFIX];

/// Identifies the counter of a limit. It stays the same when the configured maximum changes.
#[derive(Clone, Debug)]
pub struct CounterKey(Arc<CounterFields>);

#[derive(Debug, PartialEq, Eq)]
struct CounterFields {
    /// A caller, or [`GROUP_PREFIX`] and a group.
    caller: Arc<str>,
    /// The platform model that is counted; all models if `None`.
    model: Option<Arc<str>>,
    measure: LimitKind,
    /// The hash of the other fields, computed once: every request looks its counters up several times.
    hash: u64,
}

impl CounterKey {
    pub fn new(caller: Arc<str>, model: Option<Arc<str>>, measure: LimitKind) -> Self {
        let mut hasher = DefaultHasher::new();
        (&caller, &model, measure).hash(&mut hasher);
        Self(Arc::new(CounterFields {
            caller,
            model,
            measure,
            hash: hasher.finish(),
        }))
    }

    pub fn caller(&self) -> &Arc<str> {
        &self.0.caller
    }

    /// The group whose callers share the counter.
    pub fn group(&self) -> Option<&str> {
        self.0.caller.strip_prefix(GROUP_PREFIX)
    }

    /// The label of the key whose requests the counter counts.
    pub fn key(&self) -> Option<&str> {
        let key = self.0.caller.strip_prefix(KEY_PREFIX)?;
        key.rsplit_once('/').map(|(_, label)| label)
    }

    /// The channel whose requests the counter counts.
    pub fn channel(&self) -> Option<&str> {
        self.0.caller.strip_prefix(CHANNEL_PREFIX)
    }

    /// Whether all callers share the counter.
    pub fn is_every_callers(&self) -> bool {
        *self.0.caller == *EVERY_CALLER
    }

    pub fn model(&self) -> Option<&Arc<str>> {
        self.0.model.as_ref()
    }

    pub fn measure(&self) -> LimitKind {
        self.0.measure
    }
}

impl PartialEq for CounterKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for CounterKey {}

impl Hash for CounterKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

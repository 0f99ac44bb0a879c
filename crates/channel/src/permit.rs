//! The concurrency permit of an attempt: what it occupies of its channel's `concurrent` limit.

use super::caller_loads::CallerLoadGuard;
use super::live::{ChannelLoad, ChannelStates};
use super::state_map::StateHandle;
use std::sync::Arc;

/// What an attempt occupies of its channel's `concurrent` limit. Dropping it makes room for another request, and wakes
/// those that wait for it.
pub struct ChannelPermit {
    channels: Arc<ChannelStates>,
    load: StateHandle<ChannelLoad>,
    is_limited: bool,
    /// Counts the request for its caller; `None` without affinity. Boxed, since every exchange has a permit.
    pub(super) caller: Option<Box<CallerLoadGuard>>,
}

impl ChannelPermit {
    /// A permit for a use that `load` has counted already.
    pub(super) fn new(
        channels: &Arc<ChannelStates>,
        load: &StateHandle<ChannelLoad>,
        is_limited: bool,
    ) -> Self {
        Self {
            channels: channels.clone(),
            load: load.clone(),
            is_limited,
            caller: None,
        }
    }
}

impl Drop for ChannelPermit {
    fn drop(&mut self) {
        self.load.end(self.is_limited);
        // Nobody waits for a channel that takes any number of requests.
        if self.is_limited {
            self.channels.freed.notify_waiters();
        }
    }
}

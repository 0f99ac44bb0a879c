//! The requests in flight of each caller on each channel, to models with affinity. A caller without any takes no memory.

use headgate_core::state::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The requests of all callers, by channel.
#[derive(Debug, Default)]
pub(super) struct CallerLoads(Mutex<HashMap<Arc<str>, ChannelCounts>>);

/// Requests in flight by the fingerprint of their channel; no count is 0.
type ChannelCounts = Vec<(u64, u32)>;

/// A request that counts for its caller until this is dropped.
pub(super) struct CallerLoadGuard {
    loads: Arc<CallerLoads>,
    caller: Arc<str>,
    channel: u64,
}

impl CallerLoads {
    /// The requests of a caller, by channel.
    pub fn counts(&self, caller: &str) -> ChannelCounts {
        lock(&self.0).get(caller).cloned().unwrap_or_default()
    }

    /// Counts a request of `caller` on the channel with this fingerprint.
    pub fn begin(self: &Arc<Self>, caller: &Arc<str>, channel: u64) -> CallerLoadGuard {
        let mut loads = lock(&self.0);
        let counts = loads.entry(caller.clone()).or_default();
        match counts.iter_mut().find(|(known, _)| *known == channel) {
            Some((_, count)) => *count += 1,
            None => counts.push((channel, 1)),
        }
        CallerLoadGuard {
            loads: self.clone(),
            caller: caller.clone(),
            channel,
        }
    }
}

impl Drop for CallerLoadGuard {
    fn drop(&mut self) {
        let mut loads = lock(&self.loads.0);
        let Some(counts) = loads.get_mut(&self.caller) else {
            return;
        };
        if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == self.channel) {
            *count -= 1;
        }
        counts.retain(|(_, count)| *count > 0);
        if counts.is_empty() {
            loads.remove(&self.caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_without_requests_takes_no_memory() {
        let loads = Arc::<CallerLoads>::default();
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        let held = [
            loads.begin(&ann, 1),
            loads.begin(&ann, 2),
            loads.begin(&ann, 1),
            loads.begin(&bob, 1),
        ];
        assert_eq!(loads.counts("ann"), [(1, 2), (2, 1)]);
        assert_eq!(loads.counts("bob"), [(1, 1)]);
        drop(held);
        assert_eq!(loads.counts("ann"), []);
        assert!(lock(&loads.0).is_empty());
    }
}

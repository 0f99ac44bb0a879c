//! Channels that an operator has drained, and resets of health: what operators do to channels while the process runs.

use super::live::ChannelStates;
use super::retained::health_fingerprints;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::Candidate;

impl ChannelStates {
    /// Drains a channel: new requests go to others, except those that an id binds to it. Returns `false` if it is
    /// drained already.
    pub fn drain(&self, channel: &Channel) -> bool {
        let name = channel.name.clone();
        self.drained.change(|names| names.insert(name))
    }

    /// Ends the drain of a channel. Returns `false` if it is not drained.
    pub fn undrain(&self, channel: &Channel) -> bool {
        let is_changed = self.drained.change(|names| names.remove(&channel.name));
        // Requests may wait for a channel that has room.
        self.freed.notify_waiters();
        is_changed
    }

    pub fn is_drained(&self, channel: &Channel) -> bool {
        self.drained.contains(&channel.name)
    }

    /// Whether the drain of its channel keeps new requests from a candidate.
    pub(super) fn is_drained_for(&self, candidate: &Candidate) -> bool {
        !candidate.is_bound && self.is_drained(&candidate.channel)
    }

    /// Ends the cool-downs of a channel, of its models and of its credentials, and forgets their failures. Returns the
    /// number of cool-downs that ended.
    pub fn reset_health(&self, channel: &Channel, catalog: &Catalog) -> usize {
        let health = |fingerprint| self.health(fingerprint);
        let found = health_fingerprints(channel, catalog).filter_map(health);
        let ended = found.filter(|health| health.reset()).count();
        self.freed.notify_waiters();
        ended
    }
}

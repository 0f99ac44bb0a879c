//! Whether a channel or one of its credentials is the only one left that can serve a model.

use super::clock::MonotonicTime;
use super::health_status::HealthStatus;
use super::live::ChannelStates;
use super::unusable::UnusableReason;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::Candidate;

impl ChannelStates {
    /// Whether `channel` serves a model that nothing else can serve now in one of the channel's protocols: neither a
    /// credential of the channel other than `key`, nor another channel.
    pub(super) fn is_sole_candidate(
        &self,
        channel: &Channel,
        key: Option<usize>,
        now: MonotonicTime,
    ) -> bool {
        let other_key = channel
            .credentials
            .iter()
            .enumerate()
            .any(|(place, other)| Some(place) != key && self.is_in_use(other.fingerprint, now));
        if other_key {
            return false;
        }
        let Some(catalog) = self.catalog() else {
            return true;
        };
        let is_this = |candidate: &Candidate| candidate.channel.fingerprint == channel.fingerprint;
        let has_other = |candidates: &[Candidate]| {
            candidates.iter().any(|other| {
                let reason = || self.unusable_reason(other, &[], now);
                !is_this(other) && !matches!(reason(), Some(UnusableReason::CoolingDown { .. }))
            })
        };
        let mut served = catalog
            .models_with_health()
            .filter(|model| model.all_candidates.iter().any(is_this))
            .peekable();
        if served.peek().is_none() {
            return true;
        }
        served.any(|model| {
            let mut protocols = channel.protocols.iter();
            protocols.any(|protocol| !has_other(&model.candidates(*protocol)))
        })
    }

    fn is_in_use(&self, fingerprint: u64, now: MonotonicTime) -> bool {
        let status = self.status(fingerprint, now);
        !matches!(status, HealthStatus::CoolingDown { .. })
    }
}

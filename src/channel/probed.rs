//! Active probes, as far as health is concerned: when one is of use, with which key, and what it has shown.

#[cfg(test)]
mod tests;

use super::chance::chance;
use super::clock::Moment;
use super::health::{Health, Leave, Standing, of_sole_credential};
use super::live::Channels;
use super::outcome::{Scope, Why};
use crate::catalog::channel::{Channel, Credential, Probe};
use crate::catalog::model::Candidate;
use std::sync::Arc;
use std::time::Duration;

/// A probe of a channel, with one of its keys. Dropped untold, it has shown nothing.
pub struct Probing {
    channels: Arc<Channels>,
    channel: Arc<Channel>,
    /// Which of the channel's keys; none where it has none.
    key: Option<usize>,
    /// Where the key was refused before, and this probe tries it.
    refused: Option<Arc<Health>>,
}

impl Channels {
    /// Begins a probe of `channel` with its `turn`th key or one behind it.
    ///
    /// None where a probe is of no use: a request was answered well since the last one, the provider
    /// wants to be left alone, or so it is with every key.
    pub fn probe(
        self: &Arc<Self>,
        channel: &Arc<Channel>,
        turn: usize,
        now: Moment,
    ) -> Option<Probing> {
        let probe = channel.health.probe?;
        match self.standing(channel.fingerprint, now) {
            Standing::Well if self.load(channel).was_well_within(probe.every, now) => return None,
            Standing::Cooling { softly: false, .. } => return None,
            Standing::Well | Standing::Cooling { .. } | Standing::OnProbation { .. } => {}
        }
        let probing = |key, refused| Probing {
            channels: self.clone(),
            channel: channel.clone(),
            key,
            refused,
        };
        let keys = channel.credentials.len();
        if keys == 0 {
            return Some(probing(None, None));
        }
        let mut in_turn = (0..keys).map(|offset| turn.wrapping_add(offset) % keys);
        in_turn.find_map(|key| {
            let fingerprint = channel.credentials[key].fingerprint;
            match self.standing(fingerprint, now) {
                Standing::Well => Some(probing(Some(key), None)),
                // Whether there is quota again, only a request can tell.
                Standing::OnProbation {
                    why: Why::CredentialRefused,
                } => {
                    let health = self.health(fingerprint)?;
                    health.ask(now)?;
                    Some(probing(Some(key), Some(health)))
                }
                Standing::OnProbation { .. } | Standing::Cooling { .. } => None,
            }
        })
    }

    /// The time between two probes of `channel`, as it stands.
    pub fn probed_every(&self, channel: &Channel, probe: Probe, now: Moment) -> Duration {
        let is_well = self.standing(channel.fingerprint, now) == Standing::Well;
        channel.health.probed_every(probe, is_well)
    }
}

impl Probing {
    /// What is shown to the provider.
    pub fn credential(&self) -> Option<&Credential> {
        self.channel.credentials.get(self.key?)
    }

    /// The provider answered well, or why not.
    pub fn tell(mut self, found: Result<(), Why>) {
        let outcome = found.map_or_else(Why::name, |()| "well");
        let channel = &*self.channel.name;
        self.channels.metrics.channels.probe(channel, outcome);
        tracing::debug!(
            channel,
            credential = self.key.map(|key| key + 1),
            outcome,
            "probed"
        );
        let now = Moment::now();
        match found {
            Ok(()) => self.well(now),
            Err(Why::CredentialRefused | Why::AccountRefused) => self.key_refused(now),
            // It is there, and wants fewer requests: nobody was kept waiting for this one.
            Err(Why::Busy | Why::NotHere) => {}
            Err(why @ (Why::Unreachable | Why::Broken | Why::Silent | Why::ProviderError)) => {
                self.channel_failed(why, now);
            }
        }
    }

    fn well(&mut self, now: Moment) {
        let whole = self.channels.health(self.channel.fingerprint);
        if whole.is_some_and(|health| health.probed_well(now)) {
            self.channels
                .note_recovery(&self.candidate(), Scope::Channel, self.key);
        }
        if let Some(refused) = self.refused.take()
            && refused.well(now, Leave::Probe)
        {
            self.channels
                .note_recovery(&self.candidate(), Scope::Credential, self.key);
        }
    }

    fn key_refused(&mut self, now: Moment) {
        let (scope, fingerprint) = match self.credential() {
            Some(credential) => (Scope::Credential, credential.fingerprint),
            None => (Scope::Channel, self.channel.fingerprint),
        };
        let (health, leave) = match self.refused.take() {
            Some(refused) => (refused, Leave::Probe),
            None => (self.channels.health_or_new(fingerprint), Leave::Free),
        };
        let (mut policy, why) = (self.channel.health, Why::CredentialRefused);
        if self.channels.serves_alone(&self.channel, self.key, now) {
            policy = of_sole_credential(policy);
        }
        if let Some(cooled) = health.failed(now, leave, &policy, why, None, chance()) {
            self.channels
                .note_cool_down(&self.candidate(), scope, self.key, cooled);
        }
    }

    fn channel_failed(&self, why: Why, now: Moment) {
        let health = self.channels.health_or_new(self.channel.fingerprint);
        let policy = self.channel.health.of_whole_channel();
        if let Some(cooled) = health.probe_failed(now, &policy, why, chance()) {
            self.channels
                .note_cool_down(&self.candidate(), Scope::Channel, self.key, cooled);
        }
    }

    fn candidate(&self) -> Candidate {
        Candidate::bound_to(self.channel.clone())
    }
}

impl Drop for Probing {
    fn drop(&mut self) {
        if let Some(refused) = &self.refused {
            refused.untold(Leave::Probe);
        }
    }
}

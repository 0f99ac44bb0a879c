//! A request's use of a channel, from the attempt's begin to its end; what became of it goes to the channel's health.

use super::chance::chance;
use super::clock::Moment;
use super::health::{Health, Leave, of_sole_credential};
use super::live::{Channels, Load};
use super::outcome::{Outcome, Scope, Why};
use crate::catalog::channel::Credential;
use crate::catalog::model::Candidate;
use memchr::memmem;
use std::sync::Arc;
use std::time::Duration;

/// The use of a channel, with one of its keys. Ends when it is dropped.
pub struct Lease {
    channels: Arc<Channels>,
    pub candidate: Candidate,
    /// Which of the channel's keys; none where it has none.
    pub key: Option<usize>,
    load: Arc<Load>,
    asked: [Asked; 3],
    told: bool,
}

/// What of a channel is used, and whether this use is a probe of it.
#[derive(Clone)]
pub(super) struct Asked {
    pub scope: Scope,
    pub fingerprint: Option<u64>,
    /// None where it never failed before.
    pub health: Option<(Arc<Health>, Leave)>,
}

impl Lease {
    /// `load` has begun, and ends with the lease.
    pub(super) fn new(
        channels: &Arc<Channels>,
        candidate: &Candidate,
        key: Option<usize>,
        load: Arc<Load>,
        asked: [Asked; 3],
    ) -> Self {
        Self {
            channels: channels.clone(),
            candidate: candidate.clone(),
            key,
            load,
            asked,
            told: false,
        }
    }

    /// What is shown to the provider.
    pub fn credential(&self) -> Option<&Credential> {
        self.candidate.channel.credentials.get(self.key?)
    }

    /// Whether `bytes` reveal a secret of the channel, or the credential however short it is.
    pub fn shows(&self, bytes: &[u8]) -> bool {
        let is_sent = self.credential().is_some_and(|credential| {
            let secret = credential.secret.expose().as_bytes();
            !secret.is_empty() && memmem::find(bytes, secret).is_some()
        });
        is_sent || self.candidate.channel.secrets.are_in_header(bytes)
    }

    /// What became of the attempt. A success may still be followed by the failure of its stream.
    pub fn tell(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Well => self.well(),
            Outcome::Failed { why, retry_after } => self.failed(why, retry_after),
        }
        // What it tells later is as much worth as the word of anybody.
        for asked in &mut self.asked {
            if let Some((_, leave)) = &mut asked.health {
                *leave = Leave::Free;
            }
        }
        self.told = true;
    }

    /// The answer is kept: a probe has found what it was sent for. Other uses wait for its end.
    pub fn tell_committed(&mut self) {
        let is_probe = |asked: &Asked| matches!(asked.health, Some((_, Leave::Probe)));
        if self.asked.iter().any(is_probe) {
            self.tell(Outcome::Well);
        }
    }

    /// The answer took so many tokens.
    pub fn spend(&self, tokens: u64) {
        let limits = &self.candidate.channel.limits;
        self.load.spend(limits, tokens, Moment::now());
    }

    fn well(&self) {
        let now = Moment::now();
        self.load.was_well(now);
        for asked in &self.asked {
            if let Some((health, leave)) = &asked.health
                && health.well(now, *leave)
            {
                self.channels
                    .note_recovery(&self.candidate, asked.scope, self.key);
            }
        }
    }

    fn failed(&self, why: Why, retry_after: Option<Duration>) {
        let channel = &self.candidate.channel;
        let now = Moment::now();
        let mut scope = why.scope(channel.credentials.len());
        // What names no model and needs no key is the channel as a whole.
        if self.fingerprint(scope).is_none() {
            scope = Scope::Channel;
        }
        let mut policy = match scope {
            Scope::Channel => channel.health.of_whole_channel(),
            Scope::Model | Scope::Credential => channel.health,
        };
        if why.is_about_a_key() && self.channels.serves_alone(channel, self.key, now) {
            policy = of_sole_credential(policy);
        }
        for asked in &self.asked {
            let (Some(fingerprint), true) = (asked.fingerprint, asked.scope == scope) else {
                if let Some((health, leave)) = &asked.health {
                    health.untold(*leave);
                }
                continue;
            };
            let (health, leave) = match &asked.health {
                Some((health, leave)) => (health.clone(), *leave),
                None => (self.channels.health_or_new(fingerprint), Leave::Free),
            };
            let cooled = health.failed(now, leave, &policy, why, retry_after, chance());
            if let Some(cooled) = cooled {
                self.channels
                    .note_cool_down(&self.candidate, scope, self.key, cooled);
            }
        }
    }

    fn fingerprint(&self, scope: Scope) -> Option<u64> {
        self.asked
            .iter()
            .find(|asked| asked.scope == scope)?
            .fingerprint
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.load.end();
        if !self.told {
            for asked in &self.asked {
                if let Some((health, leave)) = &asked.health {
                    health.untold(*leave);
                }
            }
        }
        self.channels.freed.notify_waiters();
    }
}

impl Channels {
    pub(super) fn note_cool_down(
        &self,
        candidate: &Candidate,
        scope: Scope,
        key: Option<usize>,
        cooled: super::health::Cooled,
    ) {
        let channel = &*candidate.channel.name;
        self.metrics.channels.cool_down(channel, cooled.why.name());
        let message = match cooled.why.is_about_a_key() {
            true => "the provider refused a credential",
            false => "left alone for a while",
        };
        tracing::warn!(
            channel,
            model = candidate.model.as_ref().map(|model| &*model.name),
            scope = scope.name(),
            credential = key.map(|key| key + 1),
            why = cooled.why.name(),
            seconds = cooled.span.as_secs_f64(),
            "{message}"
        );
    }

    pub(super) fn note_recovery(&self, candidate: &Candidate, scope: Scope, key: Option<usize>) {
        let channel = &*candidate.channel.name;
        tracing::info!(
            channel,
            model = candidate.model.as_ref().map(|model| &*model.name),
            scope = scope.name(),
            credential = key.map(|key| key + 1),
            "in use again"
        );
    }
}

impl Scope {
    /// The word for logs and the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Model => "model",
            Self::Credential => "credential",
        }
    }
}

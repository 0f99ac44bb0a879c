//! What is known of every channel right now; kept by fingerprint, so that a reload forgets nothing.

use super::clock::Moment;
use super::health::Health;
use crate::catalog::channel::{Channel, ChannelLimits};
use crate::observe::metrics::Metrics;
use crate::state::window::Window;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::Notify;

/// The live state of all channels.
pub struct Channels {
    loads: RwLock<ByFingerprint<Arc<Load>>>,
    /// Of channels, models on them and keys; only what has failed once is here.
    healths: RwLock<ByFingerprint<Arc<Health>>>,
    /// Told whenever a channel has room again.
    pub freed: Notify,
    pub(super) metrics: Arc<Metrics>,
}

/// What a channel is doing.
#[derive(Debug, Default)]
pub struct Load {
    in_flight: AtomicU32,
    minute: Mutex<Minute>,
    turn: AtomicU32,
}

/// A limit that a channel has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    InFlight,
    RequestsPerMinute,
    TokensPerMinute,
}

#[derive(Debug, Default)]
struct Minute {
    requests: Window,
    tokens: Window,
}

/// Fingerprints are hashes already.
type ByFingerprint<T> = HashMap<u64, T, BuildHasherDefault<AsIs>>;

#[derive(Default)]
struct AsIs(u64);

impl Channels {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            loads: RwLock::default(),
            healths: RwLock::default(),
            freed: Notify::new(),
            metrics,
        }
    }

    /// What `channel` is doing.
    pub fn load(&self, channel: &Channel) -> Arc<Load> {
        let known = self
            .loads
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&channel.fingerprint)
            .cloned();
        known.unwrap_or_else(|| {
            self.loads
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(channel.fingerprint)
                .or_default()
                .clone()
        })
    }

    /// The health of what has this fingerprint; none if it never failed.
    pub fn health(&self, fingerprint: u64) -> Option<Arc<Health>> {
        self.healths
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&fingerprint)
            .cloned()
    }

    /// As [`Self::health`], for what fails now.
    pub(super) fn health_or_new(&self, fingerprint: u64) -> Arc<Health> {
        self.health(fingerprint).unwrap_or_else(|| {
            self.healths
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(fingerprint)
                .or_default()
                .clone()
        })
    }
}

impl Load {
    /// Requests under way.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The limit that keeps another request out, if any.
    pub fn reached(&self, limits: &ChannelLimits, now: Moment) -> Option<Reached> {
        let ChannelLimits {
            in_flight,
            requests_per_minute,
            tokens_per_minute,
        } = *limits;
        if in_flight.is_some_and(|most| self.in_flight() >= most) {
            return Some(Reached::InFlight);
        }
        if requests_per_minute.is_none() && tokens_per_minute.is_none() {
            return None;
        }
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        if requests_per_minute.is_some_and(|most| minute.requests.sum(now.0) >= most) {
            return Some(Reached::RequestsPerMinute);
        }
        if tokens_per_minute.is_some_and(|most| minute.tokens.sum(now.0) >= most) {
            return Some(Reached::TokensPerMinute);
        }
        None
    }

    /// A number that differs from request to request, for using keys in turn.
    pub(super) fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed) as usize
    }

    pub(super) fn begin(&self, limits: &ChannelLimits, now: Moment) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        if limits.requests_per_minute.is_some() {
            let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
            minute.requests.add(now.0, 1);
        }
    }

    pub(super) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn spend(&self, limits: &ChannelLimits, tokens: u64, now: Moment) {
        if limits.tokens_per_minute.is_some() {
            let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
            minute.tokens.add(now.0, tokens);
        }
    }
}

impl Reached {
    /// The key of the limit in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::InFlight => "in_flight",
            Self::RequestsPerMinute => "requests_per_minute",
            Self::TokensPerMinute => "tokens_per_minute",
        }
    }
}

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = fingerprint;
    }
}

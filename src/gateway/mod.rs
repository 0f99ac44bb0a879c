//! The Pingora service: listeners, the exchange and its two sides. The only module that names Pingora.

pub mod app_service;
mod attempt;
mod attempts;
mod caller_connections;
mod client_tls;
mod connections;
mod downstream;
mod exchange;
mod fault_from;
mod head;
mod hygiene;
mod judge;
mod lawful;
pub mod listen;
mod prepare;
pub mod preview;
mod record;
mod refusal;
mod relay;
mod relay_stream;
mod reply;
mod request_id;
mod service;
mod upstream;

use crate::channel::budget::RetryBudget;
use crate::channel::live::Channels;
use crate::observe::access_log::AccessLog;
use crate::observe::metrics::Metrics;
use crate::reload::Reloader;
use caller_connections::CallerConnections;
use std::sync::Arc;
use upstream::Upstream;

/// What all exchanges of a process share.
pub struct Gateway {
    reloader: Arc<Reloader>,
    upstream: Upstream,
    channels: Arc<Channels>,
    budget: RetryBudget,
    metrics: Arc<Metrics>,
    access_log: Arc<AccessLog>,
    caller_connections: Arc<CallerConnections>,
}

impl Gateway {
    pub fn new(
        reloader: Arc<Reloader>,
        channels: Arc<Channels>,
        metrics: Arc<Metrics>,
        access_log: Arc<AccessLog>,
    ) -> Self {
        Self {
            reloader,
            upstream: Upstream::new(),
            channels,
            budget: RetryBudget::default(),
            metrics,
            access_log,
            caller_connections: Arc::default(),
        }
    }
}

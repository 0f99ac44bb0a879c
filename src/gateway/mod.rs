//! The Pingora service: listeners, the exchange and its two sides. The only module that names Pingora.

mod accept;
pub mod app_service;
mod attempt;
mod client_stream;
mod client_tls;
mod connections;
mod downstream;
mod exchange;
mod fault_from;
mod head;
mod hygiene;
pub mod listen;
mod prepare;
pub mod preview;
mod record;
mod refusal;
mod relay;
mod relay_stream;
mod reply;
mod request_id;
pub mod service;
pub mod stages;
mod upstream;

use crate::observe::access_log::AccessLog;
use crate::observe::metrics::Metrics;
use crate::reload::Reloader;
use stages::Stages;
use std::sync::Arc;
use upstream::Upstream;

/// What all exchanges of a process share.
pub struct Gateway {
    reloader: Arc<Reloader>,
    upstream: Upstream,
    metrics: Arc<Metrics>,
    access_log: Arc<AccessLog>,
    stages: Arc<Stages>,
}

impl Gateway {
    pub fn new(
        reloader: Arc<Reloader>,
        metrics: Arc<Metrics>,
        access_log: Arc<AccessLog>,
        stages: Arc<Stages>,
    ) -> Self {
        Self {
            reloader,
            upstream: Upstream::new(),
            metrics,
            access_log,
            stages,
        }
    }
}

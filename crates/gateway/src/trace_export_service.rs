//! Runs the exporter of traces in the background, with the configuration in use.

use super::listen::drain_state::{DrainState, until_set};
use super::upstream::UpstreamClient;
use super::upstream::service::UpstreamCalloutClient;
use async_trait::async_trait;
use headgate_channel::address_cache::AddressCache;
use headgate_config::reload::SnapshotReloader;
use headgate_tracing::TraceExporter;
use pingora_core::server::ShutdownWatch;
use pingora_core::services::background::BackgroundService;
use std::sync::Arc;
use std::time::Duration;

/// How long the process waits for the last export before it ends.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

/// The exporter of the process. It has connections of its own, like the prober.
pub struct TraceExportService {
    reloader: Arc<SnapshotReloader>,
    addresses: AddressCache,
    drain_state: Arc<DrainState>,
}

impl TraceExportService {
    pub fn new(
        reloader: Arc<SnapshotReloader>,
        addresses: AddressCache,
        drain_state: Arc<DrainState>,
    ) -> Self {
        Self {
            reloader,
            addresses,
            drain_state,
        }
    }
}

#[async_trait]
impl BackgroundService for TraceExportService {
    /// Runs until the process has drained, since exchanges end until then.
    async fn start(&self, _: ShutdownWatch) {
        let upstream = Arc::new(UpstreamClient::new(self.addresses.clone()));
        let client = Box::new(UpstreamCalloutClient::new(upstream));
        let mut exporter = TraceExporter::new(self.reloader.traces().clone(), client);
        let current = || self.reloader.current().tracing.clone();
        tokio::select! {
            () = exporter.run(current) => {}
            () = until_set(self.drain_state.ending()) => {}
        }
        exporter.finish(FINISH_WITHIN, current).await;
        self.drain_state.background_ended();
    }
}

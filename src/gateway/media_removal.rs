//! Removes expired files of the media store, at intervals.

use crate::reload::Reloader;
use async_trait::async_trait;
use pingora_core::server::ShutdownWatch;
use pingora_core::services::background::BackgroundService;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Expiry is checked whenever a file is read; removal only frees space.
const INTERVAL: Duration = Duration::from_secs(60);

/// Removes expired files, while the process serves.
pub struct MediaRemover {
    reloader: Arc<Reloader>,
}

impl MediaRemover {
    pub fn new(reloader: Arc<Reloader>) -> Self {
        Self { reloader }
    }
}

#[async_trait]
impl BackgroundService for MediaRemover {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        loop {
            tokio::select! {
                () = sleep(INTERVAL) => {}
                _ = shutdown.changed() => return,
            }
            let media = self.reloader.current().media.clone();
            match media.remove_expired().await {
                Ok(0) => {}
                Ok(files) => tracing::info!(files, "expired media files were removed"),
                Err(error) => {
                    tracing::error!(%error, "cannot remove expired media files; the next attempt follows in a minute")
                }
            }
        }
    }
}

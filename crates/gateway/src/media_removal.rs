//! Removes files of the media store that nobody needs, and counts the others, at intervals.

use async_trait::async_trait;
use headgate_config::reload::Reloader;
use headgate_media::MediaLocation;
use headgate_media::MediaStore;
use pingora_core::server::ShutdownWatch;
use pingora_core::services::background::BackgroundService;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Expiry is checked whenever a file is read; removal only frees space.
const INTERVAL: Duration = Duration::from_secs(60);
/// Files are counted in each fifth round.
const ROUNDS_PER_COUNT: u64 = 5;
/// Files without a record are removed in each sixtieth round, not in the first, in which many gateways may start.
const ROUNDS_PER_SWEEP: u64 = 60;

/// Removes and counts files, while the process serves.
pub struct MediaRemover {
    reloader: Arc<Reloader>,
}

impl MediaRemover {
    pub fn new(reloader: Arc<Reloader>) -> Self {
        Self { reloader }
    }

    /// Reports at the start what would otherwise fail with the first file of a caller.
    async fn check_bucket(&self) {
        let media = self.reloader.current().features.get::<MediaStore>();
        if let MediaLocation::Bucket(_) = &media.settings.location
            && let Err(error) = media.check_bucket().await
        {
            tracing::error!(%error, "cannot write to the media store");
        }
    }

    async fn run_round(&self, round: u64) {
        let media = self.reloader.current().features.get::<MediaStore>();
        match media.remove_expired().await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "expired media files were removed"),
            Err(error) => {
                tracing::error!(%error, "cannot remove expired media files; the next attempt follows in a minute");
            }
        }
        if round % ROUNDS_PER_COUNT == 1
            && let Err(error) = media.count_objects().await
        {
            tracing::error!(%error, "cannot count media files");
        }
        if round.is_multiple_of(ROUNDS_PER_SWEEP) {
            match media.remove_leftovers().await {
                Ok(0) => {}
                Ok(files) => tracing::info!(files, "media files without a record were removed"),
                Err(error) => {
                    tracing::error!(%error, "cannot remove media files without a record; the next attempt follows in an hour");
                }
            }
        }
    }
}

#[async_trait]
impl BackgroundService for MediaRemover {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let rounds = async {
            self.check_bucket().await;
            for round in 1.. {
                self.run_round(round).await;
                sleep(INTERVAL).await;
            }
        };
        tokio::select! {
            () = rounds => {}
            _ = shutdown.changed() => {}
        }
    }
}

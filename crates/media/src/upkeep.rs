//! Removes files of the media store that nobody needs, and counts the others, at intervals.

use crate::{MediaLocation, MediaStore};
use headgate_core::feature::background::BackgroundContext;
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
pub(crate) async fn run(context: BackgroundContext) {
    let current = || (context.current)().features.get::<MediaStore>();
    check_bucket(&current()).await;
    for round in 1.. {
        run_round(&current(), round).await;
        sleep(INTERVAL).await;
    }
}

/// Reports at the start what would otherwise fail with the first file of a caller.
async fn check_bucket(media: &Arc<MediaStore>) {
    if let MediaLocation::Bucket { .. } = &media.settings.location
        && let Err(error) = media.check_bucket().await
    {
        tracing::error!(%error, "cannot write to the media store");
    }
}

async fn run_round(media: &Arc<MediaStore>, round: u64) {
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

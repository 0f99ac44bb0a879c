//! The place of the client for requests to buckets, which is known after the first configuration.

use headgate_core::outgoing::bucket_client::BucketClient;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Has the client of the process, once it is known.
#[derive(Default)]
pub struct BucketClientSlot(OnceLock<Arc<dyn BucketClient>>);

impl BucketClientSlot {
    /// Sets the client. The process has one.
    pub fn set(&self, client: Arc<dyn BucketClient>) {
        let _ = self.0.set(client);
    }

    pub(crate) fn client(&self) -> Option<&Arc<dyn BucketClient>> {
        self.0.get()
    }
}

impl fmt::Debug for BucketClientSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketClientSlot").finish_non_exhaustive()
    }
}

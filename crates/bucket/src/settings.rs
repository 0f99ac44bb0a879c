//! A bucket as built, and its opening.

use crate::BucketClientSlot;
use crate::connector::SlotConnector;
use crate::signing::BucketCryptoProvider;
use object_store::RetryConfig;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The first retry of a request to a bucket follows after a tenth of a second.
const BUCKET_RETRIES: usize = 2;
/// The longest that requests to a bucket are repeated.
const BUCKET_RETRY_TIMEOUT: Duration = Duration::from_secs(30);

/// A bucket of an S3-compatible server.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketSettings {
    /// Scheme, host and port.
    pub endpoint: String,
    pub region: String,
    pub bucket: String,
    /// The start of the names of all objects; empty for none.
    pub prefix: String,
    /// Whether the bucket is in the path of a URL, not in its host.
    pub has_bucket_in_path: bool,
    pub access_key_id: String,
    pub secret_access_key: String,
}

impl BucketSettings {
    /// Access to the bucket with the client of `slot`. Connects to nothing.
    ///
    /// # Errors
    /// The settings cannot be those of a bucket.
    pub fn open(&self, slot: &Arc<BucketClientSlot>) -> object_store::Result<AmazonS3> {
        AmazonS3Builder::new()
            .with_endpoint(&self.endpoint)
            .with_allow_http(self.endpoint.starts_with("http://"))
            .with_virtual_hosted_style_request(!self.has_bucket_in_path)
            .with_region(&self.region)
            .with_bucket_name(&self.bucket)
            .with_access_key_id(&self.access_key_id)
            .with_secret_access_key(&self.secret_access_key)
            // Hashing each part once more would take the time of a worker thread; TLS protects it on its way.
            .with_unsigned_payload(true)
            // Requests that remove one object each need no MD5.
            .with_disable_bulk_delete(true)
            .with_crypto_provider(Arc::new(BucketCryptoProvider))
            .with_http_connector(SlotConnector(slot.clone()))
            .with_retry(RetryConfig {
                max_retries: BUCKET_RETRIES,
                retry_timeout: BUCKET_RETRY_TIMEOUT,
                ..RetryConfig::default()
            })
            .build()
    }
}

impl fmt::Debug for BucketSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketSettings")
            .field("endpoint", &self.endpoint)
            .field("bucket", &self.bucket)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

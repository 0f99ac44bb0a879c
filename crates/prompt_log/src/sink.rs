//! A sink as configured: where records are written, and the limits.

use crate::batch::{PromptBatch, RefusedBatch};
use crate::otlp::PromptCollector;
use bytes::Bytes;
use headgate_core::outgoing::delivery_client::DeliveryClient;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{Attribute, Attributes, ObjectStore, PutOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The sinks of a configuration, by name.
pub(crate) struct PromptSinks {
    pub by_name: BTreeMap<String, Arc<PromptSink>>,
    /// All names in the file, also those of sinks with errors.
    pub declared: BTreeSet<String>,
}

/// A sink.
pub(crate) struct PromptSink {
    pub target: PromptSinkTarget,
    /// The name of the gateway in records.
    pub gateway: Arc<str>,
    /// The bytes that records may take in memory.
    pub bytes_max: usize,
    /// The bytes that are kept of a body.
    pub body_bytes_max: usize,
    /// How long a record waits for others.
    pub flush: Duration,
    /// Whether a filter of the configuration names it.
    pub is_used: AtomicBool,
}

/// Where records are written.
pub(crate) enum PromptSinkTarget {
    Bucket { store: AmazonS3, prefix: Path },
    Collector(PromptCollector),
}

impl PromptSinkTarget {
    /// Writes a batch. Writing it again has the same result.
    ///
    /// # Errors
    /// It may not be stored.
    pub async fn write(
        &self,
        batch: &PromptBatch,
        client: &dyn DeliveryClient,
    ) -> Result<(), RefusedBatch> {
        match self {
            Self::Collector(collector) => collector.send(batch, client).await,
            Self::Bucket { store, prefix } => {
                let path: Path = prefix.parts().chain(batch.path.parts()).collect();
                let content_type = (Attribute::ContentType, "application/gzip");
                let options = PutOptions {
                    attributes: Attributes::from_iter([content_type]),
                    ..PutOptions::default()
                };
                let content = Bytes::from(batch.compressed_lines());
                let written = store.put_opts(&path, content.into(), options).await;
                written
                    .map(drop)
                    .map_err(|error| RefusedBatch::for_now(error.to_string()))
            }
        }
    }
}

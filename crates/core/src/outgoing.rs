//! Interfaces to whoever sends requests of features to servers that are no channels: the gateway, with its own client.

pub mod bucket_client;
pub mod delivery_client;
pub mod event_delivery;

use bucket_client::BucketClient;
use std::sync::Arc;

/// The clients of a process, which are known after its first configuration.
pub struct OutgoingClients {
    pub buckets: Arc<dyn BucketClient>,
}

//! What the requests of a batch must be: of an endpoint with a schema, within limits, for models of channels that take batches.

use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::filter::descriptor::BuildContext;
use headgate_protocol::Protocol;
use headgate_protocol::batch::BatchFormat;
use headgate_schema::CompiledSchema;
use std::sync::Arc;

/// What the requests of a batch must be.
pub struct BatchRules {
    pub catalog: Arc<Catalog>,
    pub endpoints: Vec<BatchEndpoint>,
    /// The format of batches, which a protocol of each channel has that takes them.
    pub format: BatchFormat,
    pub requests_max: usize,
    pub request_bytes_max: u64,
    /// Estimated output tokens of a request that sets no maximum.
    pub default_output_tokens: u64,
    /// What a token of a batch costs, in percent of one in a request of its own.
    pub price_percent: u8,
}

/// An endpoint whose requests a batch may have.
pub struct BatchEndpoint {
    pub protocol: Protocol,
    /// The path in the provider's API, which is the `url` of lines.
    pub url: &'static str,
    pub schema: Arc<CompiledSchema>,
}

impl BatchRules {
    /// Whether a channel may get batches. The condition of a channel is about requests with one model, and a base URL with
    /// a model in it has no batches.
    pub fn takes_batches(&self, channel: &Channel) -> bool {
        let mut protocols = channel.protocols.iter();
        protocols.any(|protocol| protocol.descriptor().batch == Some(self.format))
            && channel.condition.is_none()
            && !channel.origin.base_path.names_model()
    }
}

impl BatchEndpoint {
    /// The endpoints of the routes of this gateway whose requests have a model and a schema.
    pub fn with_routes(context: &BuildContext<'_>) -> Vec<Self> {
        let protocols = context.endpoints.iter().map(|endpoint| endpoint.protocol);
        protocols
            .filter_map(|protocol| Self::new(protocol, context))
            .collect()
    }

    /// The endpoint of a protocol; `None` if its requests have no schema, or no path.
    pub fn new(protocol: Protocol, context: &BuildContext<'_>) -> Option<Self> {
        let descriptor = protocol.descriptor();
        let is_text = descriptor.tasks.is_none() && !descriptor.path.is_empty();
        let schema = is_text.then(|| context.schemas.request_schema(protocol));
        Some(Self {
            protocol,
            url: descriptor.path,
            schema: schema?.ok()?,
        })
    }
}

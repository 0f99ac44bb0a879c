//! Everything that the simulated provider keeps between requests.

use super::batch_store::BatchStore;
use super::directive_resolver::DirectiveResolver;
use super::ids::IdGenerator;
use super::input_media_download::InputMediaDownloadLog;
use super::options::SimulatorDefaults;
use super::request_log::{self, RequestLog};
use super::resource_store::ResourceStore;
use super::responses::ResponseStore;
use super::video_task::VideoTaskStore;
use std::sync::Arc;

/// Everything that the simulated provider keeps between requests.
pub struct ProviderState {
    pub options: SimulatorDefaults,
    pub directives: DirectiveResolver,
    pub request_log: Arc<RequestLog>,
    pub ids: IdGenerator,
    pub responses: ResponseStore,
    pub resources: ResourceStore,
    pub batches: BatchStore,
    pub tasks: Arc<VideoTaskStore>,
    pub media_downloads: Arc<InputMediaDownloadLog>,
}

impl ProviderState {
    /// The state of a provider without requests.
    pub fn new(options: SimulatorDefaults) -> Self {
        Self {
            directives: DirectiveResolver::default(),
            request_log: Arc::new(RequestLog::new(
                options.record.then_some(request_log::LIMITS),
            )),
            ids: IdGenerator::new(),
            responses: ResponseStore::default(),
            resources: ResourceStore::default(),
            batches: BatchStore::default(),
            tasks: Arc::default(),
            media_downloads: Arc::default(),
            options,
        }
    }
}

//! The simulated provider: three text protocols, image edits and both video families, with realistic answers, faults on demand, and a record of what came.

pub mod http_response;
pub mod server;

mod api_error;
mod chat;
mod clock;
mod control;
mod dialect;
mod directive;
mod directive_resolver;
mod directive_value;
mod endpoint;
mod endpoint_result;
mod event;
mod headers;
mod ids;
mod images;
mod json;
mod known_directives;
mod media;
mod messages;
mod model_output;
mod model_request;
mod models;
mod options;
mod query;
mod received_request;
mod request_context;
mod request_log;
mod request_record;
mod resource_store;
mod responses;
mod schema_value;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod video;

pub use options::SimulatorOptions;

use bytes::Bytes;
use directive_resolver::DirectiveResolver;
use http::Request;
use http_response::SimulatedResponse;
use ids::IdGenerator;
use request_log::RequestLog;
use std::sync::Arc;

/// A provider that answers without a model.
///
/// Any non-empty credential will do. Faults, sizes and paces come as directives (`delay=500ms;
/// status=429`) in the header `x-simulate`, in a first path segment `/~delay=500ms;status=429`,
/// or as the standing order of `PUT /_simulate/directives`; `GET` there lists them all. What was
/// received is told under `/_simulate/requests` and `/_simulate/open`, and the video tasks it made
/// under `/_simulate/tasks`.
pub struct Simulator {
    options: SimulatorOptions,
    directives: DirectiveResolver,
    request_log: Arc<RequestLog>,
    ids: IdGenerator,
    responses: responses::ResponseStore,
    resources: resource_store::ResourceStore,
    tasks: video::VideoTaskStore,
}

impl Simulator {
    pub fn new(options: SimulatorOptions) -> Self {
        Self {
            directives: DirectiveResolver::default(),
            request_log: Arc::new(RequestLog::new(
                options.record.then_some(request_log::LIMITS),
            )),
            ids: IdGenerator::new(),
            responses: responses::ResponseStore::default(),
            resources: resource_store::ResourceStore::default(),
            tasks: video::VideoTaskStore::default(),
            options,
        }
    }

    /// Answers one request whose body was read whole. A client that leaves drops the future; once an
    /// answer streams, its channel is closed instead, so that a sender waiting on it learns of it at once.
    pub async fn respond(&self, request: Request<Bytes>) -> SimulatedResponse {
        if request.uri().path().starts_with(control::PREFIX) {
            control::respond(self, &request)
        } else {
            received_request::respond(self, request).await
        }
    }
}

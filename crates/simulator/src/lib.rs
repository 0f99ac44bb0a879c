//! A simulated provider: text, image and video protocols, faults on demand, and a log of received requests.

pub mod http_response;
pub mod server;

mod api_error;
mod batch_operation;
mod batch_store;
mod batches;
mod chat;
mod clock;
mod completions;
mod control;
mod conversation_step;
mod converse;
mod dialect;
mod directive;
mod directive_resolver;
mod directive_value;
mod embeddings;
mod endpoint;
mod endpoint_result;
mod event;
mod gemini;
mod headers;
mod http_post;
mod ids;
mod images;
mod input_media_download;
mod interrupted_response;
mod json;
mod known_directives;
mod media;
mod messages;
mod model_call;
mod model_output;
mod model_request;
mod models;
mod moderations;
mod options;
mod provider_state;
mod query;
mod realtime;
mod received_request;
mod request_context;
mod request_log;
mod request_record;
mod requested_model;
mod rerank;
mod resource_store;
mod responses;
mod schema_value;
mod speech;
mod stream;
mod task_callback;
mod task_directives;
#[cfg(test)]
mod tests;
mod text;
mod text_inputs;
mod thought_signature;
mod transcription;
mod vendor_tasks;
mod vendors;
mod video;
mod video_operation;
mod video_task;

pub use options::SimulatorDefaults;

use bytes::Bytes;
use http::Request;
use http::request::Parts;
use http_response::SimulatedResponse;
use provider_state::ProviderState;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// A provider that responds without a model.
///
/// It accepts any non-empty credential. Directives control faults, sizes and paces (`delay=500ms; status=429`); they
/// are sent in the header `x-simulate`, in a first path segment `/~delay=500ms;status=429`, or as the default with `PUT
/// /_simulate/directives`, and `GET` there lists them all. Received requests are listed under `/_simulate/requests` and
/// `/_simulate/open`, video tasks under `/_simulate/tasks`, and the files that creates name by
/// URLs of a media store, which are downloaded, under `/_simulate/media`.
pub struct Simulator(ProviderState);

impl Simulator {
    pub fn new(options: SimulatorDefaults) -> Self {
        Self(ProviderState::new(options))
    }

    /// Serves a session whose handshake was answered with 101 (Switching Protocols), until its client leaves.
    pub async fn serve_session<S>(&self, stream: S, head: &Parts)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let pace = Duration::from_millis(self.0.options.event_ms);
        realtime::serve(stream, head, &self.0.ids, pace).await;
    }

    /// Responds to one request whose body was read completely. If the client leaves, the future is dropped; once a
    /// response streams, its channel is closed instead, so that a waiting sender notices at once.
    pub async fn respond(&self, request: Request<Bytes>) -> SimulatedResponse {
        if request.uri().path().starts_with(control::PREFIX) {
            control::respond(&self.0, &request)
        } else {
            received_request::respond(&self.0, request).await
        }
    }
}

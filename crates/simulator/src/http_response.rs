//! A response of the simulated provider, independent of the HTTP server.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::sync::mpsc;

/// A response: status, headers and a body that is complete or streamed.
pub struct SimulatedResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: SimulatedBody,
}

/// The body of a [`SimulatedResponse`].
pub enum SimulatedBody {
    /// Sent with its exact Content-Length.
    Full(Bytes),
    /// Sent piece by piece, each flushed; the stream ends cleanly when the sender is dropped.
    Stream(mpsc::Receiver<BodyChunk>),
}

/// A piece of a streamed body.
pub enum BodyChunk {
    Data(Bytes),
    /// Closes the connection without a clean end.
    Cut,
}

impl SimulatedResponse {
    /// A response with a complete body.
    pub fn full(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: content_type_header(content_type),
            body: SimulatedBody::Full(body.into()),
        }
    }

    /// A response with a JSON body.
    pub fn json(status: StatusCode, body: &serde_json::Value) -> Self {
        Self::full(status, "application/json", body.to_string())
    }

    /// A `200` with a streamed body.
    pub fn stream(content_type: &'static str, body: mpsc::Receiver<BodyChunk>) -> Self {
        Self {
            status: StatusCode::OK,
            headers: content_type_header(content_type),
            body: SimulatedBody::Stream(body),
        }
    }
}

fn content_type_header(content_type: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))])
}

//! An answer of the simulated provider, without naming the server that sends it.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::sync::mpsc;

/// An answer: status, headers and a body that is either known or still to come.
pub struct SimulatedResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: SimulatedBody,
}

/// The body of an [`SimulatedResponse`].
pub enum SimulatedBody {
    /// Sent with its exact Content-Length.
    Full(Bytes),
    /// Sent as it comes, each chunk flushed; the sender's drop ends it cleanly.
    Stream(mpsc::Receiver<BodyChunk>),
}

/// A piece of a streamed body.
pub enum BodyChunk {
    Data(Bytes),
    /// The connection is torn down without a clean end.
    Cut,
}

impl SimulatedResponse {
    /// An answer with a known body.
    pub fn full(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: content_type_header(content_type),
            body: SimulatedBody::Full(body.into()),
        }
    }

    /// An answer with a JSON body.
    pub fn json(status: StatusCode, body: &serde_json::Value) -> Self {
        Self::full(status, "application/json", body.to_string())
    }

    /// A `200` whose body is streamed.
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

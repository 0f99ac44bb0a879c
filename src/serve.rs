//! What an application of ours (the admin pages, the simulated provider) is, without naming the server that runs it.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use std::future::Future;
use tokio::sync::mpsc;

/// Answers requests whose body was read whole.
///
/// When the client leaves, the future of [`App::answer`] is dropped; once an answer streams, its
/// channel is closed instead, so that a sender waiting on it learns of it at once.
pub trait App: Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, request: Request<Bytes>) -> impl Future<Output = Answer> + Send;
}

/// An answer: status, headers and a body that is either known or still to come.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Body,
}

/// The body of an [`Answer`].
pub enum Body {
    /// Sent with its exact Content-Length.
    Full(Bytes),
    /// Sent as it comes, each chunk flushed; the sender's drop ends it cleanly.
    Stream(mpsc::Receiver<Chunk>),
}

/// A piece of a streamed body.
pub enum Chunk {
    Data(Bytes),
    /// The connection is torn down without a clean end.
    Cut,
}

impl Answer {
    /// An answer with a known body.
    pub fn full(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: content_type_header(content_type),
            body: Body::Full(body.into()),
        }
    }

    /// An answer with a JSON body.
    pub fn json(status: StatusCode, body: &serde_json::Value) -> Self {
        Self::full(status, "application/json", body.to_string())
    }

    /// A `200` whose body is streamed.
    pub fn stream(content_type: &'static str, body: mpsc::Receiver<Chunk>) -> Self {
        Self {
            status: StatusCode::OK,
            headers: content_type_header(content_type),
            body: Body::Stream(body),
        }
    }
}

fn content_type_header(content_type: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))])
}

//! The successful result of an endpoint: a whole response, a delayed one, or a stream.

use super::json::JsonText;
use super::request_record::ResponseEnd;
use super::stream::EventStream;
use async_trait::async_trait;
use bytes::Bytes;
use std::time::Duration;

/// A successful result.
pub enum EndpointResult {
    Whole(JsonText),
    Ready(Bytes),
    /// A response with an additional delay.
    Late(JsonText, Duration),
    /// The content of a file, with its type.
    Content(&'static str, Bytes),
    Stream(Box<dyn StreamedResponse>),
}

/// A response that streams.
#[async_trait]
pub trait StreamedResponse: Send + Sync {
    /// Sends every event, unless the stream ends before.
    async fn send(&self, stream: &mut EventStream) -> Result<(), ResponseEnd>;
}

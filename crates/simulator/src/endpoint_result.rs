//! What an endpoint answers where all is well: whole, later, or as a stream.

use super::json::JsonText;
use super::request_record::ResponseEnd;
use super::stream::EventStream;
use async_trait::async_trait;
use bytes::Bytes;
use std::time::Duration;

/// A good answer.
pub enum EndpointResult {
    Whole(JsonText),
    Ready(Bytes),
    /// What takes so much longer than other answers.
    Late(JsonText, Duration),
    /// The content of a file, with its type.
    Content(&'static str, Bytes),
    Stream(Box<dyn StreamedResponse>),
}

/// A good answer that streams.
#[async_trait]
pub trait StreamedResponse: Send + Sync {
    /// Sends every event, unless the stream ends before.
    async fn send(&self, stream: &mut EventStream) -> Result<(), ResponseEnd>;
}

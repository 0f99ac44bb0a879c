//! The successful result of an endpoint: a whole response, a delayed one, or a stream.

use super::json::JsonText;
use super::request_record::ResponseEnd;
use super::stream::EventSender;
use crate::http_response::SimulatedResponse;
use async_trait::async_trait;
use bytes::Bytes;
use std::time::Duration;

/// A successful result.
pub enum SuccessfulResponse {
    Whole(JsonText),
    Ready(Bytes),
    /// A response with an additional delay.
    Late(JsonText, Duration),
    /// The content of a file, with its type.
    Content(&'static str, Bytes),
    /// A response as it is, with an additional delay.
    Http(SimulatedResponse, Duration),
    Stream(Box<dyn EventStreamSource>),
}

/// A response that streams.
#[async_trait]
pub trait EventStreamSource: Send + Sync {
    /// Sends every event, unless the stream ends before.
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd>;
}

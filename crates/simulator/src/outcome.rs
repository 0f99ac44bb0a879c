//! What an endpoint answers where all is well: whole, later, or as a stream.

use super::json::Json;
use super::record::Ending;
use super::stream::EventStream;
use async_trait::async_trait;
use bytes::Bytes;
use std::time::Duration;

/// A good answer.
pub enum Outcome {
    Whole(Json),
    Ready(Bytes),
    /// What takes so much longer than other answers.
    Late(Json, Duration),
    /// The content of a file, with its type.
    Content(&'static str, Bytes),
    Stream(Box<dyn Script>),
}

/// A good answer that streams.
#[async_trait]
pub trait Script: Send + Sync {
    /// Sends every event, unless the stream ends before.
    async fn play(&self, stream: &mut EventStream) -> Result<(), Ending>;
}

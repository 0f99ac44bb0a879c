//! The response to a request that only prepares a conversation: nothing is generated, so no provider is called.

use bytes::{Bytes, BytesMut};
use headgate_protocol::hex::HexDisplay;
use headgate_protocol::sse::encode_event;
use std::time::{SystemTime, UNIX_EPOCH};

/// The counts of a response without tokens.
const NO_USAGE: &str = r#"{"input_tokens":0,"input_tokens_details":{"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}"#;

/// A response without output.
#[derive(Debug)]
pub struct WarmUpResponse {
    /// Its stream of events.
    pub stream: Bytes,
}

impl WarmUpResponse {
    /// That of a request for `model`.
    ///
    /// # Errors
    /// The system has no random numbers for its id.
    pub fn new(model: &str) -> Result<Self, getrandom::Error> {
        let mut random = [0; 24];
        getrandom::fill(&mut random)?;
        let id = format!("resp_{}", HexDisplay(&random));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let created = now.map_or(0, |since| since.as_secs());
        let model = serde_json::Value::from(model);
        let event = |kind: &str, sequence: u8, status: &str, usage: &str| {
            let response = format!(
                r#"{{"id":"{id}","object":"response","created_at":{created},"status":"{status}","error":null,"incomplete_details":null,"instructions":null,"model":{model},"output":[],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":{usage}}}"#
            );
            let data = format!(
                r#"{{"type":"{kind}","sequence_number":{sequence},"response":{response}}}"#
            );
            encode_event(Some(kind), data.as_bytes())
        };
        let mut stream = BytesMut::new();
        stream.extend_from_slice(&event("response.created", 0, "in_progress", "null"));
        stream.extend_from_slice(&event("response.completed", 1, "completed", NO_USAGE));
        Ok(Self {
            stream: stream.freeze(),
        })
    }
}

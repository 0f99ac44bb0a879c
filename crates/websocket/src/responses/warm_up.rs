//! The response to a request that only prepares a conversation: nothing is generated, so no provider is called.

use super::response_create::ResponseCreate;
use bytes::Bytes;
use headgate_protocol::hex::HexDisplay;
use std::time::{SystemTime, UNIX_EPOCH};

/// The events of a response without output, and its id.
#[derive(Debug)]
pub struct WarmUpResponse {
    pub id: String,
    pub events: [Bytes; 2],
}

impl WarmUpResponse {
    /// # Errors
    /// The system has no random numbers.
    pub fn new(request: &ResponseCreate) -> Result<Self, getrandom::Error> {
        let mut random = [0; 24];
        getrandom::fill(&mut random)?;
        let id = format!("resp_{}", HexDisplay(&random));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let created = now.map_or(0, |since| since.as_secs());
        let model = request.model().unwrap_or(br#""""#);
        let model = String::from_utf8_lossy(model);
        let event = |kind: &str, sequence: u8, status: &str, usage: &str| {
            let response = format!(
                r#"{{"id":"{id}","object":"response","created_at":{created},"status":"{status}","error":null,"incomplete_details":null,"instructions":null,"model":{model},"output":[],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":{usage}}}"#
            );
            Bytes::from(format!(
                r#"{{"type":"{kind}","sequence_number":{sequence},"response":{response}}}"#
            ))
        };
        let usage = r#"{"input_tokens":0,"input_tokens_details":{"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}"#;
        let events = [
            event("response.created", 0, "in_progress", "null"),
            event("response.completed", 1, "completed", usage),
        ];
        Ok(Self { id, events })
    }
}

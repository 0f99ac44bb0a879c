//! Wire facts: JSON scan and splice, SSE framing, usage, error bodies. No I/O, no server, no configuration.

pub mod allowance;
pub mod blame;
pub mod date;
pub mod error_body;
pub mod estimate;
pub mod fault;
pub mod ids;
pub mod json;
pub mod mask;
pub mod model_list;
pub mod multipart;
pub mod nearest;
pub mod redact;
pub mod retry_after;
pub mod schema;
pub mod sse;
pub mod stream;
pub mod usage;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A protocol that callers speak.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// `POST /v1/chat/completions`
    Chat,
    /// `POST /v1/messages`
    Messages,
    /// `POST /v1/responses`
    Responses,
}

impl Protocol {
    /// The word for configuration, metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
        }
    }
}

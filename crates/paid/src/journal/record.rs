//! The record of a paid create: its states, and the format in which they are stored.

use super::{CreateRequest, lease_ms};
use bytes::Bytes;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::money::MoneyReservation;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Largest body of a response that a record keeps, in bytes. Larger ones are in the media store.
pub const INLINE_BODY_MAX: usize = 64 << 10;
/// The version of the format. A gateway that reads a later one refuses the request.
const FORMAT: u8 = 1;

/// The SHA-256 of what makes two requests equal, in hex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateFingerprint(pub String);

/// A paid create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateRecord {
    /// The request id of the exchange that owns the record.
    pub request_id: String,
    pub caller: String,
    pub route: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Unix milliseconds.
    pub created_ms: u64,
    /// `None` for a create without a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<CreateFingerprint>,
    /// What the create has reserved of its caller's budgets in money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<MoneyReservation>,
    /// What the create of a batch has reserved besides, of budgets of its models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub money_of_models: Vec<MoneyReservation>,
    /// The models of a batch, and what is reserved for each, in billionths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch_models: Vec<(String, u64)>,
    /// What it has reserved of the budgets of the channel that it was last sent to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_money: Option<MoneyReservation>,
    pub state: CreateState,
}

/// What a create that is about to be sent has reserved of budgets in money.
#[derive(Default)]
pub struct CreateMoney {
    /// Of its caller's budgets.
    pub of_caller: Vec<MoneyReservation>,
    pub of_channel: Option<MoneyReservation>,
    /// The models of a batch, and what is reserved for each, in billionths.
    pub batch_models: Vec<(String, u64)>,
}

/// How far a create has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreateState {
    /// Nothing was sent. Other requests may take the record over when the lease has expired, at `lease_ms` in Unix milliseconds.
    Reserved { lease_ms: u64 },
    /// The request is being sent to this channel. When the lease has expired, the outcome is unknown.
    Sending { channel: String, lease_ms: u64 },
    /// The provider accepted the create.
    Accepted {
        channel: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        response_id: Option<String>,
        /// Whether the response reached a caller.
        is_delivered: bool,
        /// `None` if it is not kept: there is no key, or its body could not be stored.
        #[serde(skip_serializing_if = "Option::is_none")]
        response: Option<RecordedResponse>,
    },
    /// The provider may have accepted the create.
    OutcomeUnknown {
        channel: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        upstream_request_id: Option<String>,
    },
}

/// A response as its caller received it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub body: RecordedBody,
}

/// Where the body of a response is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedBody {
    /// In the record, after its JSON, as it is.
    Inline {
        #[serde(skip)]
        bytes: Bytes,
    },
    /// In the media store, under its SHA-256 in hex.
    Stored { sha256: String, size: u64 },
}

impl Default for RecordedBody {
    fn default() -> Self {
        Self::Inline {
            bytes: Bytes::new(),
        }
    }
}

/// A record that this program cannot read.
#[derive(Debug, Error)]
#[error("the record of a create is not readable by this version of the program")]
pub struct UnreadableRecord;

impl CreateRecord {
    /// A create of which nothing was sent.
    pub fn new(request: &CreateRequest, fingerprint: Option<&CreateFingerprint>) -> Self {
        Self {
            request_id: request.request_id.to_string(),
            caller: request.caller.to_string(),
            route: request.route.to_string(),
            model: request.model.as_ref().map(ToString::to_string),
            created_ms: unix_ms(),
            fingerprint: fingerprint.cloned(),
            money: None,
            money_of_models: Vec::new(),
            batch_models: Vec::new(),
            channel_money: None,
            state: CreateState::Reserved {
                lease_ms: lease_ms(),
            },
        }
    }

    /// The version of the format, the record as one line of JSON, and the body of the response.
    pub fn encode(&self) -> Bytes {
        let mut value = vec![FORMAT];
        serde_json::to_writer(&mut value, self).expect("plain fields are JSON");
        value.push(b'\n');
        if let Some(RecordedResponse {
            body: RecordedBody::Inline { bytes },
            ..
        }) = self.state.response()
        {
            value.extend_from_slice(bytes);
        }
        value.into()
    }

    /// # Errors
    /// The value is not in this format.
    pub fn decode(value: &Bytes) -> Result<Self, UnreadableRecord> {
        let line_end = memchr::memchr(b'\n', value).ok_or(UnreadableRecord)?;
        let json = value[..line_end]
            .strip_prefix(&[FORMAT])
            .ok_or(UnreadableRecord)?;
        let mut record: Self = serde_json::from_slice(json).map_err(|_| UnreadableRecord)?;
        if let CreateState::Accepted {
            response:
                Some(RecordedResponse {
                    body: RecordedBody::Inline { bytes },
                    ..
                }),
            ..
        } = &mut record.state
        {
            *bytes = value.slice(line_end + 1..);
        }
        Ok(record)
    }
}

impl CreateState {
    fn response(&self) -> Option<&RecordedResponse> {
        match self {
            Self::Accepted { response, .. } => response.as_ref(),
            Self::Reserved { .. } | Self::Sending { .. } | Self::OutcomeUnknown { .. } => None,
        }
    }

    /// The channel that the create was last sent to.
    pub fn channel(&self) -> Option<&str> {
        match self {
            Self::Reserved { .. } => None,
            Self::Sending { channel, .. }
            | Self::Accepted { channel, .. }
            | Self::OutcomeUnknown { channel, .. } => Some(channel),
        }
    }
}

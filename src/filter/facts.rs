//! What becomes known of an exchange while it runs, and how it ended.

use super::held::Passage;
use crate::catalog::model::Candidate;
use crate::protocol::blame::Blame;
use crate::protocol::usage::{Meter, Usage};
use crate::subrequest::UpstreamRequestId;
use crate::task::id::TaskId;
use bytes::Bytes;
use http::HeaderValue;
use std::sync::{Arc, OnceLock};

/// What filters and the exchange learn on the way; log, metrics and `on_done` read it.
#[derive(Default)]
pub struct Facts {
    /// Tokens, as the provider counted them.
    pub usage: Option<Usage>,
    /// Counts tokens of a stream, where `meter_usage` asked for it.
    pub meter: Option<Meter>,
    /// The provider's id of what the answer is, where `remember_ids` saw one.
    pub response_id: Option<String>,
    /// Further ids that `remember_ids` saw in the answer.
    pub other_ids: Vec<String>,
    /// Set by `force_usage`: the usage chunk was our wish, not the caller's.
    pub usage_was_forced: bool,
    /// Events of the stream so far.
    pub events: u64,
    /// Whose fault it is that the stream told of an error and ended.
    pub stream_error: Option<Blame>,
    /// A provider took the request, and is not known to have refused it: tokens may be spent.
    pub may_have_cost: bool,
    /// The task that is asked for, where `map_task` opened its id.
    pub task: Option<TaskId>,
    /// A create of the generic protocol in the words of each family that it may go to.
    pub creates: Vec<Create>,
    /// The provider's id of the last subrequest that was made for this exchange.
    pub subrequest_id: OnceLock<UpstreamRequestId>,
    /// Which of the channel's keys was shown to the provider last.
    pub key: Option<usize>,
    /// What the caller's limits said, where `rate_limit` asked them.
    pub passage: Passage,
}

/// A create in the words of a family.
pub struct Create {
    pub family: Arc<str>,
    /// The channel's name of the model.
    pub model: Arc<str>,
    pub body: Bytes,
    /// Appended to the channel's `base_url`.
    pub path: String,
    /// Width to height as asked for, which not every family tells again.
    pub ratio: Option<String>,
    /// Names what the family leaves out.
    pub ignored: Option<HeaderValue>,
}

impl Facts {
    /// The create as it goes to `candidate`.
    pub fn create_for(&self, candidate: &Candidate) -> Option<&Create> {
        let family = &candidate.channel.family.as_ref()?.name;
        let model = &candidate.model.as_ref()?.name;
        let mut creates = self.creates.iter();
        creates.find(|create| create.family == *family && create.model == *model)
    }
}

/// How an exchange ended: exactly one of these, whatever happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settlement {
    /// The provider's answer reached the caller whole.
    Complete,
    /// The caller left first.
    ClientCancelled,
    /// The caller did not take its response within `write_deadline`.
    WriteDeadline,
    /// The provider's answer broke off.
    UpstreamCut,
    /// The provider answered with an error, or not at all.
    UpstreamError,
    /// The gateway answered by itself.
    GatewayReply,
    /// As `Complete`, but the provider told no usage where one was expected.
    UsageMissing,
}

impl Settlement {
    /// The word for metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientCancelled => "client_cancelled",
            Self::WriteDeadline => "write_deadline",
            Self::UpstreamCut => "upstream_cut",
            Self::UpstreamError => "upstream_error",
            Self::GatewayReply => "gateway_reply",
            Self::UsageMissing => "usage_missing",
        }
    }
}

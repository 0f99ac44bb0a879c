//! Subrequests: requests that a filter sends to a channel in addition to the exchange's attempts, such as a task query.

use crate::catalog::channel::TimeoutOverrides;
use crate::catalog::egress::EgressPolicy;
use crate::catalog::model::Candidate;
use crate::filter::body_stream::RequestBodyReceiver;
use crate::request_id::RequestId;
use crate::task::family::task_url::TaskUrl;
use bytes::Bytes;
use headgate_protocol::fault::Fault;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Sends subrequests, with the timeouts of the filter's route. Filters hold this client instead of a connection.
#[derive(Clone)]
pub struct SubrequestClient {
    sender: Arc<dyn SubrequestSender>,
    timeouts: TimeoutOverrides,
}

/// Sends subrequests: implemented by the gateway, and by `headgate explain`, which only prints them.
pub trait SubrequestSender: Send + Sync {
    /// A future that sends the subrequest once, with the channel's credential, when it is first polled. The outcome
    /// counts for the channel's health like an attempt's. Dropping the future cancels the subrequest.
    ///
    /// # Errors
    /// There was no response, the response is not of the protocol, or the provider refused the channel's credential or
    /// account. Other error responses of the provider are returned as `Ok`.
    fn send(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> SubrequestFuture;

    /// Like [`Self::send`], for a request that belongs to an attempt: it has the attempt's credential, the `key` of the
    /// candidate, and shares the attempt's use of the channel. Its outcome counts for the channel's health as that of the
    /// attempt, which is to fail with the error.
    ///
    /// # Errors
    /// As [`Self::send`], and the response concerns the channel rather than the request: another channel may be tried.
    fn send_within_attempt(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> SubrequestFuture {
        self.send(subrequest, timeouts)
    }

    /// Like [`Self::send`], but the body of a successful response is read to its end, without a limit of size, and
    /// dropped: the body of the result is empty.
    fn send_and_discard(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> SubrequestFuture {
        self.send(subrequest, timeouts)
    }
}

/// The future response to a subrequest.
pub type SubrequestFuture = Pin<Box<dyn Future<Output = Result<SubrequestResponse, Fault>> + Send>>;

/// Receives the provider's request id of a subrequest, for the access log of the original request.
pub type UpstreamRequestIdSlot = Arc<Mutex<Option<HeaderValue>>>;

/// A request of a filter to a channel.
#[derive(Clone, Debug)]
pub struct Subrequest {
    /// The id of the original request, for the provider and for logs.
    pub id: RequestId,
    pub candidate: Candidate,
    pub method: Method,
    /// Appended to the channel's `base_url`; with `other_host` the whole path.
    pub path: String,
    /// The host to which the request goes in place of the channel's; `None` for the channel's.
    pub other_host: Option<SubrequestHost>,
    /// Headers in addition to the gateway's and the channel's.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: SubrequestBody,
    /// A file in the response; `None` for none.
    pub inline_file: Option<InlineFile>,
    /// Set to the provider's request id when the response arrives.
    pub upstream_request_id: UpstreamRequestIdSlot,
    /// Maximum wait while the channel is at its limits.
    pub max_wait: Duration,
}

/// The body of a subrequest.
#[derive(Clone, Debug)]
pub enum SubrequestBody {
    /// Empty for none.
    Whole(Bytes),
    /// It is sent while it is made, and cannot be sent again.
    Streamed(RequestBodyReceiver),
}

impl From<Bytes> for SubrequestBody {
    fn from(body: Bytes) -> Self {
        Self::Whole(body)
    }
}

/// A file that the response has as base64, which does not count as a part of the body: there is
/// [`headgate_protocol::json::inline_file::INLINE_FILE`] in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineFile {
    /// Its place, as a JSON pointer of names and indexes.
    pub at: Arc<str>,
    /// Whether the response has the file; else it is dropped while it arrives.
    pub is_kept: bool,
}

/// A host of the channel's provider that is not that of its `base_url`: the provider named it for a task.
#[derive(Clone, Debug)]
pub struct SubrequestHost {
    pub url: TaskUrl,
    /// The request is sent only to addresses that this policy allows.
    pub egress: Arc<EgressPolicy>,
}

impl SubrequestHost {
    /// The host of a task, by the URL that the provider named for it.
    pub fn new(url: TaskUrl, egress: &Arc<EgressPolicy>) -> Self {
        let egress = egress.clone();
        Self { url, egress }
    }
}

/// A provider's response to a subrequest, with the channel's credential masked.
#[derive(Clone, Debug)]
pub struct SubrequestResponse {
    pub status: StatusCode,
    /// The headers that callers may see.
    pub headers: HeaderMap,
    /// The whole body, 1 MiB at most.
    pub body: Bytes,
    /// The inline file, if it is kept and the response has one; mapped from a file of the gateway.
    pub inline_file: Option<Bytes>,
}

impl SubrequestClient {
    /// Sends with `sender`; `timeouts` of the route override those of the channel.
    pub fn new(sender: Arc<dyn SubrequestSender>, timeouts: TimeoutOverrides) -> Self {
        Self { sender, timeouts }
    }

    /// Like [`SubrequestSender::send`].
    pub fn send(&self, subrequest: Subrequest) -> SubrequestFuture {
        self.sender.clone().send(subrequest, self.timeouts)
    }

    /// Like [`SubrequestSender::send_within_attempt`].
    pub fn send_within_attempt(&self, subrequest: Subrequest) -> SubrequestFuture {
        let sender = self.sender.clone();
        sender.send_within_attempt(subrequest, self.timeouts)
    }

    /// Like [`SubrequestSender::send_and_discard`].
    pub fn send_and_discard(&self, subrequest: Subrequest) -> SubrequestFuture {
        let sender = self.sender.clone();
        sender.send_and_discard(subrequest, self.timeouts)
    }
}

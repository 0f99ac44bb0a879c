//! Subrequests: requests that a filter sends to a channel in addition to the exchange's attempts, such as a task query.

use crate::catalog::channel::TimeoutOverrides;
use crate::catalog::model::Candidate;
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
    pub id: Arc<str>,
    pub candidate: Candidate,
    pub method: Method,
    /// Appended to the channel's `base_url`.
    pub path: String,
    /// Headers in addition to the gateway's and the channel's.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
    /// Set to the provider's request id when the response arrives.
    pub upstream_request_id: UpstreamRequestIdSlot,
    /// Maximum wait while the channel is at its limits.
    pub max_wait: Duration,
}

/// A provider's response to a subrequest, with the channel's credential masked.
#[derive(Clone, Debug)]
pub struct SubrequestResponse {
    pub status: StatusCode,
    /// The headers that callers may see.
    pub headers: HeaderMap,
    /// The whole body, 1 MiB at most.
    pub body: Bytes,
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

    /// Like [`SubrequestSender::send_and_discard`].
    pub fn send_and_discard(&self, subrequest: Subrequest) -> SubrequestFuture {
        let sender = self.sender.clone();
        sender.send_and_discard(subrequest, self.timeouts)
    }
}

//! Subrequests: requests of the gateway's own to a channel, which filters make beside the attempts of an exchange,
//! such as how a task stands.

use crate::catalog::channel::TimeoutOverrides;
use crate::catalog::model::Candidate;
use crate::protocol::fault::Fault;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Sends subrequests, within the timeouts of the route whose filter made them. Filters hold this, and know
/// nothing of connections.
#[derive(Clone)]
pub struct SubrequestClient {
    sender: Arc<dyn SubrequestSender>,
    timeouts: TimeoutOverrides,
}

/// Whoever sends subrequests: the gateway, or `headgate explain`, which only prints them.
pub trait SubrequestSender: Send + Sync {
    /// A future that sends the subrequest once, with the channel's credential, when it is first polled; the
    /// outcome counts for the channel's health as that of an attempt. Whoever drops the future gives the
    /// subrequest up at once.
    ///
    /// # Errors
    /// There was no response, none of a provider, or the provider does not accept the channel's account. What
    /// the provider refuses for other reasons is a response.
    fn send(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> SubrequestFuture;
}

/// The response to a subrequest, still to come.
pub type SubrequestFuture = Pin<Box<dyn Future<Output = Result<SubrequestResponse, Fault>> + Send>>;

/// A provider's id of a subrequest, for the log of the request that it was made for.
pub type UpstreamRequestIdSlot = Arc<Mutex<Option<HeaderValue>>>;

/// A request of the gateway's own to a channel.
#[derive(Clone, Debug)]
pub struct Subrequest {
    /// The id of the request that it is made for, which providers get and logs have.
    pub id: Arc<str>,
    pub candidate: Candidate,
    pub method: Method,
    /// Appended to the channel's `base_url`.
    pub path: String,
    /// Besides the gateway's own and the channel's.
    pub headers: HeaderMap,
    /// Empty for none.
    pub body: Bytes,
    /// Where the provider's own id of this request is put once there is a response.
    pub upstream_request_id: UpstreamRequestIdSlot,
    /// How long it may wait for room on a channel that is at its limits.
    pub max_wait: Duration,
}

/// A provider's response to a subrequest, without the channel's credential should it have repeated it.
#[derive(Clone, Debug)]
pub struct SubrequestResponse {
    pub status: StatusCode,
    /// Those that callers may see.
    pub headers: HeaderMap,
    /// The whole of it; at most 1 MiB.
    pub body: Bytes,
}

impl SubrequestClient {
    /// Sends with `sender`, within `timeouts` where the route sets them.
    pub fn new(sender: Arc<dyn SubrequestSender>, timeouts: TimeoutOverrides) -> Self {
        Self { sender, timeouts }
    }

    /// As [`SubrequestSender::send`].
    pub fn send(&self, subrequest: Subrequest) -> SubrequestFuture {
        self.sender.clone().send(subrequest, self.timeouts)
    }
}

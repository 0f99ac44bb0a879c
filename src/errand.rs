//! Errands: what filters may ask of a channel beside the attempts of an exchange, such as how a task stands.

use crate::catalog::model::Candidate;
use crate::protocol::fault::Fault;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs errands. Filters hold this, and know nothing of connections.
pub trait Errands: Send + Sync {
    /// Goes to the channel once, with its credential and within its deadlines; what came of it counts for
    /// the channel's health like any attempt. Whoever drops the future gives the errand up at once.
    ///
    /// # Errors
    /// There was no answer, none of a provider, or the provider does not accept the channel's account. What
    /// the provider refuses for other reasons is an answer.
    fn run(self: Arc<Self>, errand: Errand) -> Returning;
}

/// What an errand brings, still to come.
pub type Returning = Pin<Box<dyn Future<Output = Result<Returned, Fault>> + Send>>;

/// A provider's id of a subrequest, for the log of the request that it was made for.
pub type UpstreamRequestId = Arc<Mutex<Option<HeaderValue>>>;

/// A request of ours to a channel.
#[derive(Clone, Debug)]
pub struct Errand {
    /// Of the request that it is for: providers are told it, and logs tell it.
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
    pub upstream_request_id: UpstreamRequestId,
    /// How long it may wait for room on a channel that is at its limits.
    pub patience: Duration,
}

/// A provider's answer to an errand, without the channel's credential should it have repeated it.
#[derive(Clone, Debug)]
pub struct Returned {
    pub status: StatusCode,
    /// Those that callers may see.
    pub headers: HeaderMap,
    /// Known whole; at most 1 MiB.
    pub body: Bytes,
}

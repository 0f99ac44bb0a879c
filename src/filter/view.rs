//! What filters see of an exchange: the request, one attempt, the answer, one event. Never a connection.

use super::body::RequestBody;
use super::fetch::FileFetcher;
use super::state::FilterState;
use super::stream_info::StreamInfo;
use crate::catalog::caller::Caller;
use crate::catalog::channel::Channel;
use crate::catalog::client_address::DownstreamClient;
use crate::catalog::model::{Candidate, Model};
use crate::protocol::Protocol;
use crate::protocol::json::edit::JsonEdits;
use crate::protocol::multipart;
use crate::protocol::sse::SseEvent;
use crate::subrequest::SubrequestClient;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use std::sync::Arc;

/// The request as the caller sent it, and what the chain decided about it.
pub struct RequestView {
    /// Ours, unique; in every answer, log line and error.
    pub id: Arc<str>,
    pub method: Method,
    /// In normal form: routing, filters and providers see the same path.
    pub path: String,
    pub query: Option<String>,
    /// What the caller sent, hop-by-hop headers included; what goes upstream is made from it.
    pub headers: HeaderMap,
    /// Values of the route's `{parameters}`.
    pub params: Vec<(Arc<str>, String)>,
    pub protocol: Option<Protocol>,
    /// Whom it comes from, as far as the proxies before the gateway are trusted.
    pub client: Option<DownstreamClient>,
    pub caller: Option<Arc<Caller>>,
    /// Most bytes of body that will be read.
    pub body_limit: u64,
    /// Whether the route takes a form where it would take JSON.
    pub takes_form: bool,
    /// Read before `on_body`, as far as a filter of the route needs it.
    pub body: RequestBody,
    /// Changes to the body, as spans of the caller's bytes.
    pub edits: JsonEdits,
    /// Headers for the provider, set and removed after those of the caller were looked through.
    pub header_edits: HeaderEdits,
    /// Path for the provider, where `rewrite_path` changed it.
    pub upstream_path: Option<String>,
    pub destination: Option<RouteDestination>,
    /// Where `pin` sends ids made elsewhere, and requests that name neither id nor model.
    pub pinned: Option<Arc<Channel>>,
    /// For filters that need a file which an answer only names; none where nothing may be sent.
    pub fetch: Option<Arc<dyn FileFetcher>>,
    /// Headers of the answer, whoever makes it; they replace those of the same name.
    pub response_headers: HeaderMap,
    pub info: StreamInfo,
    /// What each filter keeps for its later hooks.
    pub state: FilterState,
    /// For filters that ask providers themselves; none in their unit tests.
    pub subrequests: Option<SubrequestClient>,
}

/// What the operator sets and removes among the headers for a provider, in the order written.
#[derive(Default)]
pub struct HeaderEdits(Vec<(HeaderName, Option<HeaderValue>)>);

/// Where a request goes.
#[derive(Clone, Debug)]
pub struct RouteDestination {
    /// Absent where a request is bound to a channel by an id instead of a model.
    pub model: Option<Arc<Model>>,
    /// Channels that may be tried, lower tiers first; never empty. Which of them, and in which order,
    /// is decided by how they are when an attempt is made.
    pub candidates: Arc<[Candidate]>,
}

/// One attempt on one channel, before it is sent.
pub struct AttemptView {
    pub candidate: Candidate,
    pub headers: HeaderMap,
    pub edits: JsonEdits,
    /// What is sent instead of the caller's method, path and body, for providers that are asked in
    /// another way.
    pub request_override: UpstreamRequestOverride,
}

/// A request to a provider that is not the caller's own.
#[derive(Debug, Default)]
pub struct UpstreamRequestOverride {
    pub method: Option<Method>,
    /// Appended to the channel's `base_url` as it is, a query included.
    pub path: Option<String>,
    /// In the place of the body and of all edits; empty for none.
    pub body: Option<Bytes>,
}

/// The answer that is kept.
pub struct ResponseView<'a> {
    pub request: &'a mut RequestView,
    pub candidate: Option<&'a Candidate>,
    pub status: StatusCode,
    pub headers: &'a mut HeaderMap,
    pub kind: ResponseBodyKind,
}

/// How an answer's body comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseBodyKind {
    /// `text/event-stream`
    Stream,
    /// `application/json`
    Json,
    /// No answer of the protocol: a page for people, or in a coding that nobody asked for.
    Foreign,
    Other,
}

impl ResponseBodyKind {
    /// Whether an error that came so is in a protocol's shape; others come from something before the
    /// provider.
    pub fn is_protocols_error(self, body: &[u8]) -> bool {
        match self {
            Self::Json | Self::Stream => true,
            Self::Other => body.trim_ascii_start().starts_with(b"{"),
            Self::Foreign => false,
        }
    }
}

/// An event of a streamed answer.
pub struct EventView<'a> {
    pub request: &'a mut RequestView,
    pub candidate: Option<&'a Candidate>,
    pub event: &'a SseEvent,
    pub action: EventAction,
}

/// What becomes of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum EventAction {
    Pass,
    Replace(Bytes),
    Drop,
}

impl RouteDestination {
    /// A channel alone, for requests that name no model.
    pub fn bound_to(channel: Arc<Channel>) -> Self {
        Self {
            model: None,
            candidates: [Candidate::bound_to(channel)].into(),
        }
    }

    /// Leaves `channel` as the only one to try.
    pub fn keep(&mut self, channel: &Channel) {
        self.candidates = self
            .candidates
            .iter()
            .filter(|candidate| candidate.channel.name == channel.name)
            .cloned()
            .collect();
    }
}

impl HeaderEdits {
    pub fn set(&mut self, name: &HeaderName, value: HeaderValue) {
        self.0.push((name.clone(), Some(value)));
    }

    pub fn remove(&mut self, name: &HeaderName) {
        self.0.push((name.clone(), None));
    }

    /// Makes the edits; a caller's look-alike of a name, with underscores, goes with it.
    pub fn apply(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            if name.as_str().contains('-') {
                headers.remove(name.as_str().replace('-', "_"));
            }
            match value {
                Some(value) => drop(headers.insert(name, value.clone())),
                None => drop(headers.remove(name)),
            }
        }
    }
}

/// Bodies of routes without `limit_body`.
const BODY_LIMIT_DEFAULT: u64 = 32 << 20;

impl RequestView {
    /// A request of which only the head is known.
    pub fn new(
        id: Arc<str>,
        method: Method,
        path: String,
        query: Option<String>,
        headers: HeaderMap,
        params: Vec<(Arc<str>, String)>,
        protocol: Option<Protocol>,
    ) -> Self {
        Self {
            id,
            method,
            path,
            query,
            headers,
            params,
            protocol,
            client: None,
            caller: None,
            body_limit: BODY_LIMIT_DEFAULT,
            takes_form: false,
            body: RequestBody::Absent,
            edits: JsonEdits::default(),
            header_edits: HeaderEdits::default(),
            upstream_path: None,
            destination: None,
            pinned: None,
            fetch: None,
            response_headers: HeaderMap::new(),
            info: StreamInfo::default(),
            state: FilterState::default(),
            subrequests: None,
        }
    }

    /// The value of a `{parameter}` of the route.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params
            .iter()
            .find(|(known, _)| **known == *name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether `body` is a form, which is taken as it is: the header says so, and the body begins as one.
    pub fn is_form(&self, body: &[u8]) -> bool {
        let begins = |boundary: &str| {
            let first_line = body.trim_ascii_start().strip_prefix(b"--");
            first_line.is_some_and(|line| line.starts_with(boundary.as_bytes()))
        };
        self.form_boundary().is_some_and(begins)
    }

    /// What separates the parts of the body, if the header says that it is a form.
    pub fn form_boundary(&self) -> Option<&str> {
        let mut types = self.headers.get_all(header::CONTENT_TYPE).iter();
        match (types.next(), types.next()) {
            (Some(only), None) => multipart::boundary(only.to_str().ok()?),
            _ => None,
        }
    }

    /// The value of a header, if it is there and plain text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The platform model that the request goes to.
    pub fn model(&self) -> Option<&Arc<Model>> {
        self.destination.as_ref()?.model.as_ref()
    }
}

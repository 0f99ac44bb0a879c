//! What filters see of an exchange: the request, an attempt, the response, an event. Never a connection.

use super::body_edit::checked_edit_body::CheckedEditRequestBody;
use super::fetch::ResponseFileFetcher;
use super::state::RequestFilterValues;
use super::stream_info::StreamInfo;
use crate::catalog::caller::Caller;
use crate::catalog::channel::Channel;
use crate::catalog::client_address::DownstreamClient;
use crate::catalog::model::{Candidate, Model};
use crate::request_id::RequestId;
use crate::state::caller_permit::CallerPermit;
use crate::subrequest::SubrequestClient;
use bytes::Bytes;
use headgate_protocol::caller_fields::CallerFieldNames;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::sse::SseEvent;
use headgate_protocol::{ChannelProtocol, Protocol, form};
use http::header::AsHeaderName;
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use std::sync::Arc;

/// The caller's request, and what the filters of the chain decided about it.
pub struct RequestView {
    /// Unique id that the gateway assigns; in every response, log line and error.
    pub id: RequestId,
    pub method: Method,
    /// Normalised: the router, filters and providers see the same path.
    pub path: String,
    pub query: Option<String>,
    /// The caller's headers, hop-by-hop headers included. The upstream headers are derived from them.
    pub headers: HeaderMap,
    /// Values of the route's `{parameters}`.
    pub params: Vec<(Arc<str>, String)>,
    pub protocol: Option<Protocol>,
    /// Name of the route.
    pub route: Arc<str>,
    /// Whether the connection from the client is one of TLS.
    pub is_tls: bool,
    /// The client's address, as far as the proxies before the gateway are trusted.
    pub client: Option<DownstreamClient>,
    pub caller: Option<Arc<Caller>>,
    /// Taken by `rate_limit`, and dropped before the end of the response is sent.
    pub caller_permit: Option<CallerPermit>,
    /// Largest body that is read, in bytes.
    pub body_limit: u64,
    /// Whether the route accepts a form in place of JSON.
    pub takes_form: bool,
    /// The caller's names of the fields of the body, if a filter made it of one in another format.
    pub field_names: Option<&'static CallerFieldNames>,
    /// The body; set before `on_body`, parsed as far as a filter of the route needs it.
    pub body: CheckedEditRequestBody,
    /// Edits of the body, as spans of the caller's bytes.
    pub edits: JsonEdits,
    /// Headers to set and remove for the provider, applied after the caller's headers were filtered.
    pub header_edits: UpstreamHeaderEdits,
    /// Path for the provider, if `rewrite_path` changed it.
    pub upstream_path: Option<String>,
    pub destination: Option<RequestDestination>,
    /// Ids of files of the request that the gateway sends itself, so that no channel needs to have them.
    pub hosted_files: Vec<String>,
    /// The channel of `pin`: for requests that name no id and no model, and for ids that the gateway did not issue.
    pub pinned: Option<Arc<Channel>>,
    /// Fetches files that a response names by URL; `None` if nothing may be sent (dry run).
    pub fetch: Option<Arc<dyn ResponseFileFetcher>>,
    /// Headers of the response to the caller, also of a local reply. They replace headers of the same name; of two with
    /// the same name, the later one counts.
    pub response_headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether the exchange continues without its caller once the request is being sent.
    pub detaches: bool,
    pub info: StreamInfo,
    /// Values that filters keep for their later hooks.
    pub state: RequestFilterValues,
    /// Sends requests of filters to providers; `None` in unit tests of filters.
    pub subrequests: Option<SubrequestClient>,
}

/// What the operator's settings change in the headers of the request to the provider, in order.
#[derive(Default)]
pub struct UpstreamHeaderEdits(Vec<UpstreamHeaderEdit>);

enum UpstreamHeaderEdit {
    Set(HeaderName, HeaderValue),
    Remove(HeaderName),
    Rewrite(Arc<dyn UpstreamHeaderRewriter>),
}

/// Changes headers by what they are.
pub trait UpstreamHeaderRewriter: Send + Sync {
    /// # Errors
    /// A header cannot be changed, and must not be sent as it is.
    fn rewrite(&self, headers: &mut HeaderMap) -> Result<(), Fault>;
}

/// The destination of a request.
#[derive(Clone, Debug)]
pub struct RequestDestination {
    /// `None` if an id, not a model, binds the request to a channel.
    pub model: Option<Arc<Model>>,
    /// Channels that may be tried, lowest tier first; never empty. Each attempt chooses among them by their state at
    /// that time.
    pub candidates: Arc<[Candidate]>,
}

/// One attempt on one channel, before the request is sent.
pub struct AttemptView {
    pub candidate: Candidate,
    pub headers: HeaderMap,
    pub edits: JsonEdits,
    /// Name of the filter that edited the body of this attempt, so that filters check it again.
    pub edited_by: Option<&'static str>,
    /// Replaces the caller's method, path and body, for providers with another protocol.
    pub request_override: AttemptRequestReplacement,
    /// Members of the JSON object that is sent, set after all filters ran, whichever of them made the body.
    pub body_members: Vec<(String, Bytes)>,
    /// Members of the query, likewise.
    pub query_members: Vec<(String, String)>,
}

/// Parts of an upstream request that replace the caller's.
#[derive(Debug, Default)]
pub struct AttemptRequestReplacement {
    pub method: Option<Method>,
    /// Appended to the channel's `base_url` unchanged, with its query.
    pub path: Option<String>,
    /// Replaces the body and all edits; empty for no body.
    pub body: Option<Bytes>,
    /// Whether `body`, a JSON object, is sent as a multipart form.
    pub is_form: bool,
}

/// The response that goes to the caller.
pub struct ResponseView<'a> {
    pub request: &'a mut RequestView,
    pub candidate: Option<&'a Candidate>,
    pub status: StatusCode,
    pub headers: &'a mut HeaderMap,
    pub kind: ResponseBodyKind,
}

impl ResponseView<'_> {
    /// The protocol of what the filters read. A response without a candidate was recorded as the caller gets it.
    pub fn channel_protocol(&self) -> Option<ChannelProtocol> {
        match self.candidate {
            Some(candidate) => candidate.protocol,
            None => self.request.protocol.map(ChannelProtocol::for_caller),
        }
    }
}

/// The kind of a response body, by its media type and content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseBodyKind {
    /// `text/event-stream`
    Stream,
    /// `application/json`
    Json,
    /// Not a response of the protocol: for example an HTML page, or a content coding that was not requested.
    Foreign,
    Other,
}

impl ResponseBodyKind {
    /// Whether an error body of this kind has a protocol's shape. Other errors come from a proxy in front of the
    /// provider.
    pub fn is_protocols_error(self, body: &[u8]) -> bool {
        match self {
            Self::Stream => true,
            Self::Json => matches!(body.trim_ascii_start().first(), Some(b'{' | b'[')),
            Self::Other => body.trim_ascii_start().starts_with(b"{"),
            Self::Foreign => false,
        }
    }
}

/// One event of a streamed response.
pub struct EventView<'a> {
    pub request: &'a mut RequestView,
    pub candidate: Option<&'a Candidate>,
    pub event: &'a SseEvent,
    pub action: EventAction,
}

/// What happens to an event.
#[derive(Debug, PartialEq, Eq)]
pub enum EventAction {
    Pass,
    Replace(Bytes),
    Drop,
}

impl RequestDestination {
    /// A destination with one channel and no model, for a request of this protocol.
    pub fn bound_to(channel: Arc<Channel>, protocol: Option<Protocol>) -> Self {
        let protocol = protocol.map(ChannelProtocol::for_caller);
        Self {
            model: None,
            candidates: [Candidate::bound_to(channel, protocol)].into(),
        }
    }

    /// Whether candidates are on different channels.
    pub fn has_choice(&self) -> bool {
        let channels = self.candidates.iter();
        let mut names = channels.map(|candidate| &candidate.channel.name);
        let first = names.next();
        names.any(|name| Some(name) != first)
    }

    /// Puts the candidates on the channel of this name before all others, if there are any.
    pub fn prefer(&mut self, channel: &str) {
        self.prefer_all(|candidate| *candidate.channel.name == *channel);
    }

    /// Puts the candidates for which `is_first` holds before all others, if there are any.
    pub fn prefer_all(&mut self, is_first: impl Fn(&Candidate) -> bool) {
        let candidates = self.candidates.iter().cloned();
        let (mut preferred, others): (Vec<Candidate>, Vec<Candidate>) =
            candidates.partition(is_first);
        for candidate in &mut preferred {
            candidate.is_preferred = true;
        }
        self.candidates = preferred.into_iter().chain(others).collect();
    }

    /// Removes all candidates but those on `channel`, to which an id binds the request.
    pub fn keep(&mut self, channel: &Channel) {
        let candidates = self.candidates.iter();
        let kept = candidates.filter(|candidate| candidate.channel.name == channel.name);
        let bound = kept.map(|candidate| Candidate {
            is_bound: true,
            ..candidate.clone()
        });
        self.candidates = bound.collect();
    }
}

impl UpstreamHeaderEdits {
    pub fn set(&mut self, name: &HeaderName, value: HeaderValue) {
        self.0.push(UpstreamHeaderEdit::Set(name.clone(), value));
    }

    pub fn remove(&mut self, name: &HeaderName) {
        self.0.push(UpstreamHeaderEdit::Remove(name.clone()));
    }

    pub fn rewrite(&mut self, rewriter: Arc<dyn UpstreamHeaderRewriter>) {
        self.0.push(UpstreamHeaderEdit::Rewrite(rewriter));
    }

    /// Appends these edits.
    pub fn extend(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// Applies the edits.
    ///
    /// # Errors
    /// A header cannot be rewritten.
    pub fn apply(&self, headers: &mut HeaderMap) -> Result<(), Fault> {
        for edit in &self.0 {
            match edit {
                UpstreamHeaderEdit::Set(name, value) => {
                    remove_with_underscores(headers, name);
                    headers.insert(name, value.clone());
                }
                UpstreamHeaderEdit::Remove(name) => {
                    remove_with_underscores(headers, name);
                    headers.remove(name);
                }
                UpstreamHeaderEdit::Rewrite(rewriter) => rewriter.rewrite(headers)?,
            }
        }
        Ok(())
    }
}

/// Removes the spelling of a name with underscores, which some servers treat as the same header.
fn remove_with_underscores(headers: &mut HeaderMap, name: &HeaderName) {
    if name.as_str().contains('-') {
        headers.remove(name.as_str().replace('-', "_"));
    }
}

/// Largest body on routes without `limit_body`: 32 MiB.
const BODY_LIMIT_DEFAULT: u64 = 32 << 20;

impl RequestView {
    /// A request whose head is known and whose body is not read.
    pub fn new(
        id: RequestId,
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
            route: Arc::default(),
            is_tls: false,
            client: None,
            caller: None,
            caller_permit: None,
            body_limit: BODY_LIMIT_DEFAULT,
            takes_form: false,
            field_names: None,
            body: CheckedEditRequestBody::default(),
            edits: JsonEdits::default(),
            header_edits: UpstreamHeaderEdits::default(),
            upstream_path: None,
            destination: None,
            hosted_files: Vec::new(),
            pinned: None,
            fetch: None,
            response_headers: Vec::new(),
            detaches: false,
            info: StreamInfo::default(),
            state: RequestFilterValues::default(),
            subrequests: None,
        }
    }

    /// The fault with the caller's names of fields.
    pub fn with_callers_names(&self, fault: Fault) -> Fault {
        match self.field_names {
            Some(names) => names.rename(fault),
            None => fault,
        }
    }

    /// The value of a `{parameter}` of the route.
    pub fn param(&self, name: &str) -> Option<&str> {
        let mut params = self.params.iter();
        let (_, value) = params.find(|(known, _)| **known == *name)?;
        Some(value)
    }

    /// The scheme of the URL that the client used: of its connection, or what the proxy says that is trusted with addresses.
    pub fn scheme(&self) -> Scheme {
        let client = self.client.as_ref();
        let forwarded = client.and_then(|client| client.forwarded_scheme(&self.headers));
        match self.is_tls {
            true => Scheme::HTTPS,
            false => forwarded.unwrap_or(Scheme::HTTP),
        }
    }

    /// Whether the content type declares a form and `body` begins as one.
    pub fn is_form(&self, body: &[u8]) -> bool {
        let Some(first_line) = body.trim_ascii_start().strip_prefix(b"--") else {
            return false;
        };
        self.form_boundary()
            .is_some_and(|boundary| first_line.starts_with(boundary.as_bytes()))
    }

    /// The boundary of the form that the content type declares; `None` unless there is exactly one content type.
    pub fn form_boundary(&self) -> Option<&str> {
        let mut types = self.headers.get_all(header::CONTENT_TYPE).iter();
        match (types.next(), types.next()) {
            (Some(only), None) => form::boundary(only.to_str().ok()?),
            _ => None,
        }
    }

    /// The value of a header, if it is visible ASCII.
    pub fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Adds the headers that filters set for the response.
    pub fn add_response_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.response_headers {
            headers.insert(name, value.clone());
        }
    }

    /// The label of the caller's key, if it has one.
    pub fn key_label(&self) -> Option<&str> {
        let key = self.caller.as_ref()?.key.as_ref()?;
        Some(&key.label)
    }

    /// The model that the request goes to.
    pub fn model(&self) -> Option<&Arc<Model>> {
        self.destination.as_ref()?.model.as_ref()
    }
}

//! A request for a provider, made afresh for each attempt from the caller's original bytes.

use super::aside::aside;
use crate::catalog::channel::{Channel, Credential};
use crate::catalog::model::Candidate;
use crate::errand::Errand;
use crate::filter::Flow;
use crate::filter::view::{AttemptView, Instead, RequestView};
use crate::gateway::{hygiene, request_id};
use crate::protocol::Protocol;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::edit::Segments;
use crate::snapshot::router::Route;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use pingora_core::protocols::http::client::HttpSession;
use pingora_http::RequestHeader;

/// A request for a provider, ready to be sent.
pub(in crate::gateway) struct Prepared {
    pub method: Method,
    pub headers: HeaderMap,
    pub path_and_query: String,
    pub body: Segments,
}

/// Makes the request for `candidate`.
///
/// # Errors
/// What a filter refused it with.
pub(in crate::gateway) async fn prepare(
    route: &Route,
    request: &RequestView,
    candidate: &Candidate,
    credential: Option<&Credential>,
) -> Result<Prepared, Fault> {
    let mut headers = hygiene::for_provider(&request.headers);
    request.header_edits.apply(&mut headers);
    let mut attempt = AttemptView {
        candidate: candidate.clone(),
        headers,
        edits: request.edits.clone(),
        instead: Instead::default(),
    };
    let filtered = aside(
        request.body_bytes(),
        route.request.on_attempt(request, &mut attempt),
    );
    if let Flow::Reply(_) = filtered.await? {
        return Err(
            Fault::new(FaultKind::Internal, "the gateway's chain is out of order")
                .detail("a filter replied to an attempt"),
        );
    }
    let AttemptView {
        mut headers,
        edits,
        instead,
        ..
    } = attempt;
    let body = match (instead.body, &request.form, &request.body) {
        (Some(body), _, _) => Segments::from(body),
        (None, Some(form), _) => edits.apply(form.bytes()),
        (None, None, Some(document)) => edits.apply(document.body()),
        (None, None, None) => Segments::default(),
    };
    let method = instead.method.unwrap_or_else(|| request.method.clone());
    let has_body = !body.is_empty() || method == Method::POST && request.body.is_some();
    let body_bytes = has_body.then(|| body.len());
    finish_headers(
        &mut headers,
        &candidate.channel,
        credential,
        &request.id,
        body_bytes,
    );
    Ok(Prepared {
        method,
        headers,
        path_and_query: match instead.path {
            Some(path) => format!("{}{path}", candidate.channel.origin.base_path),
            None => upstream_path(&candidate.channel, request),
        },
        body,
    })
}

/// A request for the models of a channel, which every provider answers at once.
pub(in crate::gateway) fn prepare_probe(
    channel: &Channel,
    credential: Option<&Credential>,
) -> Prepared {
    let mut headers = hygiene::for_provider(&HeaderMap::new());
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    if channel.protocols.contains(&Protocol::Messages) {
        let version = HeaderName::from_static("anthropic-version");
        headers.insert(version, HeaderValue::from_static("2023-06-01"));
    }
    finish_headers(&mut headers, channel, credential, &request_id::new(), None);
    Prepared {
        method: Method::GET,
        headers,
        path_and_query: path_at(channel, "/v1/models"),
        body: Segments::default(),
    }
}

/// A request that a filter sends beside an exchange's attempts.
pub(in crate::gateway) fn prepare_errand(
    channel: &Channel,
    credential: Option<&Credential>,
    errand: &Errand,
) -> Prepared {
    let mut headers = hygiene::for_provider(&HeaderMap::new());
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    for (name, value) in &errand.headers {
        headers.insert(name, value.clone());
    }
    let body_bytes = match (errand.body.len(), &errand.method) {
        (0, &Method::GET) => None,
        (bytes, _) => Some(bytes),
    };
    finish_headers(&mut headers, channel, credential, &errand.id, body_bytes);
    Prepared {
        method: errand.method.clone(),
        headers,
        path_and_query: format!("{}{}", channel.origin.base_path, errand.path),
        body: Segments::from(errand.body.clone()),
    }
}

impl Prepared {
    /// The head as `session`'s version of HTTP wants it, and the body.
    ///
    /// # Errors
    /// [`FaultKind::Internal`]: the path is none that can be sent.
    pub(in crate::gateway) fn into_wire(
        self,
        session: &HttpSession,
        channel: &Channel,
    ) -> Result<(Box<RequestHeader>, Segments), Fault> {
        let Self {
            method,
            mut headers,
            path_and_query,
            body,
        } = self;
        let is_h2 = matches!(session, HttpSession::H2(_));
        let uri = if is_h2 {
            headers.remove(header::HOST);
            http::Uri::builder()
                .scheme(channel.origin.scheme())
                .authority(channel.origin.authority.as_bytes())
                .path_and_query(path_and_query)
                .build()
        } else {
            http::Uri::try_from(path_and_query).map_err(http::Error::from)
        };
        let (mut parts, ()) = http::Request::new(()).into_parts();
        parts.uri = uri.map_err(|error| {
            Fault::new(
                FaultKind::Internal,
                "the gateway could not build its request",
            )
            .source(error)
        })?;
        parts.method = method;
        parts.headers = headers;
        parts.version = if is_h2 {
            Version::HTTP_2
        } else {
            Version::HTTP_11
        };
        Ok((Box::new(RequestHeader::from(parts)), body))
    }
}

/// Headers of the gateway's own, the credential last of all.
fn finish_headers(
    headers: &mut HeaderMap,
    channel: &Channel,
    credential: Option<&Credential>,
    request_id: &str,
    body_bytes: Option<usize>,
) {
    let id = HeaderValue::from_str(request_id).expect("request ids are plain text");
    headers.insert(HeaderName::from_static("x-request-id"), id);
    headers.insert(header::HOST, channel.origin.authority.clone());
    if let Some(bytes) = body_bytes {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    }
    for (name, value) in &channel.headers {
        headers.insert(name, value.clone());
    }
    if let Some(credential) = credential {
        headers.insert(&credential.name, credential.value.clone());
    }
}

/// The channel's base path, and the caller's path without its `/v1`.
fn upstream_path(channel: &Channel, request: &RequestView) -> String {
    let path = request.upstream_path.as_deref().unwrap_or(&request.path);
    let path = path_at(channel, path);
    match &request.query {
        None => path,
        Some(query) => match &*hygiene::query_for_provider(query, &request.headers) {
            // It had nothing else.
            "" if !query.is_empty() => path,
            query => format!("{path}?{query}"),
        },
    }
}

fn path_at(channel: &Channel, path: &str) -> String {
    let base = &channel.origin.base_path;
    let path = path
        .strip_prefix("/v1")
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(path);
    format!("{base}{path}")
}

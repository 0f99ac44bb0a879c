//! Lends the messages of an exchange to a plugin: without credentials, and without what the gateway alone decides.

use crate::catalog::model::Candidate;
use crate::filter::view::{RequestView, ResponseView};
use crate::plugin::{ExchangeProperties, PluginExchange, PluginRequestHead, PluginResponseHead};
use crate::protocol::credential_names::names_credential;
use crate::protocol::header_policy::query_for_provider;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::sync::Arc;

/// Headers of requests that a plugin cannot change: they describe the connection, or the body that the gateway reads.
const FIXED_REQUEST_HEADERS: [HeaderName; 6] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
/// Headers of responses that a plugin cannot change: the gateway sets them for the body that it sends.
const FIXED_RESPONSE_HEADERS: [HeaderName; 3] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
];

/// Headers of a request that a plugin does not get, or cannot change, until they are given back.
pub struct WithheldHeaders(Vec<(HeaderName, HeaderValue)>);

/// The head of a request as a plugin sees it at first.
pub fn request_head(request: &RequestView) -> PluginRequestHead {
    let authority = request.header(header::HOST.as_str()).unwrap_or_default();
    PluginRequestHead {
        method: request.method.clone(),
        scheme: "https".to_owned(),
        authority: authority.to_owned(),
        path: visible_path(request),
        headers: HeaderMap::new(),
    }
}

/// Moves the request's headers into the exchange, all but credentials.
pub fn lend_request(request: &mut RequestView, exchange: &mut PluginExchange) -> WithheldHeaders {
    let withheld = WithheldHeaders::take(&mut request.headers);
    exchange.request.headers = std::mem::take(&mut request.headers);
    exchange.properties = Some(Arc::new(properties(request, None)));
    withheld
}

/// Moves the headers back.
pub fn take_back_request(
    request: &mut RequestView,
    exchange: &mut PluginExchange,
    withheld: WithheldHeaders,
) {
    let mut headers = std::mem::take(&mut exchange.request.headers);
    withheld.restore(&mut headers);
    request.headers = headers;
}

/// Takes over the path and the query, if the plugin changed them.
pub fn take_over_path(request: &mut RequestView, path: &str) {
    if path == visible_path(request) {
        return;
    }
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    };
    if path != request.path {
        request.upstream_path = Some(path.to_owned());
    }
    request.query = query.map(str::to_owned);
}

/// Copies the request's headers into the exchange, all but credentials, for the phases after it was sent.
pub fn show_request(
    request: &RequestView,
    candidate: Option<&Candidate>,
    exchange: &mut PluginExchange,
) {
    let visible = |(name, _): &(&HeaderName, &HeaderValue)| !is_hidden(name);
    let headers = request.headers.iter().filter(visible);
    exchange.request.headers = headers
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    exchange.properties = Some(Arc::new(properties(request, candidate)));
}

/// Copies the response's head into the exchange.
pub fn show_response(response: &ResponseView<'_>, exchange: &mut PluginExchange) {
    exchange.response = Some(PluginResponseHead {
        status: response.status,
        headers: response.headers.clone(),
    });
}

/// Takes over the headers as the plugin left them.
pub fn take_over_response_headers(response: &mut ResponseView<'_>, exchange: &PluginExchange) {
    let Some(head) = &exchange.response else {
        return;
    };
    let sent = std::mem::replace(response.headers, head.headers.clone());
    for name in FIXED_RESPONSE_HEADERS {
        response.headers.remove(&name);
        for value in sent.get_all(&name) {
            response.headers.append(name.clone(), value.clone());
        }
    }
}

/// Whether the request has a body, as far as its head shows.
pub fn has_body(request: &RequestView) -> bool {
    let length = request.header("content-length");
    match length {
        Some(length) => length.trim() != "0",
        None => {
            request.headers.contains_key("transfer-encoding")
                || !matches!(
                    request.method.as_str(),
                    "GET" | "HEAD" | "DELETE" | "OPTIONS"
                )
        }
    }
}

impl WithheldHeaders {
    fn take(headers: &mut HeaderMap) -> Self {
        let hidden: Vec<_> = headers
            .keys()
            .filter(|name| is_hidden(name))
            .cloned()
            .collect();
        let mut withheld = Vec::new();
        for name in hidden {
            for value in headers.get_all(&name) {
                withheld.push((name.clone(), value.clone()));
            }
            headers.remove(&name);
        }
        for name in FIXED_REQUEST_HEADERS {
            for value in headers.get_all(&name) {
                withheld.push((name.clone(), value.clone()));
            }
        }
        Self(withheld)
    }

    /// Puts the headers back. What the plugin set by such names is dropped.
    fn restore(self, headers: &mut HeaderMap) {
        for name in FIXED_REQUEST_HEADERS {
            headers.remove(name);
        }
        for (name, _) in &self.0 {
            headers.remove(name);
        }
        for (name, value) in self.0 {
            headers.append(name, value);
        }
    }
}

fn is_hidden(name: &HeaderName) -> bool {
    names_credential(name.as_str().as_bytes())
}

fn properties(request: &RequestView, candidate: Option<&Candidate>) -> ExchangeProperties {
    ExchangeProperties {
        id: request.id.clone(),
        client: request.client.as_ref().map(|client| client.address),
        route: request.route.clone(),
        caller: request.caller.as_ref().map(|caller| caller.name.clone()),
        model: request.model().map(|model| model.name.clone()),
        channel: candidate.map(|candidate| candidate.channel.name.clone()),
        protocol: request.protocol.map(|protocol| protocol.name()),
        attempt: request.info.attempt,
    }
}

/// The path and the query, without credentials in it.
fn visible_path(request: &RequestView) -> String {
    match request.query.as_deref() {
        None | Some("") => request.path.clone(),
        Some(query) => {
            let visible = query_for_provider(query, &request.headers);
            format!("{}?{visible}", request.path)
        }
    }
}

//! Lends the messages of an exchange to a plugin: without credentials, and without what the gateway alone decides.

use crate::{
    ExchangeProperties, IgnoredEdit, LentExchange, PluginRequestHead, PluginResponseHead,
    PluginWithSettings, WithheldPartGrants,
};
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::chain::GrantedResponseHeaders;
use headgate_core::filter::view::{RequestView, ResponseView};
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
pub struct WithheldHeaders(HeaderMap);

/// The head of a request as a plugin sees it at first.
pub fn request_head(request: &RequestView, grants: &WithheldPartGrants) -> PluginRequestHead {
    let authority = request.header(header::HOST.as_str()).unwrap_or_default();
    PluginRequestHead {
        method: request.method.clone(),
        scheme: request.scheme().to_string(),
        authority: authority.to_owned(),
        path: visible_path(request, grants),
        headers: HeaderMap::new(),
    }
}

/// Moves the request's headers into the exchange, all but credentials.
pub fn borrow_request(
    request: &mut RequestView,
    exchange: &mut LentExchange,
    grants: &WithheldPartGrants,
) -> WithheldHeaders {
    let withheld = WithheldHeaders::take(&mut request.headers, grants);
    exchange.request.headers = std::mem::take(&mut request.headers);
    exchange.properties = Some(Arc::new(properties(request, None)));
    withheld
}

/// Moves the headers back.
pub fn return_request(
    request: &mut RequestView,
    exchange: &mut LentExchange,
    withheld: WithheldHeaders,
    grants: &WithheldPartGrants,
    plugin: &PluginWithSettings,
) {
    let mut headers = std::mem::take(&mut exchange.request.headers);
    withheld.restore(&mut headers, grants, plugin);
    request.headers = headers;
}

/// Takes over the path and the query, if the plugin changed them; reports what else it changed of the head.
pub fn take_over_head(
    request: &mut RequestView,
    head: &PluginRequestHead,
    grants: &WithheldPartGrants,
    plugin: &PluginWithSettings,
) {
    let given = request_head(request, grants);
    for (is_changed, edit) in [
        (head.method != given.method, IgnoredEdit::Method),
        (head.authority != given.authority, IgnoredEdit::Authority),
        (head.scheme != given.scheme, IgnoredEdit::Scheme),
    ] {
        if is_changed {
            plugin.report_ignored(edit);
        }
    }
    let path = head.path.as_str();
    if path == given.path {
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
    exchange: &mut LentExchange,
    grants: &WithheldPartGrants,
) {
    let visible = |(name, _): &(&HeaderName, &HeaderValue)| !grants.hides(name);
    let headers = request.headers.iter().filter(visible);
    exchange.request.headers = headers
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    exchange.properties = Some(Arc::new(properties(request, candidate)));
}

/// Copies the response's head into the exchange.
pub fn show_response(response: &ResponseView<'_>, exchange: &mut LentExchange) {
    exchange.response = Some(PluginResponseHead {
        status: response.status,
        headers: response.headers.clone(),
    });
}

/// Adds the headers of the provider's response that the plugin is granted.
pub fn show_granted_headers(
    request: &RequestView,
    exchange: &mut LentExchange,
    grants: &WithheldPartGrants,
) {
    let granted = request.state.get::<GrantedResponseHeaders>();
    let (Some(GrantedResponseHeaders(granted)), Some(head)) = (granted, &mut exchange.response)
    else {
        return;
    };
    for name in &grants.response_headers {
        if head.headers.contains_key(name) {
            continue;
        }
        for value in granted.get_all(name) {
            head.headers.append(name.clone(), value.clone());
        }
    }
}

/// Takes over the status and the headers as the plugin left them.
pub fn take_over_response(
    response: &mut ResponseView<'_>,
    exchange: &LentExchange,
    plugin: &PluginWithSettings,
) {
    let Some(head) = &exchange.response else {
        return;
    };
    match head.status.as_u16() {
        _ if head.status == response.status => {}
        204 | 205 | 304 => plugin.report_ignored(IgnoredEdit::BodilessStatus),
        _ => response.status = head.status,
    }
    let given = std::mem::replace(response.headers, head.headers.clone());
    restore_fixed(response.headers, &given, &FIXED_RESPONSE_HEADERS, plugin);
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
    fn take(headers: &mut HeaderMap, grants: &WithheldPartGrants) -> Self {
        let hidden: Vec<_> = headers
            .keys()
            .filter(|name| grants.hides(name))
            .cloned()
            .collect();
        let mut withheld = HeaderMap::new();
        for name in hidden {
            copy_values(headers, &mut withheld, &name);
            headers.remove(&name);
        }
        for name in FIXED_REQUEST_HEADERS {
            copy_values(headers, &mut withheld, &name);
        }
        Self(withheld)
    }

    /// Puts the headers back. What the plugin set by such names is dropped, also if the request had none.
    fn restore(
        self,
        headers: &mut HeaderMap,
        grants: &WithheldPartGrants,
        plugin: &PluginWithSettings,
    ) {
        let set = headers.keys().filter(|name| grants.hides(name));
        for name in set.cloned().collect::<Vec<_>>() {
            plugin.report_ignored(IgnoredEdit::Credential);
            headers.remove(name);
        }
        restore_fixed(headers, &self.0, &FIXED_REQUEST_HEADERS, plugin);
        for (name, value) in &self.0 {
            if !FIXED_REQUEST_HEADERS.contains(name) {
                headers.append(name.clone(), value.clone());
            }
        }
    }
}

/// Sets headers that a plugin cannot change to what they were.
fn restore_fixed(
    headers: &mut HeaderMap,
    given: &HeaderMap,
    names: &[HeaderName],
    plugin: &PluginWithSettings,
) {
    for name in names {
        if headers.get_all(name) == given.get_all(name) {
            continue;
        }
        // Plugins that change a body remove its length, as they must in other proxies.
        if headers.contains_key(name) {
            plugin.report_ignored(IgnoredEdit::Connection);
        }
        headers.remove(name);
        copy_values(given, headers, name);
    }
}

fn copy_values(from: &HeaderMap, to: &mut HeaderMap, name: &HeaderName) {
    for value in from.get_all(name) {
        to.append(name.clone(), value.clone());
    }
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
fn visible_path(request: &RequestView, grants: &WithheldPartGrants) -> String {
    grants.visible_path(&request.path, request.query.as_deref(), &request.headers)
}

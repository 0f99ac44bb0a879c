//! A dry run of a request: the filters of its route decide, and nothing is sent.

use bytes::Bytes;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::Route;
use headgate_core::catalog::caller::Caller;
use headgate_core::filter::FilterAction;
use headgate_core::filter::body_limit::too_large;
use headgate_core::filter::body_reading::RequestBodyFormat;
use headgate_core::filter::chain::RequestChain;
use headgate_core::filter::descriptor::FilterProvision;
use headgate_core::filter::view::RequestView;
use headgate_gateway::preview::{
    SubrequestPreview, SubrequestRecorder, count_locally, request_view,
};
use headgate_protocol::Protocol;
use headgate_protocol::fault::Fault;
use headgate_tracing::ExchangeTrace;
use http::{HeaderMap, HeaderValue, Method, header};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// A request whose route is known.
pub struct DryRunRequest {
    pub method: Method,
    pub path: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    /// Values of the route's `{parameters}`.
    pub params: Vec<(Arc<str>, String)>,
    /// The address of the connection.
    pub peer: SocketAddr,
    /// `None` if the key in the headers decides.
    pub caller: Option<Arc<Caller>>,
    pub body: Option<Bytes>,
    /// Id of the request; a random one if `None`.
    pub id: Option<&'static str>,
    /// Filters with these provisions do not run.
    pub without: &'static [FilterProvision],
}

/// What the filters of a route decided about a request.
pub struct DryRunResult {
    pub request: RequestView,
    pub verdict: Result<FilterAction, Fault>,
    /// The requests of filters that the gateway would send before it decides, in order.
    pub subrequests: Vec<SubrequestPreview>,
    /// The trace that the request would belong to, if the configuration has `tracing`.
    pub trace: Option<Box<ExchangeTrace>>,
}

impl DryRunResult {
    /// Runs the request filters of `route`.
    pub async fn run(snapshot: &Snapshot, route: &Route, request: DryRunRequest) -> Self {
        let DryRunRequest {
            method,
            path,
            query,
            headers,
            params,
            peer,
            caller,
            body,
            id,
            without,
        } = request;
        let mut request = request_view(route, method, path, query, headers, params);
        if let Some(id) = id {
            request.id = id.into();
        }
        let tracing = snapshot.tracing.as_ref();
        let trace = tracing.map(|tracing| tracing.begin(&mut request.headers, Instant::now()));
        let client = &snapshot.server.client_addresses;
        request.client = Some(client.resolve_client(peer, &request.headers));
        let mut chain = route.request.clone();
        if caller.is_some() {
            chain = chain.without(FilterProvision::Caller);
        }
        for provision in without {
            chain = chain.without(*provision);
        }
        request.caller = caller;
        let recorder = Arc::new(SubrequestRecorder::default());
        recorder.collect_from(&mut request, route);
        let verdict = verdict(&chain, &mut request, body).await;
        let verdict = verdict.and_then(|action| match action {
            FilterAction::Continue => Ok(match count_locally(route, &mut request)? {
                None => FilterAction::Continue,
                Some(reply) => FilterAction::LocalReply(Box::new(reply)),
            }),
            reply => Ok(reply),
        });
        let verdict = verdict.map_err(|fault| request.with_callers_names(fault));
        Self {
            subrequests: recorder.take(),
            request,
            verdict,
            trace,
        }
    }
}

/// A path and its query.
pub fn split_query(path_and_query: &str) -> (String, Option<String>) {
    match path_and_query.split_once('?') {
        Some((path, query)) => (path.to_string(), Some(query.to_string())),
        None => (path_and_query.to_string(), None),
    }
}

/// Headers that every request of this kind has: those of a JSON body and of the protocol.
pub fn usual_headers(protocol: Option<Protocol>, has_body: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if has_body {
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
    }
    let own = protocol.map(|protocol| protocol.descriptor().headers);
    if let Some((name, version)) = own.and_then(|own| own.version.as_ref()) {
        headers.insert(name, HeaderValue::from_static(version));
    }
    headers
}

async fn verdict(
    chain: &RequestChain,
    request: &mut RequestView,
    body: Option<Bytes>,
) -> Result<FilterAction, Fault> {
    match chain.on_head(request).await? {
        FilterAction::Continue => {}
        reply => return Ok(reply),
    }
    let body = body.unwrap_or_default();
    if body.len() as u64 > request.body_limit {
        return Err(too_large(Some(body.len() as u64), request.body_limit));
    }
    let reading = RequestBodyFormat::for_request(request, &body, chain.body_need());
    request.receive_body(reading.read(body)?);
    chain.on_body(request).await
}

//! What an attempt would send, for `headgate explain`: secrets masked, nothing sent.

use super::exchange::prepare::prepare;
use crate::catalog::model::Candidate;
use crate::filter::view::RequestView;
use crate::protocol::fault::Fault;
use crate::snapshot::router::Route;
use http::{HeaderMap, Method};
use std::sync::Arc;

/// A request for a provider, as a person reads it.
pub struct Preview {
    pub url: String,
    /// Names and values; a secret reads `[secret]`.
    pub headers: Vec<(String, String)>,
    pub body_bytes: usize,
}

/// The request that an attempt on `candidate` would send.
///
/// # Errors
/// What the attempt would fail with before it sends anything.
pub async fn preview(
    route: &Route,
    request: &RequestView,
    candidate: &Candidate,
) -> Result<Preview, Fault> {
    let credential = candidate.channel.credentials.first();
    let prepared = prepare(route, request, candidate, credential).await?;
    let origin = &candidate.channel.origin;
    let scheme = origin.scheme();
    let authority = origin.authority.to_str().unwrap_or_default();
    let headers = prepared
        .headers
        .iter()
        .map(|(name, value)| {
            let value = match value.is_sensitive() {
                true => "[secret]".into(),
                false => String::from_utf8_lossy(value.as_bytes()).into_owned(),
            };
            (name.to_string(), value)
        })
        .collect();
    Ok(Preview {
        url: format!("{scheme}://{authority}{}", prepared.path_and_query),
        headers,
        body_bytes: prepared.body.len(),
    })
}

/// A request as it would come from a caller.
pub fn request_view(
    route: &Route,
    method: Method,
    path: String,
    query: Option<String>,
    headers: HeaderMap,
    params: Vec<(Arc<str>, String)>,
) -> RequestView {
    RequestView::new(
        crate::gateway::request_id::new(),
        method,
        path,
        query,
        headers,
        params,
        route.protocol,
    )
}

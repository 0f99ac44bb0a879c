//! What an attempt would send, for `headgate explain`: secrets masked, nothing sent.

use super::exchange::prepare::prepare;
use super::subrequest::prepare_subrequest;
use super::upstream::UpstreamTarget;
use super::upstream::request::PreparedRequest;
use crate::catalog::channel::{Channel, TimeoutOverrides};
use crate::catalog::model::Candidate;
use crate::filter::view::RequestView;
use crate::protocol::fault::{Fault, FaultKind};
use crate::snapshot::router::Route;
use crate::subrequest::{Subrequest, SubrequestClient, SubrequestFuture, SubrequestSender};
use http::{HeaderMap, Method};
use std::sync::{Arc, Mutex, PoisonError};

/// A request for a provider, as a person reads it.
pub struct RequestPreview {
    pub method: Method,
    pub url: String,
    /// Names and values; a secret reads `[secret]`.
    pub headers: Vec<(String, String)>,
    pub body_bytes: u64,
}

/// The request that an attempt on `candidate` would send.
///
/// # Errors
/// What the attempt would fail with before it sends anything.
pub async fn preview(
    route: &Route,
    request: &RequestView,
    candidate: &Candidate,
) -> Result<RequestPreview, Fault> {
    let credential = candidate.channel.credentials.first();
    let prepared = prepare(route, request, candidate, credential).await?;
    Ok(RequestPreview::of(&prepared, &candidate.channel))
}

impl RequestPreview {
    fn of(prepared: &PreparedRequest, channel: &Channel) -> Self {
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
        Self {
            method: prepared.method.clone(),
            url: prepared.url(channel),
            headers,
            body_bytes: prepared.body.content_length().unwrap_or(0),
        }
    }
}

/// Stands for the gateway where nothing may be sent: keeps what each subrequest would be.
#[derive(Default)]
pub struct SubrequestPreviews(Mutex<Vec<SubrequestPreview>>);

/// A subrequest with its channel, or why it cannot be sent.
pub type SubrequestPreview = (Arc<Channel>, Result<RequestPreview, Fault>);

impl SubrequestPreviews {
    /// Keeps the subrequests that filters of `route` make for `request` from now on.
    pub fn collect_from(self: &Arc<Self>, request: &mut RequestView, route: &Route) {
        request.subrequests = Some(SubrequestClient::new(self.clone(), route.timeouts));
    }

    /// The subrequests that were made so far, in their order, each with its channel.
    pub fn take(&self) -> Vec<SubrequestPreview> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SubrequestSender for SubrequestPreviews {
    fn send(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> SubrequestFuture {
        let Candidate { channel, key, .. } = &subrequest.candidate;
        let target = UpstreamTarget {
            channel,
            credential: channel.credentials.get(key.unwrap_or(0)),
        };
        let prepared = prepare_subrequest(target, &subrequest, timeouts);
        let preview = prepared.map(|prepared| RequestPreview::of(&prepared, channel));
        let mut previews = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        previews.push((channel.clone(), preview));
        Box::pin(async {
            Err(Fault::new(
                FaultKind::Internal,
                "nothing is sent to a provider here",
            ))
        })
    }
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

//! The request that an attempt would send, for `headgate explain`: secrets are masked, and nothing is sent.

use super::exchange::prepare::{attempt_body, begin_attempt, build};
pub use super::exchange::token_count::count_locally;
use super::exchange::translation::{ThoughtLookup, list_request_members};
use super::subrequest::prepare_subrequest;
use super::upstream::ChannelWithCredential;
use super::upstream::request::{PreparedBody, PreparedRequest};
pub use crate::upstream::body_kind::response_body_kind;
use bytes::Bytes;
use headgate_config::snapshot::router::Route;
use headgate_core::catalog::channel::{Channel, TimeoutOverrides};
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use headgate_core::subrequest::{Subrequest, SubrequestClient, SubrequestFuture, SubrequestSender};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_tracing::ExchangeTrace;
pub use headgate_translate::{ListedMember, MemberList, ProtocolPair};
use http::{HeaderMap, Method};
use std::sync::{Arc, Mutex, PoisonError};

/// An upstream request in printable form.
pub struct UpstreamRequestPreview {
    pub method: Method,
    pub url: String,
    /// Names and values; the value of a secret is `[secret]`.
    pub headers: Vec<(String, String)>,
    pub body_bytes: u64,
    /// The body; empty if it is none that is known as a whole.
    pub body: Bytes,
}

/// What an attempt would send.
pub struct AttemptPreview {
    /// What becomes of the members of the caller's request, if the channel has another protocol.
    pub translation: Option<TranslationPreview>,
    /// The request, or why it cannot be translated.
    pub request: Result<UpstreamRequestPreview, Fault>,
}

/// A translation, member by member.
pub struct TranslationPreview {
    pub pair: ProtocolPair,
    pub members: MemberList,
}

/// What an attempt on `candidate` would send, as a part of `trace`.
///
/// # Errors
/// The attempt would fail before it sends anything, other than by its translation.
pub async fn preview(
    route: &Route,
    request: &RequestView,
    candidate: &Candidate,
    trace: Option<&ExchangeTrace>,
) -> Result<AttemptPreview, Fault> {
    let credential = candidate.channel.credentials.first();
    let mut attempt = begin_attempt(request, candidate, trace)?;
    route.request.on_attempt(request, &mut attempt).await?;
    let translation = match candidate.is_translated && attempt.request_override.body.is_none() {
        true => {
            let body = attempt_body(request, &attempt);
            let translation = route.translation.as_deref();
            let (pair, members) = list_request_members(request, candidate, translation, body)?;
            Some(TranslationPreview { pair, members })
        }
        false => None,
    };
    let prepared = build(
        route,
        request,
        attempt,
        credential,
        ThoughtLookup::default(),
    );
    let request = match prepared {
        Ok(prepared) => Ok(UpstreamRequestPreview::from_prepared(
            &prepared.request,
            &candidate.channel,
        )),
        Err(fault) if translation.is_some() => Err(fault),
        Err(fault) => return Err(fault),
    };
    Ok(AttemptPreview {
        translation,
        request,
    })
}

impl UpstreamRequestPreview {
    fn from_prepared(prepared: &PreparedRequest, channel: &Channel) -> Self {
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
            url: prepared.shown_url(channel),
            headers,
            body_bytes: prepared.body.content_length().unwrap_or(0),
            body: match &prepared.body {
                PreparedBody::Whole(body) => body.to_bytes(),
                _ => Bytes::new(),
            },
        }
    }
}

/// Replaces the gateway in a dry run: records subrequests instead of sending them.
#[derive(Default)]
pub struct SubrequestRecorder(Mutex<Vec<SubrequestPreview>>);

/// A subrequest with its channel, or the error that prevents it.
pub type SubrequestPreview = (Arc<Channel>, Result<UpstreamRequestPreview, Fault>);

impl SubrequestRecorder {
    /// Records the subrequests that filters of `route` make for `request` from now on.
    pub fn collect_from(self: &Arc<Self>, request: &mut RequestView, route: &Route) {
        request.subrequests = Some(SubrequestClient::new(self.clone(), route.timeouts));
    }

    /// The subrequests recorded so far, in order.
    pub fn take(&self) -> Vec<SubrequestPreview> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SubrequestSender for SubrequestRecorder {
    fn send(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> SubrequestFuture {
        let Candidate { channel, key, .. } = &subrequest.candidate;
        let target = ChannelWithCredential {
            channel,
            credential: channel.credentials.get(key.unwrap_or(0)),
        };
        let prepared = prepare_subrequest(target, &subrequest, timeouts);
        let preview = prepared.map(|prepared| {
            let mut preview = UpstreamRequestPreview::from_prepared(&prepared, channel);
            if let Some(other) = &subrequest.other_host {
                let scheme = if other.url.is_https { "https" } else { "http" };
                preview.url = format!("{scheme}://{}{}", other.url.authority, prepared.uri);
            }
            preview
        });
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

/// A request as a caller would send it.
pub fn request_view(
    route: &Route,
    method: Method,
    path: String,
    query: Option<String>,
    headers: HeaderMap,
    params: Vec<(Arc<str>, String)>,
) -> RequestView {
    let id = crate::request_id::new();
    RequestView {
        route: route.name.clone(),
        ..RequestView::new(id, method, path, query, headers, params, route.protocol)
    }
}

//! Builds the upstream request of one attempt from the caller's original bytes.

use super::cloud_attempt::in_cloud;
use super::session_attempt::become_handshake;
use super::translation::{
    ResponseTranslation, ThoughtLookup, edited_bytes, find_thoughts, no_translation,
    remove_seals_of_others, replace_protocol_headers, translate,
};
use crate::head::check_upstream_path;
use crate::upstream::ChannelWithCredential;
use crate::upstream::provider_target::{below_base_url, check_model_in_path};
use crate::upstream::request::{ConnectionReusePolicy, PreparedBody, PreparedRequest};
use bytes::Bytes;
use headgate_config::snapshot::router::Route;
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::view::{AttemptRequestReplacement, AttemptView, RequestView};
use headgate_core::state::kept_thoughts::{FoundThoughts, ThoughtStore};
use headgate_core::task::family::path_template::set_in_query;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::form::WrittenForm;
use headgate_protocol::json::edit::{BodySegments, JsonEdits};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::{ChannelProtocol, header_policy};
use headgate_tracing::ExchangeTrace;
use http::{HeaderMap, HeaderValue, Method, header};
use std::borrow::Cow;
use std::sync::Arc;

/// The upstream request of an attempt.
pub(crate) struct PreparedAttempt {
    pub request: PreparedRequest,
    /// How the response becomes the caller's; `None` if both sides speak one protocol.
    pub translation: Option<Box<ResponseTranslation>>,
    /// What was removed of a request that is not translated, for the caller and the log.
    pub removed_seals: Option<String>,
}

/// Builds the request for `candidate`, as a part of `trace`. Handles of thoughts are looked up in `thoughts`.
///
/// # Errors
/// A filter rejected the request, or it cannot be translated.
pub(crate) async fn prepare(
    route: &Route,
    request: &RequestView,
    candidate: &Candidate,
    credential: Option<&Credential>,
    trace: Option<&ExchangeTrace>,
    thoughts: Option<&Arc<ThoughtStore>>,
) -> Result<PreparedAttempt, Fault> {
    let mut attempt = begin_attempt(request, candidate, trace)?;
    route.request.on_attempt(request, &mut attempt).await?;
    let found = match thoughts {
        // Boxed, so that other requests do not take its memory.
        Some(store) if candidate.is_translated => {
            Box::pin(find_thoughts(request, candidate, store)).await
        }
        Some(_) | None => FoundThoughts::default(),
    };
    build(route, request, attempt, credential, (thoughts, found))
}

/// An attempt on `candidate` that the filters of the route have not seen yet.
///
/// # Errors
/// The candidate's model does not fit into its path.
pub(crate) fn begin_attempt(
    request: &RequestView,
    candidate: &Candidate,
    trace: Option<&ExchangeTrace>,
) -> Result<AttemptView, Fault> {
    check_model_in_path(candidate)?;
    let mut headers = header_policy::request_headers_for_provider(&request.headers);
    let forwarded = request
        .client
        .and_then(|client| client.forwarded(candidate.channel.forwarded, &request.headers));
    if let Some((name, value)) = forwarded {
        headers.insert(name, value);
    }
    // Before the operator's edits, which may remove it.
    if let Some(trace) = trace {
        trace.set_headers(&mut headers);
    }
    if candidate
        .protocol
        .is_some_and(ChannelProtocol::creates_paid_work)
    {
        header_policy::remove_idempotency_key(&mut headers);
    }
    request.header_edits.apply(&mut headers)?;
    Ok(AttemptView {
        candidate: candidate.clone(),
        headers,
        edits: request.edits.clone(),
        edited_by: None,
        request_override: AttemptRequestReplacement::default(),
        body_members: Vec::new(),
        query_members: Vec::new(),
    })
}

/// Builds the request of an attempt that the filters have seen.
///
/// # Errors
/// It cannot be translated.
pub(crate) fn build(
    route: &Route,
    request: &RequestView,
    mut attempt: AttemptView,
    credential: Option<&Credential>,
    thoughts: ThoughtLookup<'_>,
) -> Result<PreparedAttempt, Fault> {
    let is_session = attempt.candidate.opens_session() && become_handshake(request, &mut attempt);
    let AttemptView {
        candidate,
        mut headers,
        mut edits,
        request_override,
        body_members,
        query_members,
        edited_by: _,
    } = attempt;
    let candidate = &candidate;
    let target = ChannelWithCredential {
        channel: &candidate.channel,
        credential,
    };
    let method = request_override
        .method
        .unwrap_or_else(|| request.method.clone());
    let mut translation = None;
    let mut translated_path = None;
    let mut removed_seals = None;
    let body = match request_override.body {
        Some(body) => {
            let mut body = with_members(body, &body_members)?;
            if request_override.is_form {
                body = form_body(&body.to_bytes(), &mut headers)?;
            }
            whole(body, &method)
        }
        None => {
            if let Some(document) = request.body.document() {
                insert_members(&mut edits, document, &body_members);
            }
            match candidate.is_translated {
                false => {
                    removed_seals = remove_seals_of_others(route, request, &mut edits);
                    caller_body(&request.body, &edits, &method)
                }
                true => {
                    let translation_of_route = route.translation.as_deref();
                    let translated =
                        translate(request, candidate, translation_of_route, &edits, thoughts)?;
                    if let Some(channel) = candidate.protocol {
                        replace_protocol_headers(&mut headers, channel);
                    }
                    translated_path = Some(translated.path.ok_or_else(no_translation)?);
                    translation = Some(translated.translation);
                    PreparedBody::Whole(BodySegments::from(translated.body))
                }
            }
        }
    };
    let channel = target.channel;
    let path = match (request_override.path, translated_path) {
        (Some(path), _) => path.into(),
        (None, Some(path)) => path,
        (None, None) => caller_path(request)?,
    };
    let (path, body) = match channel.cloud {
        None => (path, body),
        Some(cloud) => {
            let (path, body) = in_cloud(cloud, candidate, &path, body)?;
            (path.into(), body)
        }
    };
    let path = with_query_members(path, &query_members);
    let path = below_base_url(candidate, &path)?;
    let mut prepared =
        PreparedRequest::new(target, Some(&request.id), method, path, headers, body)?;
    if is_session {
        prepared.connection = ConnectionReusePolicy::FreshHttp1;
    }
    Ok(PreparedAttempt {
        request: PreparedRequest {
            timeouts: route.timeouts.over(channel.timeouts),
            ..prepared
        },
        translation,
        removed_seals,
    })
}

/// The caller's body as `attempt` has it before a translation.
pub(crate) fn attempt_body(request: &RequestView, attempt: &AttemptView) -> Bytes {
    let mut edits = attempt.edits.clone();
    if let Some(document) = request.body.document() {
        insert_members(&mut edits, document, &attempt.body_members);
    }
    edited_bytes(&request.body, &edits)
}

/// The caller's body with the edits applied.
fn caller_body(body: &RequestBody, edits: &JsonEdits, method: &Method) -> PreparedBody {
    match (body, body.bytes()) {
        (RequestBody::Streamed(stream), _) => PreparedBody::Streamed(stream.clone()),
        (_, Some(bytes)) => whole(edits.apply(bytes), method),
        (_, None) => PreparedBody::Absent,
    }
}

/// A body that a filter made, with the members that other filters set.
fn with_members(body: Bytes, members: &[(String, Bytes)]) -> Result<BodySegments, Fault> {
    if members.is_empty() {
        return Ok(BodySegments::from(body));
    }
    let document = JsonDocument::parse(body, &JsonLimits::default()).map_err(|error| {
        Fault::new(
            FaultKind::Internal,
            "internal error: the request to the provider could not be made",
        )
        .source(error)
    })?;
    let mut edits = JsonEdits::default();
    insert_members(&mut edits, &document, members);
    Ok(edits.apply(document.body()))
}

/// A JSON object as a multipart form.
fn form_body(json: &Bytes, headers: &mut HeaderMap) -> Result<BodySegments, Fault> {
    let document = JsonDocument::parse(json.clone(), &JsonLimits::default())?;
    let form = WrittenForm::from_json(&document);
    let form = form.map_err(|error| {
        Fault::new(
            FaultKind::Invalid,
            format!("{error}; send a data URI in base64"),
        )
    })?;
    let content_type = HeaderValue::try_from(form.content_type);
    let content_type = content_type.expect("a boundary consists of letters and digits");
    headers.insert(header::CONTENT_TYPE, content_type);
    Ok(BodySegments::from(form.body))
}

/// Sets members of the query, in place of those that the create was mapped to.
fn with_query_members<'p>(mut path: Cow<'p, str>, members: &[(String, String)]) -> Cow<'p, str> {
    for (name, value) in members {
        set_in_query(path.to_mut(), name, value);
    }
    path
}

fn insert_members(edits: &mut JsonEdits, document: &JsonDocument, members: &[(String, Bytes)]) {
    for (name, value) in members {
        edits.insert_member(document.root(), name, value.clone());
    }
}

/// Only a POST declares an empty body.
fn whole(body: BodySegments, method: &Method) -> PreparedBody {
    match body.is_empty() && method != Method::POST {
        true => PreparedBody::Absent,
        false => PreparedBody::Whole(body),
    }
}

/// The caller's path without `/v1`, with the query that may be forwarded.
fn caller_path(request: &RequestView) -> Result<Cow<'_, str>, Fault> {
    let path = request.upstream_path.as_deref().unwrap_or(&request.path);
    check_upstream_path(&request.path, path)?;
    let path = header_policy::path_for_provider(path);
    Ok(match &request.query {
        None => path.into(),
        Some(query) => match &*header_policy::query_for_provider(query, &request.headers) {
            // The query held only parameters that are not forwarded.
            "" if !query.is_empty() => path.into(),
            query => format!("{path}?{query}").into(),
        },
    })
}

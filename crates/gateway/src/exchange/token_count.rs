//! Requests that ask how many input tokens a request has, on channels of other protocols: a provider counts them, or the
//! gateway estimates them if none of the channels can.

use super::translation::{ChannelRequest, ThoughtLookup, edited_bytes, is_token_count, translate};
use super::translation_summary::{TranslationSummary, note_refusal};
use headgate_config::snapshot::router::Route;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::LocalReply;
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_translate::{estimate_input_tokens, token_count_path, token_count_response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::sync::Arc;

/// Who counted the tokens, if that was not the provider.
const TOKEN_COUNT: HeaderName = HeaderName::from_static("x-headgate-token-count");

/// The candidates whose providers can respond: for a count, not those of other protocols without an endpoint for it.
pub(super) fn keep_counting(
    request: &RequestView,
    candidates: Arc<[Candidate]>,
) -> Arc<[Candidate]> {
    if candidates.iter().all(counts_tokens) || !is_token_count(request) {
        return candidates;
    }
    let counting = candidates.iter().filter(|one| counts_tokens(one));
    counting.cloned().collect()
}

/// Selects the channels that can count the tokens of a request which asks for that. If none can, the reply with an
/// estimate; nothing is sent then.
///
/// # Errors
/// The request would be refused by the translation for its first channel.
pub fn count_locally(
    route: &Route,
    request: &mut RequestView,
) -> Result<Option<LocalReply>, Fault> {
    let Some(destination) = &request.destination else {
        return Ok(None);
    };
    if !is_token_count(request) {
        return Ok(None);
    }
    let all = destination.candidates.clone();
    let counting = keep_counting(request, all.clone());
    if let (Some(candidate), true) = (all.first(), counting.is_empty()) {
        return estimate(route, request, candidate).map(Some);
    }
    if let Some(destination) = &mut request.destination {
        destination.candidates = counting;
    }
    Ok(None)
}

fn estimate(
    route: &Route,
    request: &mut RequestView,
    candidate: &Candidate,
) -> Result<LocalReply, Fault> {
    let body = edited_bytes(&request.body, &request.edits);
    let document = JsonDocument::parse(body, &JsonLimits::default())?;
    let translation = route.translation.as_deref();
    let thoughts = ThoughtLookup::default();
    let translated = translate(request, candidate, translation, &request.edits, thoughts);
    let ChannelRequest { translation, .. } =
        translated.inspect_err(|fault| note_refusal(candidate, fault, request))?;
    let tokens = estimate_input_tokens(&document);
    request
        .state
        .set(TranslationSummary::for_estimate(translation.pair));
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(TOKEN_COUNT, HeaderValue::from_static("estimate"));
    Ok(LocalReply {
        status: StatusCode::OK,
        headers,
        body: token_count_response(translation.pair.caller, tokens).into(),
    })
}

fn counts_tokens(candidate: &Candidate) -> bool {
    let format = candidate
        .protocol
        .and_then(|one| one.descriptor().translation);
    !candidate.is_translated || format.and_then(token_count_path).is_some()
}

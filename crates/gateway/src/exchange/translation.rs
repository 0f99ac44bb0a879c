//! Translates the request of an attempt into the protocol of its channel.

use super::translation_summary::TranslationSummary;
use bytes::Bytes;
use headgate_config::snapshot::router::{Route, RouteTranslation};
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::view::RequestView;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::kept_thoughts::{FoundThoughts, ThoughtStore};
use headgate_core::task::TaskSettings;
use headgate_core::thinking_sealer::{TaskKeySealer, caller_name};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits, quoted};
use headgate_protocol::{ChannelProtocol, Protocol, header_policy};
use headgate_translate::{
    ChannelSettings, Ledger, LedgerEntry, MemberList, ProtocolPair, ResponseContext,
    TranslatedRequest, list_members, remove_seals, request_path, takes_call_ids, thinking_handles,
    token_count_path, token_count_request, translate_request,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Output tokens of a request without a limit, for providers that demand one.
const MAX_OUTPUT_TOKENS: u64 = 8192;

/// What was translated, and what the request lost by that.
pub(super) const TRANSLATION: HeaderName = HeaderName::from_static("x-headgate-translation");

/// How the response to a translated request becomes one of the caller's protocol.
#[derive(Debug)]
pub(crate) struct ResponseTranslation {
    pub pair: ProtocolPair,
    pub caller: Protocol,
    pub context: ResponseContext,
    /// Whether the response is the number of tokens of a request.
    pub is_token_count: bool,
    /// What the request lost.
    pub ledger: Ledger,
}

/// Where thoughts are kept of which callers give back a handle, and what is there of the handles of a request.
pub(crate) type ThoughtLookup<'s> = (Option<&'s Arc<ThoughtStore>>, FoundThoughts);

/// A request in the channel's protocol.
pub(super) struct ChannelRequest {
    pub body: Bytes,
    /// Below the channel's base URL; `None` if the provider has no endpoint for such requests.
    pub path: Option<Cow<'static, str>>,
    pub translation: Box<ResponseTranslation>,
}

/// Translates the caller's body with these edits for a candidate of another protocol.
///
/// # Errors
/// A member that changes the meaning of the request cannot be said in the channel's protocol.
pub(super) fn translate(
    request: &RequestView,
    candidate: &Candidate,
    translation: Option<&RouteTranslation>,
    edits: &JsonEdits,
    thoughts: ThoughtLookup<'_>,
) -> Result<ChannelRequest, Fault> {
    let RouteTranslation { policy, tasks } = translation.ok_or_else(no_translation)?;
    let (caller, channel, pair) = protocols(request, candidate)?;
    let parsed;
    let document = match document_without_edits(request, caller, edits) {
        Some(document) => document,
        None => {
            parsed =
                JsonDocument::parse(edited_bytes(&request.body, edits), &JsonLimits::default())?;
            &parsed
        }
    };
    let (store, has_found) = (thoughts.0, !thoughts.1.is_empty());
    let settings = channel_settings(tasks, request, candidate, thoughts)?;
    let on_loss = match request.model() {
        Some(model) => policy.on_loss_for(&model.properties.translation),
        None => policy.on_loss,
    };
    let translated = translate_request(pair, document, &settings);
    if let Some(refused) = translated.ledger.refusal(on_loss) {
        return Err(refusal(refused));
    }
    let TranslatedRequest {
        body,
        ledger,
        includes_usage,
        custom_tools,
        renamed_tools,
        repeated,
        is_stream,
    } = translated;
    let context = ResponseContext {
        sealer: match has_found {
            // Another one: what was found is not held during the response.
            true => {
                let thoughts = (store, FoundThoughts::default());
                TaskKeySealer::for_attempt(tasks, request, candidate, thoughts)
            }
            false => settings.sealer,
        },
        id: id_suffix(&request.id),
        created: unix_ms() / 1000,
        model: request
            .model()
            .map_or_else(|| settings.model.clone(), |model| quoted(&model.name)),
        total_has_thoughts: channel.has_thoughts_in_total(&candidate.channel.origin.host),
        includes_usage,
        repeated,
        custom_tools,
        renamed_tools,
    };
    let is_token_count = is_token_count(request);
    let (path, body) = match is_token_count {
        false => {
            let model = candidate.model.as_ref().map(|model| &*model.name);
            (Some(request_path(channel, is_stream, model)), body)
        }
        true => (
            token_count_path(pair.channel).map(Cow::Borrowed),
            token_count_request(pair.channel, body),
        ),
    };
    Ok(ChannelRequest {
        body: body.into(),
        path,
        translation: Box::new(ResponseTranslation {
            pair,
            caller,
            context,
            is_token_count,
            ledger,
        }),
    })
}

/// Whether a request asks how many tokens it has.
pub(super) fn is_token_count(request: &RequestView) -> bool {
    let (method, path) = (&request.method, request.endpoint_path());
    ProviderOperationClass::for_request(method, path, true) == ProviderOperationClass::TokenCount
}

/// What the caller's protocol loses on a candidate of another one, member by member.
///
/// # Errors
/// The body is no JSON.
pub(crate) fn list_request_members(
    request: &RequestView,
    candidate: &Candidate,
    translation: Option<&RouteTranslation>,
    body: Bytes,
) -> Result<(ProtocolPair, MemberList), Fault> {
    let RouteTranslation { tasks, .. } = translation.ok_or_else(no_translation)?;
    let document = JsonDocument::parse(body, &JsonLimits::default())?;
    let (_, _, pair) = protocols(request, candidate)?;
    let thoughts = ThoughtLookup::default();
    let settings = channel_settings(tasks, request, candidate, thoughts)?;
    let ledger = translate_request(pair, &document, &settings).ledger;
    Ok((pair, list_members(pair, &document, &ledger)))
}

/// What the channel expects of a translated request.
fn channel_settings(
    tasks: &Arc<TaskSettings>,
    request: &RequestView,
    candidate: &Candidate,
    thoughts: ThoughtLookup<'_>,
) -> Result<ChannelSettings, Fault> {
    let model = candidate.model.as_ref().ok_or_else(no_translation)?;
    let origin = &candidate.channel.origin;
    Ok(ChannelSettings {
        model: model.json.clone(),
        max_output_tokens: max_output_tokens(request),
        features: candidate.channel.dialect.for_model(&model.name).clone(),
        has_call_ids: takes_call_ids(&origin.host, origin.base_path.text()),
        sealer: TaskKeySealer::for_attempt(tasks, request, candidate, thoughts),
    })
}

/// Tokens of the output of a request without a limit.
fn max_output_tokens(request: &RequestView) -> u64 {
    let Some(model) = request.model() else {
        return MAX_OUTPUT_TOKENS;
    };
    let own = model.properties.translation.max_output_tokens;
    let limit = own.map_or(MAX_OUTPUT_TOKENS, NonZeroU64::get);
    let window = model.properties.context_window;
    window.map_or(limit, |window| limit.min(window.get()))
}

/// Whether the translation for a candidate refuses the request.
pub(super) fn is_refused(route: &Route, request: &RequestView, candidate: &Candidate) -> bool {
    let translation = route.translation.as_deref();
    let thoughts = ThoughtLookup::default();
    candidate.is_translated
        && translate(request, candidate, translation, &request.edits, thoughts).is_err()
}

/// Removes what this gateway sealed from a request in the caller's own protocol.
pub(super) fn remove_seals_of_others(
    route: &Route,
    request: &RequestView,
    edits: &mut JsonEdits,
) -> Option<String> {
    route.translation.as_ref()?;
    let format = request
        .protocol?
        .descriptor()
        .translation?
        .caller_format()?;
    remove_seals(format, request.body.document()?, edits)
}

/// Names what an attempt removed in a header for the caller and in the log.
pub(super) fn describe_removal(request: &mut RequestView, removed: Option<String>) {
    let headers = &mut request.response_headers;
    headers.retain(|(name, _)| *name != TRANSLATION);
    if let Some(removed) = removed {
        headers.extend(HeaderValue::try_from(&*removed).map(|value| (TRANSLATION, value)));
        request.state.set(TranslationSummary::for_removal(removed));
    }
}

/// What `store` has of the thoughts that a request has handles of.
pub(super) async fn find_thoughts(
    request: &RequestView,
    candidate: &Candidate,
    store: &ThoughtStore,
) -> FoundThoughts {
    let document = request.body.document();
    let (Some(document), Ok((_, _, pair))) = (document, protocols(request, candidate)) else {
        return FoundThoughts::default();
    };
    match thinking_handles(pair, document) {
        handles if handles.is_empty() => FoundThoughts::default(),
        handles => store.find(&caller_name(request), handles).await,
    }
}

/// Replaces the headers of the caller's protocol by those that the channel's demands.
pub(super) fn replace_protocol_headers(headers: &mut HeaderMap, channel: ChannelProtocol) {
    header_policy::remove_protocol_headers(headers);
    if let Some((name, version)) = &channel.descriptor().headers.version {
        headers.insert(name, HeaderValue::from_static(version));
    }
}

/// The caller's body, if no edit changes more of it than the name of the model, which the translation writes itself.
fn document_without_edits<'b>(
    request: &'b RequestView,
    caller: Protocol,
    edits: &JsonEdits,
) -> Option<&'b JsonDocument> {
    let RequestBody::Json(document) = &*request.body else {
        return None;
    };
    let mut members = caller.descriptor().model_member.iter();
    let root = document.root();
    let model = members.try_fold(root, |object, member| object.get(member))?;
    edits.change_only(&model.span()).then_some(document)
}

/// The bytes of the caller's body with the edits applied; none if there is no body.
pub(super) fn edited_bytes(body: &RequestBody, edits: &JsonEdits) -> Bytes {
    body.bytes()
        .map_or_else(Bytes::new, |bytes| edits.apply(bytes).to_bytes())
}

fn protocols(
    request: &RequestView,
    candidate: &Candidate,
) -> Result<(Protocol, ChannelProtocol, ProtocolPair), Fault> {
    let (Some(caller), Some(channel)) = (request.protocol, candidate.protocol) else {
        return Err(no_translation());
    };
    let pair = ProtocolPair::with_channel(caller, channel);
    Ok((caller, channel, pair.ok_or_else(no_translation)?))
}

/// Routes are checked when they are built.
pub(super) fn no_translation() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "internal error: the request cannot be translated",
    )
}

fn refusal(entry: &LedgerEntry) -> Fault {
    Fault::new(
        FaultKind::Invalid,
        format!("`{}` {}", entry.path, entry.reason),
    )
    .param(&*entry.path)
}

/// The letters and digits of a request id.
fn id_suffix(id: &str) -> Box<str> {
    let mut suffix = String::with_capacity(id.len());
    for letter in id.chars().filter(char::is_ascii_alphanumeric) {
        suffix.push(letter.to_ascii_lowercase());
    }
    suffix.into()
}

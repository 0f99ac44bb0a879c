//! The format of LiteLLM's generic guardrail API: lists of texts, of which the service returns changed ones.

mod chat_view;
mod headers;
pub(super) mod reply;
mod request_texts;
mod response_calls;

use super::json_object::JsonObjectWriter;
use super::payload_selection::PayloadSelection;
use super::response_excerpt::ResponseExcerpt;
use super::service_payload::{PlacedText, ServicePayload};
use chat_view::ChatView;
use headgate_core::filter::view::RequestView;
use headgate_protocol::Protocol;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::{JsonDocument, quoted};

/// The payload for a request with this body.
///
/// # Errors
/// The payload is too large.
pub fn for_request(
    sent: &PayloadSelection,
    protocol: Option<Protocol>,
    request: &RequestView,
    document: Option<&JsonDocument>,
) -> Result<ServicePayload, String> {
    let mut texts = Vec::new();
    let mut view = ChatView::default();
    if let Some(document) = document {
        sent.check_size(document)?;
        texts = request_texts::placed_texts(document, &sent.fields);
        let format = conversation_format(protocol).filter(|_| sent.is_whole_request);
        if let Some(format) = format {
            view = ChatView::from_request(format, document);
        }
    }
    Ok(payload(sent, request, "request", texts, &view))
}

/// The payload for a response to a request.
pub fn for_response(
    sent: &PayloadSelection,
    protocol: Option<Protocol>,
    request: &RequestView,
    response: ResponseExcerpt<'_>,
) -> ServicePayload {
    let format = conversation_format(protocol);
    let calls = format.zip(response.document).map(|(format, document)| {
        let calls = response_calls::tool_calls(format, document.root());
        ChatView::from_tool_calls(calls)
    });
    let view = calls.unwrap_or_default();
    payload(sent, request, "response", response.texts, &view)
}

/// `None` for a protocol that is not one of conversations, whose requests have texts only.
fn conversation_format(protocol: Option<Protocol>) -> Option<ConversationFormat> {
    protocol?.descriptor().translation?.caller_format()
}

fn payload(
    sent: &PayloadSelection,
    request: &RequestView,
    input_type: &str,
    texts: Vec<PlacedText>,
    view: &ChatView,
) -> ServicePayload {
    let mut json = JsonObjectWriter::default();
    json.text("input_type", Some(input_type));
    json.text("litellm_call_id", Some(&request.id));
    json.text("litellm_trace_id", None);
    json.text("model", request.model().map(|model| &*model.name));
    json.list("texts", texts.iter().map(|text| quoted(&text.text)));
    json.list_or_null("images", &view.images);
    json.list_or_null("tools", &view.tools);
    json.list_or_null("tool_calls", &view.tool_calls);
    json.list_or_null("structured_messages", &view.messages);
    let mut caller = JsonObjectWriter::default();
    if let Some(known) = &request.caller {
        caller.text("user_api_key_alias", Some(&known.name));
    }
    json.raw("request_data", &caller.finish());
    json.raw("request_headers", &headers::request_headers(sent, request));
    json.text("litellm_version", None);
    json.raw("additional_provider_specific_params", &sent.parameters);
    ServicePayload::new(request, json, texts)
}

#[cfg(test)]
mod tests;

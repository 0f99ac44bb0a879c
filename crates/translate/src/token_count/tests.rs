//! Requests that ask for a count, and estimates.

use super::{
    DOCUMENT_TOKENS, IMAGE_TOKENS, estimate_input_tokens, token_count_path, token_count_request,
    translate_token_count,
};
use crate::ProtocolPair;
use bytes::Bytes;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};

fn estimate(body: &Value) -> u64 {
    let body = Bytes::from(body.to_string());
    estimate_input_tokens(&JsonDocument::parse(body, &JsonLimits::default()).unwrap())
}

fn message(content: Value) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": content}]})
}

#[test]
fn text_counts_by_its_bytes() {
    let empty = estimate(&message(json!("")));
    assert!(empty < 20, "{empty}");
    assert_eq!(estimate(&message(json!("a".repeat(4000)))), empty + 1000);
    // A document of text is text, whatever is around it.
    let source = json!({"type": "text", "media_type": "text/plain", "data": "a".repeat(4000)});
    let document = estimate(&message(json!([{"type": "document", "source": source}])));
    assert!((1000..1100).contains(&document), "{document}");
}

#[test]
fn images_and_documents_count_a_fixed_number_whatever_their_length() {
    let data = "iVBO".repeat(100_000);
    let url = format!("data:image/png;base64,{data}");
    let short = json!({"type": "base64", "media_type": "image/png", "data": "AA=="});
    let long = json!({"type": "base64", "media_type": "application/pdf", "data": data});
    for (part, tokens) in [
        (json!({"type": "image", "source": long}), IMAGE_TOKENS),
        (json!({"type": "image", "source": short}), IMAGE_TOKENS),
        (
            json!({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}),
            IMAGE_TOKENS,
        ),
        (
            json!({"type": "input_image", "image_url": url}),
            IMAGE_TOKENS,
        ),
        (
            json!({"type": "image_url", "image_url": {"url": url}}),
            IMAGE_TOKENS,
        ),
        (json!({"type": "document", "source": long}), DOCUMENT_TOKENS),
        (
            json!({"type": "input_file", "file_data": data}),
            DOCUMENT_TOKENS,
        ),
        (
            json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": long}]}),
            IMAGE_TOKENS,
        ),
    ] {
        let text = estimate(&message(json!([])));
        let counted = estimate(&message(json!([part])));
        let around = counted - tokens - text;
        assert!(around < 20, "{counted} for {tokens}");
    }
    // A tool whose schema has a property `type` is no image.
    let schema =
        json!({"type": "object", "properties": {"type": {"type": "string", "enum": ["image"]}}});
    let tool = json!({"tools": [{"name": "f", "input_schema": schema}]});
    assert!(estimate(&tool) < 50);
}

#[test]
fn a_request_for_a_count_has_the_members_that_providers_take() {
    let body = json!({"model": "m", "messages": [], "max_tokens": 8192, "temperature": 1, "stream": true, "tools": []});
    let kept = token_count_request(ProviderFormat::Messages, body.to_string().into_bytes());
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    assert_eq!(kept, json!({"model": "m", "messages": [], "tools": []}));
    let body = json!({"model": "m", "input": [], "store": false, "max_output_tokens": 9, "include": [], "instructions": "a"});
    let kept = token_count_request(ProviderFormat::Responses, body.to_string().into_bytes());
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    assert_eq!(
        kept,
        json!({"model": "m", "input": [], "instructions": "a"})
    );
    assert_eq!(token_count_path(ProviderFormat::Chat), None);
}

#[test]
fn a_count_has_the_form_of_the_callers_protocol() {
    let pair = |caller, channel| ProtocolPair { caller, channel };
    let read = |pair, body: Value| {
        let written = translate_token_count(pair, &Bytes::from(body.to_string()));
        written.map(|written| serde_json::from_slice::<Value>(&written).unwrap())
    };
    let counted = json!({"object": "response.input_tokens", "input_tokens": 42});
    assert_eq!(
        read(
            pair(ConversationFormat::Messages, ProviderFormat::Responses),
            counted.clone()
        )
        .unwrap(),
        json!({"input_tokens": 42})
    );
    assert_eq!(
        read(
            pair(ConversationFormat::Responses, ProviderFormat::Messages),
            json!({"input_tokens": 42})
        )
        .unwrap(),
        counted
    );
    for foreign in [
        json!({}),
        json!({"input_tokens": "42"}),
        json!({"input_tokens": -1}),
        json!([]),
    ] {
        let error = read(
            pair(ConversationFormat::Messages, ProviderFormat::Responses),
            foreign,
        )
        .unwrap_err();
        assert_eq!(error.protocol, "responses");
    }
}

//! Tests of the most tokens that a request can use.

use super::*;
use crate::Protocol;
use crate::json::JsonLimits;

const IMAGE: u64 = 5_000;

fn bound(protocol: Protocol, body: &str) -> TokenMaximum {
    let body = JsonDocument::parse(body.to_owned().into(), &JsonLimits::default()).unwrap();
    let conversation = protocol.descriptor().conversation.as_ref();
    TokenMaximum::from_body(&body, conversation, IMAGE)
}

#[test]
fn the_output_is_bounded_by_the_limits_of_the_protocol() {
    use Protocol::{Chat, Messages, Responses};
    for (protocol, body, output) in [
        (Chat, "{}", None),
        (Chat, r#"{"max_tokens":7}"#, Some(7)),
        (
            Chat,
            r#"{"max_tokens":7,"max_completion_tokens":9,"n":3}"#,
            Some(27),
        ),
        (Chat, r#"{"max_tokens":7,"n":0}"#, Some(7)),
        // What the provider ignores is no limit.
        (Chat, r#"{"max_output_tokens":7}"#, None),
        (Responses, r#"{"max_tokens":1}"#, None),
        (Responses, r#"{"max_output_tokens":8}"#, Some(8)),
        (
            Messages,
            r#"{"max_tokens":6,"max_output_tokens":1}"#,
            Some(6),
        ),
        // What some providers take for no limit, or refuse.
        (Chat, r#"{"max_tokens":0}"#, None),
        (Chat, r#"{"max_tokens":-1}"#, None),
        (Chat, r#"{"max_tokens":null}"#, None),
        (Chat, r#"{"max_tokens":"7"}"#, None),
        (
            Chat,
            r#"{"max_tokens":18446744073709551615,"n":2}"#,
            Some(TOKENS_MAX),
        ),
    ] {
        let found = bound(protocol, body);
        assert_eq!(found.output_within(None), output, "{body}");
        let with_model = found.output_within(Some(100));
        let choices = found.choices;
        assert_eq!(with_model, output.or(Some(100 * choices)), "{body}");
    }
}

#[test]
fn a_token_is_at_least_a_byte_unless_it_is_of_an_image() {
    let png = format!("iVBORw0KGgo{}", "A".repeat(50_000));
    let other = "QUJD".repeat(5_000);
    let uri = format!("data:image/jpeg;base64,{other}");
    let part = |part: &str| format!(r#"{{"messages":[{{"content":[{part}]}}]}}"#);
    for (what, body, images, is_image) in [
        ("text", part(r#"{"text":"words"}"#), 0, false),
        (
            "a data URL",
            part(&format!(r#"{{"image_url":{{"url":"{uri}"}}}}"#)),
            1,
            true,
        ),
        (
            "an image",
            part(&format!(r#"{{"source":{{"data":"{png}"}}}}"#)),
            1,
            true,
        ),
        (
            "a document",
            part(&format!(r#"{{"source":{{"data":"{other}"}}}}"#)),
            1,
            false,
        ),
        (
            "a place",
            part(r#"{"image_url":{"url":"https://x.example/a.png"}}"#),
            1,
            false,
        ),
        (
            "text that looks like an image",
            part(&format!(r#"{{"text":"{uri}"}}"#)),
            0,
            false,
        ),
        (
            "an argument that looks like an image",
            part(&format!(
                r#"{{"type":"tool_use","input":{{"data":"{png}"}}}}"#
            )),
            0,
            false,
        ),
    ] {
        let TokenMaximum { input, .. } = bound(Protocol::Chat, &body);
        let text = body.len() as u64;
        match is_image {
            true => assert!((IMAGE..IMAGE + 200).contains(&input), "{what}: {input}"),
            false => assert_eq!(input, text + images * IMAGE, "{what}"),
        }
    }
    let tools = format!(r#"{{"tools":[{{"data":"{png}"}}]}}"#);
    let expected = tools.len() as u64 + TOOLS_PROMPT;
    assert_eq!(bound(Protocol::Chat, &tools).input, expected);
}

#[test]
fn stored_context_has_the_length_of_the_models_window() {
    for (body, is_stored) in [
        (r#"{"input":"x"}"#, false),
        (r#"{"input":"x","previous_response_id":null}"#, false),
        (r#"{"input":"x","previous_response_id":"resp_1"}"#, true),
        (r#"{"input":"x","conversation":{"id":"conv_1"}}"#, true),
        (r#"{"input":"x","prompt":{"id":"pmpt_1"}}"#, true),
        (r#"{"input":"x","prompt":"text"}"#, false),
    ] {
        let found = bound(Protocol::Responses, body);
        assert_eq!(found.has_stored_context, is_stored, "{body}");
        let expected = if is_stored { 9_000 } else { body.len() as u64 };
        assert_eq!(found.input_within(Some(9_000)), expected, "{body}");
        assert_eq!(found.input_within(None), body.len() as u64, "{body}");
    }
    assert_eq!(
        bound(Protocol::Chat, r#"{"messages":[]}"#).input_within(Some(3)),
        3
    );
}

#[test]
fn each_of_several_prompts_has_the_output_of_one() {
    for (prompt, prompts) in [
        (r#""a""#, 1),
        (r#"["a","b","c"]"#, 3),
        ("[1,2,3]", 1),
        ("[[1,2],[3]]", 2),
        ("[]", 1),
    ] {
        let body = format!(r#"{{"prompt":{prompt},"max_tokens":10,"n":2}}"#);
        let body = JsonDocument::parse(body.into(), &JsonLimits::default()).unwrap();
        let most = TokenMaximum::from_body(&body, None, IMAGE);
        assert_eq!(most.output_within(None), Some(20 * prompts), "{prompt}");
    }
}

#[test]
fn numbers_count_as_lenient_providers_read_them() {
    for (members, output) in [
        (r#""max_tokens":7,"n":128.0"#, 7 * 128),
        (r#""max_tokens":7,"n":"128""#, 7 * 128),
        (r#""max_tokens":7,"n":-3"#, 7),
        (r#""max_tokens":7,"n":null"#, 7),
        (r#""max_tokens":1,"thinking_budget":38000"#, 38_000),
        (r#""max_tokens":1,"thinking":{"budget_tokens":500}"#, 500),
        (r#""max_tokens":800,"reasoning":{"max_tokens":500}"#, 800),
    ] {
        let most = bound(Protocol::Chat, &format!("{{{members}}}"));
        assert_eq!(most.output_within(Some(1)), Some(output), "{members}");
    }
}

#[test]
fn what_the_body_does_not_show_takes_the_whole_context() {
    use Protocol::{Chat, Messages, Responses};
    let user = |part: &str| format!(r#"{{"messages":[{{"role":"user","content":[{part}]}}]}}"#);
    let input = |part: &str| format!(r#"{{"input":[{{"role":"user","content":[{part}]}}]}}"#);
    for (protocol, body, is_unseen) in [
        (
            Chat,
            user(r#"{"type":"file","file":{"file_id":"file-1"}}"#),
            true,
        ),
        (
            Chat,
            user(r#"{"type":"image_url","image_url":{"url":"https://a/b.png"}}"#),
            false,
        ),
        (
            Messages,
            user(r#"{"type":"document","source":{"type":"url","url":"https://a/b.pdf"}}"#),
            true,
        ),
        (
            Responses,
            input(r#"{"type":"input_file","file_data":"data:application/pdf;base64,AAAA"}"#),
            true,
        ),
        (
            Responses,
            r#"{"input":"a","tools":[{"type":"web_search"}]}"#.into(),
            true,
        ),
        (
            Responses,
            r#"{"input":"a","tools":[{"type":"function","name":"f"}]}"#.into(),
            false,
        ),
        (
            Chat,
            r#"{"messages":[],"web_search_options":{}}"#.into(),
            true,
        ),
        (
            Chat,
            r#"{"messages":[],"enable_search":false,"plugins":null}"#.into(),
            false,
        ),
        (Chat, r#"{"messages":[],"enable_search":true}"#.into(), true),
        (
            Messages,
            r#"{"messages":[],"mcp_servers":[{"type":"url","url":"https://a.example"}]}"#.into(),
            true,
        ),
        (
            Responses,
            r#"{"input":[{"type":"item_reference","id":"msg_1"}]}"#.into(),
            true,
        ),
        (Responses, r#"{"input":[{"id":"msg_1"}]}"#.into(), true),
        (
            Responses,
            r#"{"input":[{"id":"msg_1","role":"user","content":"a"}]}"#.into(),
            false,
        ),
        (
            Messages,
            r#"{"messages":[],"tools":[{"name":"f","input_schema":{}}]}"#.into(),
            false,
        ),
    ] {
        assert_eq!(
            bound(protocol, &body).has_stored_context,
            is_unseen,
            "{body}"
        );
    }
}

#[test]
fn text_that_begins_as_an_image_does_is_text() {
    let data = format!("iVBORw0KGgo{}", "A".repeat(40_000));
    let part = |source: &str| {
        let source = source.replace("DATA", &data);
        format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"x","source":{{{source}}}}}]}}]}}"#
        )
    };
    for (source, is_image) in [
        (
            r#""type":"text","media_type":"text/plain","data":"DATA""#,
            false,
        ),
        (
            r#""type":"base64","media_type":"application/pdf","data":"DATA""#,
            false,
        ),
        (
            r#""type":"base64","media_type":"image/png","data":"DATA""#,
            true,
        ),
    ] {
        let most = bound(Protocol::Messages, &part(source));
        assert_eq!(most.input < 40_000, is_image, "{source}");
    }
}

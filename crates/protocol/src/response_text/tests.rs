//! Tests of the texts of responses.

use super::*;
use crate::Protocol;

/// The texts of several events, each part joined, in the order in which the parts begin.
fn joined(protocol: Protocol, events: &[&str]) -> Vec<String> {
    let mut parts: Vec<(TextPart, String)> = Vec::new();
    for event in events {
        let data = Bytes::copy_from_slice(event.as_bytes());
        let mut visit = |piece: ResponseText<'_>| {
            let known = parts.iter_mut().find(|(part, _)| *part == piece.part);
            match known {
                Some((_, known)) => known.push_str(&piece.text),
                None => parts.push((piece.part, piece.text.into_owned())),
            }
        };
        visit_texts(Some(protocol.descriptor().texts), &data, &mut visit).unwrap();
    }
    parts.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn pieces_of_a_text_are_joined_across_events() {
    for (protocol, events, texts) in [
        (
            Protocol::Chat,
            &[
                r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"ab"}}]}"#,
                r#"{"choices":[{"index":1,"delta":{"content":"xy"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"\u0063"}},{"index":1,"delta":{"content":"z"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"t","function":{"name":"f","arguments":"{\"a"}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\":1}"}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"reasoning_content":"why"}}]}"#,
                "[DONE]",
            ][..],
            &["abc", "xyz", "f", "{\"a\":1}", "why"][..],
        ),
        (
            Protocol::Messages,
            &[
                r#"{"type":"message_start","message":{"id":"m","role":"assistant","model":"x","content":[]}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"a"}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}"#,
                r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
            ],
            &["hmm", "ab", "f", "{}"],
        ),
        (
            Protocol::Responses,
            &[
                r#"{"type":"response.created","response":{"instructions":"secret","output":[]}}"#,
                r#"{"type":"response.content_part.added","item_id":"i","output_index":0,"content_index":0,"part":{"type":"output_text","text":"a","annotations":[]}}"#,
                r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"b"}"#,
                r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":1,"delta":"x"}"#,
                r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"c"}"#,
                r#"{"type":"response.output_text.done","item_id":"i","output_index":0,"content_index":0,"text":"abc"}"#,
                r#"{"type":"response.completed","response":{"instructions":"secret","output":[{"type":"message","id":"i","content":[{"type":"output_text","text":"abc"}]}]}}"#,
            ],
            &["abc", "x", "abc", "abc"],
        ),
    ] {
        assert_eq!(joined(protocol, events), texts, "{protocol:?}");
    }
}

#[test]
fn a_whole_body_has_the_texts_of_its_stream() {
    for (protocol, body, texts) in [
        (
            Protocol::Chat,
            r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"abc"},"finish_reason":"stop"}],"usage":{"total_tokens":1}}"#,
            &["abc"][..],
        ),
        (
            Protocol::Messages,
            r#"{"id":"m","type":"message","content":[{"type":"text","text":"abc"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]}"#,
            &["abc", "f", "{\"a\":1}"],
        ),
        (
            Protocol::Responses,
            r#"{"id":"r","object":"response","instructions":"no","output":[{"type":"message","content":[{"type":"output_text","text":"abc"}]}]}"#,
            &["abc"],
        ),
    ] {
        assert_eq!(joined(protocol, &[body]), texts, "{protocol:?}");
    }
}

#[test]
fn data_that_is_not_strict_json_is_an_error_in_a_protocol_and_a_text_elsewhere() {
    let data = Bytes::from_static(br#"{"a":"\ud800"}"#);
    assert!(visit_texts(Some(Protocol::Chat.descriptor().texts), &data, &mut |_| {}).is_err());
    let mut seen = String::new();
    let visited = visit_texts(None, &data, &mut |one| seen.push_str(&one.text));
    assert!(visited.is_ok() && seen.contains("ud800"));
}

#[test]
fn all_members_of_a_response_object_are_texts_but_what_its_request_had() {
    let of_request = r#""instructions":"no","tools":[{"name":"no"}],"metadata":{"a":"no"},"text":{"format":{"type":"no"}},"tool_choice":"auto","truncation":"disabled","user":"no","reasoning":{"effort":"low"},"prompt_cache_key":"no""#;
    let object = format!(
        r#"{{"id":"r","object":"response","status":"failed",{of_request},"output":[],"note":"a","output_text":"b","error":{{"code":"c","message":"d"}},"incomplete_details":{{"reason":"e"}}}}"#
    );
    let with_text = object.replace(r#""text":{"format":{"type":"no"}}"#, r#""text":"f""#);
    for (data, texts) in [
        (object.clone(), &["a", "b", "c", "d", "e"][..]),
        (with_text, &["f", "a", "b", "c", "d", "e"]),
        (
            format!(r#"{{"type":"response.failed","response":{object},"extra":"x"}}"#),
            &["a", "b", "c", "d", "e", "x"],
        ),
        // An event is no response object, whatever it is called.
        (
            r#"{"type":"response.output_text.done","object":"response","text":"t","instructions":"i"}"#.into(),
            &["t", "i"],
        ),
        (r#"{"type":"x","response":"y","status":{"z":"z"}}"#.into(), &["y", "z"]),
    ] {
        assert_eq!(joined(Protocol::Responses, &[&data]), texts, "{data}");
    }
}

#[test]
fn arguments_of_tools_are_whole_json_texts() {
    for (protocol, data, texts) in [
        (
            Protocol::Messages,
            r#"{"content":[{"type":"tool_use","id":"t","name":"f","input":{"id":"\u0061","model":[1]}}]}"#,
            &["f", r#"{"id":"\u0061","model":[1]}"#][..],
        ),
        (
            Protocol::Messages,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"i"}}"#,
            &[r#"{"i"#],
        ),
        (
            Protocol::Chat,
            r#"{"choices":[{"message":{"tool_calls":[{"id":"t","function":{"name":"f","arguments":{"status":"a"}}}]}}]}"#,
            &["f", r#"{"status":"a"}"#],
        ),
        (
            Protocol::Responses,
            r#"{"type":"response.function_call_arguments.delta","item_id":"i","output_index":0,"delta":"{\"\\u0062"}"#,
            &[r#"{"\u0062"#],
        ),
        // The JSON in a string of the arguments is a text of its own.
        (
            Protocol::Responses,
            r#"{"type":"response.function_call_arguments.done","arguments":"{\"a\":[\"{\\\"b\\\":\\\"\\\\u0063\\\"}\"]}"}"#,
            &[r#"{"a":["{\"b\":\"\\u0063\"}"]}"#, r#"{"b":"\u0063"}"#],
        ),
    ] {
        assert_eq!(joined(protocol, &[data]), texts, "{data}");
        let mut forms = Vec::new();
        let bytes = Bytes::copy_from_slice(data.as_bytes());
        visit_texts(Some(protocol.descriptor().texts), &bytes, &mut |one| {
            forms.push(one.form)
        })
        .unwrap();
        assert_eq!(forms.last(), Some(&TextForm::Json));
    }
}

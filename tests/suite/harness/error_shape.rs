//! Assertions about errors in the format of each protocol.

use super::WholeResponse;
use headgate_protocol::Protocol;
use serde_json::Value;

/// Asserts that the response is an error in the protocol's format; returns its message.
pub fn assert_error_body(protocol: Protocol, answer: &WholeResponse, status: u16) -> String {
    let (text, body) = (answer.text(), answer.json());
    assert_eq!(
        (answer.status, answer.whole),
        (status, true),
        "{protocol:?}: {text}"
    );
    assert_eq!(answer.headers.get("content-type"), Some("application/json"));
    let id = answer.headers.get("x-request-id").expect("a request id");
    // Family B has at the top level what the others have in `error`.
    let error = match protocol {
        Protocol::FamilyB | Protocol::Converse => &body,
        _ => &body["error"],
    };
    match protocol {
        Protocol::FamilyB => {
            assert_eq!(body["request_id"], id, "{text}");
            assert!(body["code"].is_string(), "{text}");
        }
        Protocol::Messages => {
            assert_eq!(answer.headers.get("request-id"), Some(id));
            assert_eq!(body["type"], "error", "{text}");
            assert!(error["type"].is_string(), "{text}");
            assert_eq!(body["request_id"], id, "{text}");
        }
        Protocol::Converse => {
            let name = body["__type"].as_str();
            assert_eq!(answer.headers.get("x-amzn-errortype"), name, "{text}");
            assert_eq!(answer.headers.get("x-amzn-requestid"), Some(id));
        }
        Protocol::Gemini => {
            assert_eq!(error["code"], status, "{text}");
            assert!(error["status"].is_string(), "{text}");
            assert_eq!(error["details"][0]["domain"], "headgate", "{text}");
        }
        _ => {
            assert_eq!(answer.headers.get("request-id"), None);
            assert!(error["type"].is_string(), "{text}");
            for key in ["param", "code"] {
                assert!(error.get(key).is_some(), "{key} in {text}");
            }
        }
    }
    let message = error["message"].as_str().unwrap_or_default();
    assert!(!message.is_empty(), "{text}");
    message.to_string()
}

/// Asserts that both are the same 404, with the same message and headers.
pub fn assert_alike(protocol: Protocol, one: &WholeResponse, other: &WholeResponse) {
    let messages = [one, other].map(|answer| assert_error_body(protocol, answer, 404));
    assert_eq!(messages[0], messages[1]);
    let without_id = |answer: &WholeResponse| {
        let mut body = answer.json();
        body["request_id"].take();
        body
    };
    assert_eq!(without_id(one), without_id(other));
    let names =
        |answer: &WholeResponse| answer.headers.names().map(String::from).collect::<Vec<_>>();
    assert_eq!(names(one), names(other));
}

/// Asserts that the last event is an error in the protocol's format.
pub fn assert_error_event(protocol: Protocol, answer: &WholeResponse) {
    let text = answer.text();
    let event = text.trim_end().rsplit("\n\n").next().unwrap();
    let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
    let data: Value = serde_json::from_str(field("data: ").unwrap()).unwrap();
    match protocol {
        Protocol::ImageEdit => {
            assert_eq!(field("event: "), Some("error"), "{event}");
            assert!(data["error"]["message"].is_string(), "{event}");
        }
        Protocol::Chat
        | Protocol::Realtime
        | Protocol::Gemini
        | Protocol::Converse
        | Protocol::Video
        | Protocol::Videos
        | Protocol::FamilyA
        | Protocol::FamilyB
        | Protocol::Declared(_) => {
            assert_eq!(field("event: "), None, "{event}");
            assert!(data["error"]["message"].is_string(), "{event}");
        }
        Protocol::Messages => {
            assert_eq!(field("event: "), Some("error"), "{event}");
            assert_eq!(data["type"], "error", "{event}");
            let error = &data["error"];
            assert!(
                error["type"].is_string() && error["message"].is_string(),
                "{event}"
            );
        }
        Protocol::Responses => {
            assert_eq!(field("event: "), Some("error"), "{event}");
            assert_eq!(data["type"], "error", "{event}");
            assert!(data["message"].is_string(), "{event}");
            let events = text.matches("\nevent: ").count() as u64;
            assert_eq!(data["sequence_number"], events, "{event}");
        }
    }
}

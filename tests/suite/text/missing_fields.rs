//! Tests of missing required fields: each protocol's error names the field, with its code.

use crate::harness::error_shape::assert_error_body;
use crate::harness::video::video_config;
use crate::harness::{Request, TestSetup};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Bodies without a field, and the field in the protocol's spelling.
fn rows() -> Vec<(Protocol, Value, &'static str)> {
    let chat = |messages: Value| json!({"model": "demo-large", "messages": messages});
    let messages =
        |messages: Value| json!({"model": "demo-large", "max_tokens": 9, "messages": messages});
    let part = |part: Value| json!([{"role": "user", "content": [part]}]);
    vec![
        (Protocol::Chat, json!({"model": "demo-large"}), "messages"),
        (Protocol::Chat, json!({"messages": []}), "model"),
        (
            Protocol::Chat,
            chat(json!([{"content": "x"}])),
            "messages[0].role",
        ),
        (
            Protocol::Chat,
            chat(part(json!({"type": "text"}))),
            "messages[0].content[0].text",
        ),
        (Protocol::Responses, json!({"model": "demo-large"}), "input"),
        (
            Protocol::Responses,
            json!({"model": "demo-large", "input": "x", "tools": [{"type": "function"}]}),
            "tools[0].name",
        ),
        (
            Protocol::Messages,
            json!({"model": "demo-large", "max_tokens": 9}),
            "messages",
        ),
        (
            Protocol::Messages,
            json!({"model": "demo-large", "messages": [{"role": "user", "content": "x"}]}),
            "max_tokens",
        ),
        (
            Protocol::Messages,
            json!({"max_tokens": 9, "messages": []}),
            "model",
        ),
        (
            Protocol::Messages,
            messages(json!([{"content": "x"}])),
            "messages.0.role",
        ),
        (
            Protocol::Messages,
            messages(part(json!({"type": "text"}))),
            "messages.0.content.0.text",
        ),
        (
            Protocol::ImageEdit,
            json!({"model": "demo-large", "images": [{"image_url": "https://x.example/a.png"}]}),
            "prompt",
        ),
        (
            Protocol::ImageEdit,
            json!({"model": "demo-large", "prompt": "x"}),
            "images",
        ),
        (Protocol::Video, json!({"prompt": "x"}), "model"),
        (Protocol::Video, json!({"model": "demo-video-a"}), "prompt"),
        (
            Protocol::FamilyA,
            json!({"model": "demo-video-a"}),
            "content",
        ),
        (
            Protocol::FamilyA,
            json!({"model": "demo-video-a", "content": [{"type": "text"}]}),
            "content[0].text",
        ),
        (Protocol::FamilyB, json!({"model": "demo-video-b"}), "input"),
        (
            Protocol::FamilyB,
            json!({"model": "demo-video-b", "input": {"media": [{"type": "first_frame"}]}}),
            "input.media[0].url",
        ),
        (
            Protocol::FamilyB,
            json!({"model": "demo-video-b", "input": {}}),
            "input.prompt",
        ),
    ]
}

#[tokio::test]
async fn a_missing_field_is_named_with_its_code_in_each_protocols_shape() {
    let world = TestSetup::between(|config, simulator| {
        let video = video_config(simulator, "");
        let routes = config["routes"].as_array_mut().unwrap();
        routes.extend(video["routes"].as_array().unwrap().iter().cloned());
        routes.push(json!({
            "name": "edits", "match": "POST /v1/images/edits", "protocol": "image_edit",
            "request": [{"use": "body"}, "validate"],
        }));
        config["task_keys"] = video["task_keys"].clone();
        for name in ["a", "b"] {
            config["channels"][name] = video["channels"][name].clone();
        }
        let protocols = config["channels"]["openai"]["protocols"].as_array_mut();
        protocols.unwrap().push("image_edit".into());
    })
    .await;
    for (protocol, body, field) in rows() {
        let answer = world.ask(&Request::to(protocol, body.to_string())).await;
        let message = assert_error_body(protocol, &answer, 400);
        assert!(message.contains(&format!("`{field}`")), "{body}: {message}");
        let answer = answer.json();
        let error = &answer["error"];
        match protocol {
            Protocol::Messages => assert_eq!(error["type"], "invalid_request_error"),
            Protocol::FamilyB => assert_eq!(answer["code"], "InvalidParameter"),
            _ => {
                assert_eq!(error["code"], "missing_required_parameter", "{answer}");
                assert_eq!(error["param"], field, "{answer}");
                assert_eq!(error["type"], "invalid_request_error", "{answer}");
            }
        }
    }
}

#[tokio::test]
async fn a_field_that_is_there_and_wrong_is_an_invalid_value() {
    let world = TestSetup::start().await;
    for (body, param) in [
        (json!({"model": "demo-large", "messages": null}), "messages"),
        (json!({"model": "demo-large", "messages": []}), "messages"),
        (json!({"model": "", "messages": []}), "model"),
    ] {
        let answer = world
            .ask(&Request::to(Protocol::Chat, body.to_string()))
            .await;
        assert_error_body(Protocol::Chat, &answer, 400);
        let error = answer.json()["error"].clone();
        assert_eq!(error["code"], "invalid_value", "{error}");
        assert_eq!(error["param"], param, "{error}");
    }
}

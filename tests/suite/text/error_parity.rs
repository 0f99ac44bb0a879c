//! Tests of one fault in three protocols: each error has the format of the caller's SDK.

use crate::harness::config::route;
use crate::harness::error_shape::assert_error_body;
use crate::harness::request::BOB;
use crate::harness::video::openai_config;
use crate::harness::{PROTOCOLS, Request, TestSetup, body_of, path_of};
use headgate_protocol::Protocol;
use serde_json::json;

/// A failing request, and the expected error.
struct Row {
    what: &'static str,
    request: fn(Protocol) -> Request,
    status: u16,
    /// `code` of the chat and responses protocols.
    code: &'static str,
    /// `type` of the chat and responses protocols.
    class: &'static str,
    /// `type` of the messages protocol.
    messages_type: &'static str,
}

const INVALID: &str = "invalid_request_error";

const ROWS: &[Row] = &[
    Row {
        what: "no JSON",
        request: |protocol| Request::to(protocol, "{"),
        status: 400,
        code: "invalid_json",
        class: INVALID,
        messages_type: INVALID,
    },
    Row {
        what: "against the schema",
        request: |protocol| with_member(protocol, "temperature", json!("hot")),
        status: 400,
        code: "invalid_value",
        class: INVALID,
        messages_type: INVALID,
    },
    Row {
        what: "an unknown key",
        request: |protocol| Request::ask(protocol).key("sk-eve"),
        status: 401,
        code: "invalid_api_key",
        class: INVALID,
        messages_type: "authentication_error",
    },
    Row {
        what: "a model of others",
        request: |protocol| Request::ask(protocol).key(BOB),
        status: 403,
        code: "permission_denied",
        class: "permission_error",
        messages_type: "permission_error",
    },
    Row {
        what: "an unknown model",
        request: |protocol| with_member(protocol, "model", json!("no-such-model")),
        status: 404,
        code: "model_not_found",
        class: INVALID,
        messages_type: "not_found_error",
    },
    Row {
        what: "too large",
        request: |protocol| Request::to(protocol, vec![b' '; 4000]),
        status: 413,
        code: "request_too_large",
        class: INVALID,
        messages_type: "request_too_large",
    },
    Row {
        what: "no JSON by its own word",
        request: |protocol| Request::ask(protocol).without("content-type"),
        status: 415,
        code: "unsupported_media_type",
        class: INVALID,
        messages_type: INVALID,
    },
    Row {
        what: "a provider that breaks off",
        request: |protocol| Request::ask(protocol).simulate("html"),
        status: 502,
        code: "upstream_error",
        class: "server_error",
        messages_type: "api_error",
    },
    Row {
        what: "a provider that is silent",
        request: |protocol| Request::ask(protocol).simulate("stall"),
        status: 504,
        code: "upstream_timeout",
        class: "server_error",
        messages_type: "timeout_error",
    },
];

#[tokio::test]
async fn every_fault_has_the_error_shape_of_each_protocol() {
    let world = TestSetup::with(|config| {
        config["chains"]["body"] =
            json!(["require_json", "authenticate", {"limit_body": 3000}, "route_model"]);
        for name in ["chat", "messages", "responses"] {
            route(config, name)["timeouts"] = json!({"first_byte": "300ms"});
        }
    })
    .await;
    for row in ROWS {
        for protocol in PROTOCOLS {
            let answer = world.ask(&(row.request)(protocol)).await;
            assert_error_body(protocol, &answer, row.status);
            let error = &answer.json()["error"];
            let reported = format!("{}, {protocol:?}: {}", row.what, answer.text());
            if row.status < 500 {
                // Some SDKs repeat every request that was not successful.
                let retry = answer.headers.get("x-should-retry");
                assert_eq!(retry, Some("false"), "{reported}");
            }
            match protocol {
                Protocol::Messages => assert_eq!(error["type"], row.messages_type, "{reported}"),
                _ => {
                    assert_eq!(
                        (&error["type"], &error["code"]),
                        (&json!(row.class), &json!(row.code)),
                        "{reported}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_key_gets_the_error_that_the_sdk_of_each_protocol_expects() {
    let world = TestSetup::between(|config, simulator| {
        let video = openai_config(simulator, "");
        let edits = json!({"name": "edits", "match": "POST /v1/images/edits", "protocol": "image_edit",
            "request": [{"use": "body"}]});
        let routes = config["routes"].as_array_mut().unwrap();
        routes.extend(video["routes"].as_array().unwrap().iter().cloned());
        routes.push(edits);
        config["task_keys"] = video["task_keys"].clone();
        for name in ["a", "b"] {
            config["channels"][name] = video["channels"][name].clone();
        }
    })
    .await;
    for (protocol, at, code) in [
        (Protocol::Chat, "/error/code", "invalid_api_key"),
        (Protocol::Responses, "/error/code", "invalid_api_key"),
        (Protocol::ImageEdit, "/error/code", "invalid_api_key"),
        (Protocol::Video, "/error/code", "invalid_api_key"),
        (Protocol::Videos, "/error/code", "invalid_api_key"),
        (Protocol::Messages, "/error/type", "authentication_error"),
        (Protocol::FamilyA, "/error/code", "AuthenticationError"),
        (Protocol::FamilyB, "/code", "InvalidApiKey"),
    ] {
        let poll = Request::get(&format!("{}/x", path_of(protocol)));
        let requests = match protocol {
            Protocol::Video | Protocol::Videos | Protocol::FamilyA | Protocol::FamilyB => {
                vec![Request::ask(protocol), poll]
            }
            _ => vec![Request::ask(protocol)],
        };
        for request in requests {
            let answer = world.ask(&request.key("sk-eve")).await;
            let message = assert_error_body(protocol, &answer, 401);
            assert!(message.contains("Incorrect API key provided"), "{message}");
            assert_eq!(
                answer.json().pointer(at),
                Some(&json!(code)),
                "{}",
                answer.text()
            );
            assert_eq!(answer.headers.get("x-should-retry"), Some("false"));
            assert!(!answer.text().contains("sk-eve"), "{}", answer.text());
        }
    }
    let models = world.ask(&Request::get("/v1/models").key("sk-eve")).await;
    assert_error_body(Protocol::Chat, &models, 401);
    assert_eq!(models.headers.get("x-should-retry"), Some("false"));
}

#[tokio::test]
async fn permanent_errors_forbid_sdk_retries_on_every_path() {
    let world = TestSetup::start().await;
    for (request, status) in [
        (Request::get("/v1/models/none"), 404),
        (Request::get("/v1/nothing"), 404),
        (Request::get("/v1/messages"), 405),
        (Request::get("/v1/responses/resp_none"), 404),
        (Request::get("/v1/models/a%5cb"), 400),
        (Request::to(Protocol::Chat, "{}"), 400),
    ] {
        let answer = world.ask(&request).await;
        assert_eq!(answer.status, status, "{}", request.target);
        let retry = answer.headers.get("x-should-retry");
        assert_eq!(retry, Some("false"), "{}", request.target);
    }
    let answer = world.ask(&Request::get("/v1/messages")).await;
    assert_error_body(Protocol::Messages, &answer, 405);
    let busy = Request::ask(Protocol::Chat).simulate("status=404; message=none");
    let answer = world.ask(&busy).await;
    assert_eq!(answer.status, 404);
    let retry = answer.headers.get("x-should-retry");
    assert_eq!(retry, None, "a provider's own answer says what it says");
}

fn with_member(protocol: Protocol, key: &str, value: serde_json::Value) -> Request {
    let mut body = body_of(protocol);
    body[key] = value;
    Request::to(protocol, body.to_string())
}

//! Tests of edits of requests that cannot be made, or whose result is invalid: who gets which error.

use crate::harness::config::route;
use crate::harness::{Request, TestSetup, WholeResponse, body_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Inserts a step into the request chain of a route, before the filter named `before`, or at its end.
fn insert(config: &mut Value, name: &str, before: &str, step: Value) {
    let chain = route(config, name)["request"].as_array_mut().unwrap();
    let at = chain.iter().position(|one| one == before);
    chain.insert(at.unwrap_or(chain.len()), step);
}

async fn refused(world: &TestSetup, request: &Request, status: u16) -> WholeResponse {
    let before = world.simulator.records().await.len();
    let response = world.ask(request).await;
    assert_eq!(response.status, status, "{}", response.text());
    assert_eq!(world.simulator.records().await.len(), before);
    response
}

#[tokio::test]
async fn an_edit_is_validated_wherever_it_is() {
    let wrong =
        json!({"edit_json": {"set": {"/messages": {"cel": "request.headers[\"x-messages\"]"}}}});
    let by_attempt = json!({"edit_json": {"set": {"/messages": {"cel": "channel"}}}});
    let id = json!({"edit_json": {"set": {"/previous_response_id": "resp_of_another"}}});
    for (name, before, step, status, reported, detail) in [
        (
            "chat",
            "validate",
            &wrong,
            400,
            "`messages` must be an array",
            None,
        ),
        (
            "chat",
            "",
            &wrong,
            500,
            "the result is invalid",
            Some("edit of `edit_json`: `messages` must be an array"),
        ),
        (
            "chat",
            "",
            &by_attempt,
            500,
            "the result is invalid",
            Some("edit of `edit_json`: `messages` must be an array"),
        ),
        (
            "responses",
            "",
            &id,
            500,
            "the result is invalid",
            Some("adds the id in `previous_response_id`"),
        ),
    ] {
        let world = TestSetup::with(|config| insert(config, name, before, step.clone())).await;
        let protocol = if name == "chat" {
            Protocol::Chat
        } else {
            Protocol::Responses
        };
        let request = Request::ask(protocol).header("x-messages", "secret-text");
        let response = refused(&world, &request, status).await;
        assert!(response.text().contains(reported), "{}", response.text());
        assert!(!response.text().contains("secret-text"));
        let line = world.gateway.log_of(&response).await;
        assert!(!line.to_string().contains("secret-text"), "{line}");
        if let Some(detail) = detail {
            assert!(
                line["error_detail"].as_str().unwrap().contains(detail),
                "{line}"
            );
        }
    }
}

#[tokio::test]
async fn a_request_without_a_place_for_an_edit_is_refused_with_the_field() {
    let step = json!({"edit_json": {
        "set": {"/metadata/team": "t", "/messages/0/x_n": {"cel": "json(\"/x_user\") + 1"}},
        "append": {"/stop": "END"},
    }});
    let world = TestSetup::with(|config| {
        config["chains"]["body"] =
            json!(["require_json", "authenticate", {"limit_body": 400}, "route_model"]);
        insert(config, "chat", "validate", step);
    })
    .await;
    let with = |field: &str, value: Value| {
        let mut body = body_of(Protocol::Chat);
        body["x_user"] = json!(1);
        body[field] = value;
        Request::to(Protocol::Chat, body.to_string())
    };
    let pad = "x".repeat(290);
    for (request, status, reported) in [
        (
            with("metadata", json!("x")),
            400,
            "`metadata` must be an object, received a string",
        ),
        (
            with("metadata", json!([])),
            400,
            "`metadata` must be an object, received an array",
        ),
        (
            with("stop", json!("x")),
            400,
            "`stop` must be an array, received a string",
        ),
        (
            with("messages", json!([])),
            400,
            "`messages` has too few elements, 0",
        ),
        (with("x_user", json!("u")), 500, "could not be evaluated"),
        (
            with("x_pad", json!(pad)),
            413,
            "with what the gateway adds to it",
        ),
    ] {
        let response = refused(&world, &request, status).await;
        assert!(
            response.text().contains(reported),
            "{reported}: {}",
            response.text()
        );
    }
    let response = world.ask(&with("stop", Value::Null)).await;
    assert_eq!(response.status, 200, "{}", response.text());
}

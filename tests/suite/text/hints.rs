//! Tests of hints in errors for requests that are nearly right: the endpoint, the path, the header.

use crate::harness::error_shape::assert_error_body;
use crate::harness::request::ANN;
use crate::harness::{Request, TestSetup, body_of, config, path_of};
use headgate_protocol::Protocol;
use serde_json::json;

#[tokio::test]
async fn a_model_of_another_protocol_gets_a_hint_with_its_endpoint() {
    let world = TestSetup::between(|config, simulator| {
        config["channels"]["images"] = config::channel(
            &simulator.url(),
            &["image_edit"],
            json!({"bearer": "sk-upstream"}),
        );
        config["channels"]["images"]["models"] = json!({"demo-image": "sim-image"});
        config["channels"]["small"] = config::channel(
            &simulator.url(),
            &["messages", "responses"],
            json!({"bearer": "sk-upstream"}),
        );
        config["channels"]["small"]["models"] = json!({"demo-chap": "sim-chap"});
        config["routes"].as_array_mut().unwrap().push(json!({
            "name": "edits", "match": "POST /v1/images/edits", "protocol": "image_edit",
            "request": [{"use": "body"}],
        }));
    })
    .await;
    for (protocol, model, wanted, unwanted) in [
        (
            Protocol::Chat,
            "demo-image",
            "POST /v1/images/edits",
            "did you mean",
        ),
        (
            Protocol::Messages,
            "demo-image",
            "POST /v1/images/edits",
            "did you mean",
        ),
        (
            Protocol::ImageEdit,
            "demo-large",
            "for it; this path serves model `demo-image`",
            "demo-chap",
        ),
        (
            Protocol::ImageEdit,
            "gpt-image-1",
            "this path serves model `demo-image`",
            "demo-large",
        ),
        (
            Protocol::Chat,
            "demo-chap",
            "POST /v1/messages or POST /v1/responses",
            "count_tokens",
        ),
        (
            Protocol::Chat,
            "demo-larg",
            "did you mean `demo-large`",
            "POST",
        ),
    ] {
        let mut body = body_of(protocol);
        body["model"] = model.into();
        let answer = world.ask(&Request::to(protocol, body.to_string())).await;
        let message = assert_error_body(protocol, &answer, 404);
        assert!(message.contains(wanted), "{message}");
        assert!(!message.contains(unwanted), "{message}");
    }
}

#[tokio::test]
async fn a_misspelled_path_gets_a_hint_with_the_nearest_path() {
    let world = TestSetup::start().await;
    for (method, path, wanted) in [
        ("POST", "/v1/chat/completion", "`POST /v1/chat/completions`"),
        ("POST", "/chat/completions", "`POST /v1/chat/completions`"),
        (
            "POST",
            "/v1/v1/chat/completions",
            "`POST /v1/chat/completions`",
        ),
        ("GET", "/v1/model", "`GET /v1/models`"),
        (
            "GET",
            "/v1/response/resp_1",
            "`GET|DELETE /v1/responses/{id}`",
        ),
    ] {
        let answer = world.ask(&Request::new(method, path)).await;
        let message = assert_error_body(Protocol::Chat, &answer, 404);
        assert!(message.contains(wanted), "{message}");
        assert_eq!(answer.json()["error"]["code"], "unknown_url");
    }
    let below_messages = world.ask(&Request::new("POST", "/v1/messages/")).await;
    let message = assert_error_body(Protocol::Messages, &below_messages, 404);
    assert!(message.contains("`POST /v1/messages`"), "{message}");
    for path in ["/", "/favicon.ico", "/v1/embeddings"] {
        let answer = world.ask(&Request::get(path)).await;
        let message = assert_error_body(Protocol::Chat, &answer, 404);
        assert!(!message.contains("did you mean"), "{message}");
        assert!(
            message.contains("this gateway serves POST /v1/chat/completions, "),
            "{message}"
        );
    }
    let long = format!("/{}", "x".repeat(5000));
    let answer = world.ask(&Request::get(&long)).await;
    let message = assert_error_body(Protocol::Chat, &answer, 404);
    assert!(message.len() < 500, "{message}");
}

#[tokio::test]
async fn a_key_in_the_wrong_header_gets_a_hint_with_the_right_header() {
    let world = TestSetup::start().await;
    for (protocol, name, read) in [
        (Protocol::Chat, "x-api-key", "authorization: Bearer"),
        (Protocol::Responses, "api-key", "authorization: Bearer"),
        (Protocol::Messages, "x-goog-api-key", "x-api-key: <key>"),
    ] {
        let request = Request::ask(protocol)
            .without("authorization")
            .header(name, ANN);
        let answer = world.ask(&request).await;
        let message = assert_error_body(protocol, &answer, 401);
        assert!(message.contains(&format!("`{name}`")), "{message}");
        assert!(
            message.contains(read) && !message.contains(ANN),
            "{message}"
        );
    }
    let mut request = Request::ask(Protocol::Chat).without("authorization");
    request.target = format!("{}?key={ANN}", path_of(Protocol::Chat));
    let message = assert_error_body(Protocol::Chat, &world.ask(&request).await, 401);
    assert!(
        message.contains("`key`") && !message.contains(ANN),
        "{message}"
    );
}

//! Tests of context windows: a request that cannot fit into a model's context is sent to a model with more room at once.

use crate::harness::config::{self, channel};
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Three models on one channel, by their windows; `long` stands in for `short`, and `longer` for `long`.
fn windows(simulator: &Simulator, short: Value, long: Value) -> Value {
    let mut config = config::standard(&simulator.url());
    let mut only = channel(&simulator.url(), &["chat"], json!({"bearer": "sk-1"}));
    only["models"] =
        json!({"short": "short-there", "long": "long-there", "longer": "longer-there"});
    config["channels"] = json!({"only": only});
    config["models"] = json!({
        "short": {"context_window": short, "fallback": {"context_too_long": ["long", "longer"]}},
        "long": {"context_window": long},
    });
    let routes = config["routes"].as_array_mut().unwrap();
    routes.retain(|route| route["name"] == "chat");
    config
}

/// A chat with so many bytes of text in a message, and an image of as many more.
fn chat(text: usize, image: usize) -> Request {
    let image = format!("data:image/png;base64,{}", "iVBORw0K".repeat(image / 8));
    let content = json!([
        {"type": "text", "text": "tea ".repeat(text / 4)},
        {"type": "image_url", "image_url": {"url": image}},
    ]);
    let body = json!({"model": "short", "messages": [{"role": "user", "content": content}]});
    Request::to(Protocol::Chat, body.to_string())
}

#[tokio::test]
async fn a_request_that_cannot_fit_goes_to_a_model_with_room_without_a_try() {
    let simulator = Simulator::start().await;
    for (short, long, text, image, served) in [
        // 6 bytes of text for each token of the window still may fit.
        (1000, 1_000_000, 5_500, 0, "short-there"),
        (1000, 1_000_000, 6_600, 0, "long-there"),
        (1000, 1000, 6_600, 0, "longer-there"),
        // An image has no bytes of text.
        (1000, 1_000_000, 100, 80_000, "short-there"),
    ] {
        let config = windows(&simulator, short.into(), long.into());
        let gateway = Gateway::start(&config).await;
        let before = simulator.records().await.len();
        let response = gateway.ask(&chat(text, image)).await;
        assert_eq!(response.status, 200, "{text}: {}", response.text());
        let line = gateway.log_of(&response).await;
        assert_eq!(line["channel_model"], served, "{text} {image}: {line}");
        assert_eq!(line["attempts"], 1);
        assert_eq!(simulator.records().await.len(), before + 1);
        let is_other = served != "short-there";
        assert_eq!(
            line["fallback_cause"] == "context_too_long",
            is_other,
            "{line}"
        );
        assert_eq!(response.headers.get("x-headgate-model").is_some(), is_other);
    }
}

#[tokio::test]
async fn a_request_for_which_no_model_has_room_is_tried() {
    let simulator = Simulator::start().await;
    let mut config = windows(&simulator, 1000.into(), 1000.into());
    config["models"]["short"]["fallback"] = json!({"context_too_long": "long"});
    let gateway = Gateway::start(&config).await;
    let response = gateway.ask(&chat(9_000, 0)).await;
    let line = gateway.log_of(&response).await;
    assert_eq!(
        (response.status, &line["channel_model"]),
        (200, &json!("short-there"))
    );
    // Nor is a model without another one passed over.
    config["models"]["short"]
        .as_object_mut()
        .unwrap()
        .remove("fallback");
    gateway.reload(&config).await;
    let response = gateway.ask(&chat(9_000, 0)).await;
    let line = gateway.log_of(&response).await;
    assert_eq!(
        (response.status, &line["channel_model"]),
        (200, &json!("short-there"))
    );
}

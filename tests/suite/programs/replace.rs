//! Tests of `replace`: headers, paths and texts of bodies, as providers and callers receive them.

use crate::harness::config::{self, route};
use crate::harness::http_response::http_response;
use crate::harness::{Gateway, Request, ScriptedProvider, TestSetup, body_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn with_step(config: &mut Value, side: &str, step: Value) {
    let chain = route(config, "chat")[side].as_array_mut().unwrap();
    chain.push(step);
}

#[tokio::test]
async fn headers_and_paths_change_for_the_provider() {
    let world = TestSetup::with(|config| {
        with_step(
            config,
            "request",
            json!({"set_headers": {"x-set": "a-b-c"}}),
        );
        with_step(
            config,
            "request",
            json!({"replace": [
                {"in": "x-team", "match": "^eu-(?<name>.+)$", "with": "europe/$name"},
                {"in": "x-team", "match": "europe", "with": "EU"},
                {"in": "x-set", "match": "-", "with": "+"},
                {"in": "x-none", "match": ".*", "with": "x"},
                {"in": "x-many", "match": "\\d", "with": "n"},
                {"in": "path", "match": "^/v1/(chat)/(completions)$", "with": "/v1/$2/$1"},
            ]}),
        );
    })
    .await;
    let request = Request::ask(Protocol::Chat)
        .header("X-Team", "eu-research")
        .header("X-Many", "1")
        .header("X-Many", "2");
    world.ask(&request).await;
    let record = world.simulator.last().await;
    assert_eq!(record["path"], "/v1/completions/chat");
    let headers = &record["headers"];
    assert_eq!(headers["x-team"], "EU/research");
    assert_eq!(headers["x-set"], "a+b+c");
    assert_eq!(headers["x-many"], "n, n");
    assert_eq!(headers["x-none"], Value::Null);
}

#[tokio::test]
async fn texts_of_a_request_change_and_all_else_arrives_byte_for_byte() {
    let world = TestSetup::with(|config| {
        let mail = r"\b[\w.+-]+@[\w.-]+\.\w+\b";
        with_step(
            config,
            "request",
            json!({"replace": [
                {"in": "/messages/*/content", "match": mail, "with": "[mail]"},
                {"in": "/messages/*/content/*/text", "match": mail, "with": "[mail]"},
            ]}),
        );
    })
    .await;
    let body = |mail: &str, quoted: &str| {
        format!(
            "{{\"model\":\"MODEL\",\"messages\":[ {{\"role\":\"user\",\"content\":\"to {mail} \\n\"}},\n\
             {{\"content\":[{{\"type\":\"text\",\"text\":\"{mail}, {quoted}\"}}],\"role\":\"user\"}}],\
             \"x_mail\":\"a@b.example\",\"n\":1E+2}}"
        )
    };
    let sent = body("a@b.example", "x+y@z.example").replace("MODEL", "demo-large");
    let response = world.ask(&Request::to(Protocol::Chat, sent)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let received = String::from_utf8(world.simulator.last_body().await).unwrap();
    assert_eq!(
        received,
        body("[mail]", "[mail]").replace("MODEL", "sim-large-2026-08")
    );
}

#[tokio::test]
async fn a_condition_on_the_body_holds_for_all_replacements() {
    let world = TestSetup::with(|config| {
        with_step(config, "request", json!({
            "if": "json(\"/user\") == \"u\"",
            "replace": [{"in": "x-a", "match": "1", "with": "2"}, {"in": "/user", "match": "u", "with": "v"}],
        }));
    })
    .await;
    for (user, header, replaced) in [("u", "2", "v"), ("w", "1", "w")] {
        let mut body = body_of(Protocol::Chat);
        body["user"] = json!(user);
        let request = Request::to(Protocol::Chat, body.to_string()).header("x-a", "1");
        assert_eq!(world.ask(&request).await.status, 200);
        let received: Value = serde_json::from_slice(&world.simulator.last_body().await).unwrap();
        assert_eq!(received["user"], replaced);
        assert_eq!(world.simulator.last().await["headers"]["x-a"], header);
    }
}

#[tokio::test]
async fn headers_and_texts_of_a_response_change() {
    let body = "{ \"model\":\"provider-large\",\"choices\":[{\"message\":{\"content\":\"I am Provider-Large \\/\"} } ],\"n\":1.0}";
    let headers = "Content-Type: application/json\r\nopenai-version: large-7\r\n";
    let provider = ScriptedProvider::answering(http_response(200, headers, body)).await;
    let mut config = config::standard(&provider.url());
    with_step(
        &mut config,
        "response",
        json!({"replace": [
            {"in": "openai-version", "match": "\\d", "with": "x"},
            {"in": "/choices/*/message/content", "match": "(?i)provider-large", "with": "ours"},
        ]}),
    );
    let gateway = Gateway::start(&config).await;
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.headers.get("openai-version"), Some("large-x"));
    assert_eq!(
        response.text(),
        body.replace("I am Provider-Large \\/", "I am ours /")
    );
}

#[tokio::test]
async fn what_a_replacement_may_not_make_is_refused() {
    let world = TestSetup::with(|config| {
        with_step(
            config,
            "request",
            json!({"replace": [
                {"in": "path", "match": "completions", "with": "a b"},
                {"in": "/user", "match": "u", "with": "u".repeat(1000)},
            ]}),
        );
    })
    .await;
    let response = world.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(
        (response.status, response.json()["error"]["code"].as_str()),
        (400, Some("bad_request"))
    );
    let world = TestSetup::with(|config| {
        with_step(
            config,
            "request",
            json!({"replace": [
                {"in": "/user", "match": "u", "with": "u".repeat(1000)},
                {"in": "/messages", "match": ".", "with": ""},
                {"in": "/messages/0/role", "match": "user", "with": "nobody"},
            ]}),
        );
    })
    .await;
    let mut body = body_of(Protocol::Chat);
    body["user"] = json!("u".repeat(2000));
    let response = world
        .ask(&Request::to(Protocol::Chat, body.to_string()))
        .await;
    assert_eq!(response.status, 413, "{}", response.text());
    body["user"] = json!("x");
    let response = world
        .ask(&Request::to(Protocol::Chat, body.to_string()))
        .await;
    assert_eq!(response.status, 500, "{}", response.text());
    let line = world.gateway.log_of(&response).await;
    let detail = line["error_detail"].as_str().unwrap();
    assert!(
        detail.contains("edit of `replace`: `messages[0].role`"),
        "{line}"
    );
    assert!(world.simulator.records().await.is_empty());
}

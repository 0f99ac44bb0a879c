//! End-to-end tests of protocols that only `routes.yaml` declares: embeddings, and an API like chat with errors of its own.

use crate::harness::config::{self, channel};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, Simulator};
use serde_json::{Value, json};

const EMBEDDINGS: &str = "/v1/embeddings";
const TALK: &str = "/v1/chat/completions";

/// The standard configuration with two declared protocols, on two channels each.
fn declaring(first: &str, second: &str) -> Value {
    let mut config = config::standard(second);
    config["protocols"] = json!({
        "embeddings": {
            "path": EMBEDDINGS,
            "retry": "free",
            "usage": {"input": "/prompt_tokens", "total": "/total_tokens"},
            "success": {"data": "list"},
            "operation": "embeddings",
        },
        "talk": {
            "extends": "chat",
            "retry": "free",
            "errors": {
                "body": {"fault": {"text": "{message}", "code": "{code}", "kind": "{type}", "field": "{param}"}, "id": "{request_id}"},
                "codes": {"invalid_api_key": "BadKey"},
            },
            "headers": {"api_key": "x-talk-key", "request_id": "x-talk-id"},
        },
    });
    let protocols = ["embeddings", "talk"];
    config["channels"] = json!({
        "first": channel(first, &protocols, json!({"bearer": "sk-first"})),
        "second": channel(second, &protocols, json!({"bearer": "sk-second"})),
    });
    config["channels"]["second"]["tier"] = 1.into();
    config::without_cool_downs(&mut config);
    let request = json!([{"use": "body"}, "rate_limit"]);
    let response = json!(["pass_sse", "meter_usage", "restore_model"]);
    config["routes"] = json!([
        {"name": "embeddings", "match": format!("POST {EMBEDDINGS}"), "protocol": "embeddings",
         "request": request, "response": response},
        {"name": "talk", "match": format!("POST {TALK}"), "protocol": "talk",
         "request": request, "response": response},
    ]);
    config
}

fn embed() -> Request {
    let body = r#"{"model": "demo-large",  "input": ["a gate", "a hedge row"]}"#;
    Request::post(EMBEDDINGS, body)
}

fn talk(stream: bool) -> Request {
    let messages = json!([{"role": "user", "content": "Hello"}]);
    let body = json!({"model": "demo-large", "messages": messages, "stream": stream});
    Request::post(TALK, body.to_string())
}

#[tokio::test]
async fn an_embedding_is_sent_with_the_model_of_the_channel_and_metered_to_the_token() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&declaring(&simulator.url(), &simulator.url())).await;
    let answer = gateway.ask(&embed()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["data"].as_array().unwrap().len(), 2);
    assert_eq!(body["model"], "demo-large");
    let sent = String::from_utf8(simulator.last_body().await).unwrap();
    assert_eq!(
        sent,
        r#"{"model": "sim-large-2026-08",  "input": ["a gate", "a hedge row"]}"#
    );
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["protocol"], "embeddings", "{line}");
    // Six bytes and eleven, at four bytes for each token.
    assert_eq!(line["input_tokens"], 5, "{line}");
    assert_eq!(body["usage"]["total_tokens"], 5);
    let metrics = gateway.metrics().await;
    let input = [("model", "demo-large"), ("kind", "input")];
    assert_eq!(metrics.sum("headgate_tokens_total", &input), 5.0);
}

#[tokio::test]
async fn a_failed_embedding_fails_over_and_one_whose_error_is_final_is_passed_on() {
    let good = Simulator::start().await;
    for (directives, status, attempts) in [
        ("status=503", 200, 2),
        ("html", 200, 2),
        ("status=400", 400, 1),
    ] {
        let bad = Simulator::start().await;
        let gateway = Gateway::start(&declaring(&bad.url_obeying(directives), &good.url())).await;
        let answer = gateway.ask(&embed()).await;
        assert_eq!(answer.status, status, "{directives}: {}", answer.text());
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["attempts"], attempts, "{directives}: {line}");
    }
}

#[tokio::test]
async fn a_paid_declaration_is_never_sent_twice() {
    let good = Simulator::start().await;
    let bad = Simulator::start().await;
    let mut config = declaring(&bad.url_obeying("status=503"), &good.url());
    config["protocols"]["embeddings"]["retry"] = "paid".into();
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&embed()).await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(good.records().await.is_empty());
}

#[tokio::test]
async fn errors_have_the_declared_shape_for_each_status() {
    let simulator = Simulator::start().await;
    let mut config = declaring(&simulator.url(), &simulator.url());
    config["callers"][0]["limits"] = json!({"requests_per_minute": 1});
    let gateway = Gateway::start(&config).await;
    let unknown = Request::post(TALK, r#"{"model": "demo-lage"}"#);
    let without_key = talk(false).without("Authorization");
    for (request, status, code, field) in [
        (without_key, 401, "BadKey", Value::Null),
        (unknown, 404, "model_not_found", "model".into()),
        (Request::post(TALK, "{"), 400, "invalid_json", Value::Null),
        (talk(false), 200, "", Value::Null),
        (talk(false), 429, "rate_limit_exceeded", Value::Null),
    ] {
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.headers.get("x-talk-id").is_some());
        if status != 200 {
            let body = answer.json();
            assert_eq!(body["id"], answer.headers.get("x-talk-id").unwrap());
            assert_eq!(body["fault"]["code"], code, "{body}");
            assert_eq!(body["fault"]["field"], field, "{body}");
            assert!(body["fault"]["text"].is_string(), "{body}");
        }
    }
}

#[tokio::test]
async fn a_declared_key_header_identifies_the_caller_and_never_leaves_the_gateway() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&declaring(&simulator.url(), &simulator.url())).await;
    let key = crate::harness::request::ANN;
    let request = talk(false)
        .without("Authorization")
        .header("x-talk-key", key);
    let answer = gateway.ask(&request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let record = simulator.last().await.to_string();
    assert!(!record.contains(key), "{record}");
}

#[tokio::test]
async fn a_stream_like_that_of_chat_is_metered_and_ends_with_the_declared_error() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&declaring(&simulator.url(), &simulator.url())).await;
    let answer = gateway.ask(&talk(true)).await;
    assert_eq!(
        (answer.status, answer.whole),
        (200, true),
        "{}",
        answer.text()
    );
    assert!(
        answer.text().ends_with("data: [DONE]\n\n"),
        "{}",
        answer.text()
    );
    let cut = Request::post(TALK, talk(true).body.unwrap()).header("x-simulate", "cut_after=2");
    let answer = gateway.ask(&cut).await;
    let last = answer
        .text()
        .trim_end()
        .rsplit("\n\n")
        .next()
        .unwrap()
        .to_owned();
    let event: Value = serde_json::from_str(last.strip_prefix("data: ").unwrap()).unwrap();
    assert!(event["fault"]["text"].is_string(), "{event}");
}

#[tokio::test]
async fn an_edited_declaration_counts_after_a_reload() {
    let simulator = Simulator::start().await;
    let mut config = declaring(&simulator.url(), &simulator.url());
    let gateway = Gateway::start(&config).await;
    let code = async || {
        let request = talk(false).without("Authorization");
        gateway.ask(&request).await.json()["fault"]["code"].clone()
    };
    assert_eq!(code().await, "BadKey");
    config["protocols"]["talk"]["errors"]["codes"]["invalid_api_key"] = "WrongKey".into();
    gateway.reload(&config).await;
    assert_eq!(code().await, "WrongKey");
}

#[tokio::test]
async fn built_in_protocols_are_served_beside_declared_ones() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["protocols"] = json!({"decisions": {"retry": "free"}});
    let gateway = Gateway::start(&config).await;
    for protocol in PROTOCOLS {
        let answer = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

#[tokio::test]
async fn the_ten_lines_of_the_documentation_serve_the_newest_endpoint() {
    let body = r#"{"verdict":"open","usage":{"tokens_read":7,"tokens_written":3}}"#;
    let provider = ScriptedProvider::answering(json_response(200, body)).await;
    let page = include_str!("../../../docs/endpoints/declared.md");
    let (_, block) = page.split_once("```yaml\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    assert!(block.lines().count() <= 10, "{block}");
    let block = block
        .replace("https://api.provider.example/v1", &provider.url())
        .replace("${KEY}", "sk-judge");
    let standard = config::standard(&provider.url());
    let [server, callers] = ["server", "callers"].map(|key| standard[key].to_string());
    let config = format!("server: {server}\ncallers: {callers}\n{block}");
    let gateway = Gateway::start_in(folder_with_schemas(), &config).await;
    let body = r#"{"model": "judge", "question": "open?"}"#;
    let answer = gateway.ask(&Request::post("/v1/decisions", body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let sent = provider.requests().pop().unwrap();
    assert!(
        sent.starts_with("POST /v1/decisions ")
            && sent.contains(r#"{"model": "judge-1", "question"#),
        "{sent}"
    );
    let line = gateway.log_of(&answer).await;
    let tokens = [&line["input_tokens"], &line["output_tokens"]];
    assert_eq!(tokens, [&json!(7), &json!(3)], "{line}");
}

//! Tests of `GET /v1/models` with what providers list and a pattern of their channel serves.

use super::model_patterns::serving;
use crate::harness::config::{self, caller};
use crate::harness::http_response::json_response;
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator};
use serde_json::{Value, json};

/// What a provider lists, or 404 for any other request.
fn listing(request: &str) -> Vec<u8> {
    let body = json!({"object": "list", "data": [
        {"id": "gpt-4o", "object": "model", "owned_by": "system"},
        {"id": "o1-pro", "object": "model", "owned_by": "system"},
        {"id": "ft:gpt-4o:acme::a", "object": "model", "owned_by": "acme"},
    ]});
    match request.starts_with("GET /v1/models?") {
        true => json_response(200, body),
        false => json_response(404, "{}"),
    }
}

async fn listed_ids(gateway: &Gateway, key: &str) -> Vec<String> {
    let answer = gateway.ask(&Request::get("/v1/models").key(key)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let list: Value = serde_json::from_str(&answer.text()).unwrap();
    let ids = list["data"].as_array().unwrap().iter();
    ids.map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_list_has_what_the_provider_lists_and_a_pattern_serves() {
    let simulator = Simulator::start().await;
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(listing)]).await;
    let mut config = serving(&simulator, &[("openai", json!({"openai/*": "*"}))]);
    let base_url = format!("http://{}/v1", provider.address);
    config["channels"]["openai"]["base_url"] = base_url.into();
    config["callers"] = json!([
        caller("ann", ANN, &["*"]),
        caller("bob", BOB, &["openai/ft:*", "openai/o*"]),
    ]);
    let gateway = Gateway::start(&config).await;
    assert_eq!(
        listed_ids(&gateway, ANN).await,
        ["openai/gpt-4o", "openai/o1-pro"]
    );
    // A private model is listed to those whose pattern names it.
    let private = "openai/ft:gpt-4o:acme::a";
    assert_eq!(listed_ids(&gateway, BOB).await, [private, "openai/o1-pro"]);
    // The list is fetched once, also over a reload.
    config["channels"]["openai"]["unpriced"] = "refuse".into();
    config["prices"] = json!({"models": {"openai/gpt-4o": {"input": 1}}});
    gateway.reload(&config).await;
    assert_eq!(listed_ids(&gateway, ANN).await, ["openai/gpt-4o"]);
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test]
async fn a_provider_without_a_list_leaves_the_names_of_the_file() {
    let simulator = Simulator::start().await;
    for script in [
        vec![ScriptedResponse::Reset],
        vec![ScriptedResponse::Send(
            b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>".to_vec(),
        )],
    ] {
        let provider = ScriptedProvider::start(script).await;
        let mut config = serving(&simulator, &[("openai", json!({"openai/*": "*"}))]);
        let base_url = format!("http://{}/v1", provider.address);
        config["channels"]["openai"]["base_url"] = base_url.into();
        config["models"] = json!({"openai/gpt-4o": {}});
        config["callers"] = json!([caller("ann", ANN, &["*"])]);
        let gateway = Gateway::start(&config).await;
        for _ in 0..3 {
            assert_eq!(listed_ids(&gateway, ANN).await, ["openai/gpt-4o"]);
        }
    }
}

/// A model as the Codex CLI reads it; each member is required by its version 0.171.0 or by earlier ones.
#[derive(serde::Deserialize)]
struct CodexModel {
    slug: String,
    display_name: String,
    supported_reasoning_levels: Vec<Value>,
    shell_type: String,
    visibility: String,
    supported_in_api: bool,
    priority: i32,
    supports_reasoning_summaries: bool,
    support_verbosity: bool,
    truncation_policy: CodexTruncationPolicy,
    supports_parallel_tool_calls: bool,
    experimental_supported_tools: Vec<String>,
    base_instructions: String,
}

#[derive(serde::Deserialize)]
struct CodexTruncationPolicy {
    mode: String,
    limit: i64,
}

async fn codex_models(gateway: &Gateway, key: &str) -> Vec<CodexModel> {
    let request = Request::get("/v1/models?client_version=0.171.0").key(key);
    let answer = gateway.ask(&request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_value(answer.json()["models"].clone()).unwrap()
}

#[tokio::test]
async fn codex_gets_the_models_of_its_protocol_and_none_without_instructions() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["channels"]["messages"]["models"]["only-messages"] = "sim-small-2026-08".into();
    let gateway = Gateway::start(&config).await;
    assert!(codex_models(&gateway, ANN).await.is_empty());
    let instructions = "Be precise.\nBe brief.";
    config::route(&mut config, "models")["request"] =
        json!(["authenticate", {"list_models": {"codex_instructions": instructions}}]);
    gateway.reload(&config).await;
    let models = codex_models(&gateway, ANN).await;
    let names: Vec<[&str; 2]> = models
        .iter()
        .map(|model| [&*model.slug, &*model.display_name])
        .collect();
    assert_eq!(
        names,
        [["demo-large", "Demo Large"], ["demo-small", "demo-small"]]
    );
    for (index, model) in models.iter().enumerate() {
        assert_eq!(model.base_instructions, instructions);
        assert_eq!(model.priority, i32::try_from(index).unwrap());
        let words = [&*model.shell_type, &*model.visibility];
        assert_eq!(words, ["default", "list"]);
        assert!(model.supported_in_api && !model.support_verbosity);
        assert!(!model.supports_reasoning_summaries && !model.supports_parallel_tool_calls);
        assert!(model.supported_reasoning_levels.is_empty());
        assert!(model.experimental_supported_tools.is_empty());
        let policy = &model.truncation_policy;
        assert_eq!((&*policy.mode, policy.limit), ("bytes", 10_000));
    }
    let of_bob = codex_models(&gateway, BOB).await;
    assert_eq!(of_bob.len(), 1);
    assert_eq!(of_bob[0].slug, "demo-small");
    // Others get the list as before.
    assert!(
        listed_ids(&gateway, ANN)
            .await
            .contains(&"only-messages".to_owned())
    );
    let stranger = Request::get("/v1/models?client_version=0.171.0").without("Authorization");
    assert_eq!(gateway.ask(&stranger).await.status, 401);
}

//! Tests of base URLs as real providers have them: with a query, and with the model in the path.

use crate::configuration::check::{changed, check};
use crate::harness::caching::insert_step;
use crate::harness::config::{self, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 96\r\n\r\n{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\",\"choices\":[],\"usage\":null,\"output\":[  ]}";
const QUERY_KEY: &str = "sk-query-canary-61f0";

/// A gateway whose channels are at `base` of the provider.
async fn gateway_at(provider: &ScriptedProvider, base: &str, query: Value) -> Gateway {
    let mut config = config::standard(&format!("http://{}{base}", provider.address));
    config::without_cool_downs(&mut config);
    for channel in config["channels"].as_object_mut().unwrap().values_mut() {
        channel["query"] = query.clone();
    }
    Gateway::start(&config).await
}

/// The targets of the requests that a provider has received.
fn targets(provider: &ScriptedProvider) -> Vec<String> {
    let requests = provider.requests();
    let targets = requests.iter().map(|request| {
        let line = request.lines().next().unwrap();
        line.split(' ').nth(1).unwrap().to_owned()
    });
    targets.collect()
}

fn chat_at(target: &str) -> Request {
    let mut request = Request::ask(Protocol::Chat);
    request.target = target.into();
    request
}

#[tokio::test]
async fn the_operators_query_replaces_that_of_a_caller() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let base = "/openai/v1?api-version=2024-10-21";
    let query = json!({"region": "eu west", "subscription-key": QUERY_KEY});
    let gateway = gateway_at(&provider, base, query).await;
    let fixed = format!("api-version=2024-10-21&region=eu%20west&subscription-key={QUERY_KEY}");
    for (sent, kept) in [
        ("", ""),
        ("?beta=true", "beta=true&"),
        ("?api-version=1&beta=true", "beta=true&"),
        ("?beta=true&API-VERSION=1", "beta=true&"),
        ("?beta=true;api%2Dversion=1", "beta=true&"),
        ("?region=us&region[]=us&x", "x&"),
        ("?Subscription%2dKey=stolen", ""),
    ] {
        let before = targets(&provider).len();
        let answer = gateway
            .ask(&chat_at(&format!("/v1/chat/completions{sent}")))
            .await;
        assert_eq!(answer.status, 200, "{sent}: {}", answer.text());
        let expected = format!("/openai/v1/chat/completions?{kept}{fixed}");
        assert_eq!(targets(&provider)[before..], [expected], "{sent}");
    }
    let process = &gateway.process;
    let logged = [process.stdout.all(), process.stderr.all()]
        .concat()
        .join("\n");
    assert!(!logged.contains(QUERY_KEY), "{logged}");
}

#[tokio::test]
async fn a_rewritten_path_keeps_the_version_of_another_api_from_the_provider() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let mut config = config::standard(&provider.url());
    let rewrite = json!({"rewrite_path": {
        "match": "^/openai/(.+)$", "to": "/v1/$1", "remove_query": ["api-version"],
    }});
    for (name, path) in [
        ("responses", "POST /openai/responses"),
        ("response", "GET /openai/responses/{id}"),
    ] {
        config::route(&mut config, name)["match"] = json!(path);
        insert_step(&mut config, name, rewrite.clone());
    }
    let gateway = Gateway::start(&config).await;
    let mut create = Request::ask(Protocol::Responses);
    create.target = "/openai/responses?api-version=2025-03-01-preview".into();
    let path = "/openai/responses/resp_1?starting_after=2&api-version=2025-03-01-preview";
    for (request, expected) in [
        (create, "/v1/responses"),
        (Request::get(path), "/v1/responses/resp_1?starting_after=2"),
    ] {
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        // The id of a response is known when its exchange has ended.
        gateway.log_of(&response).await;
        assert_eq!(targets(&provider).pop().as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn requests_without_a_model_have_the_operators_query_too() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let mut config = config::standard(&format!("http://{}/v1?api-version=7", provider.address));
    config::without_cool_downs(&mut config);
    config["channels"]["openai"]["health"]["probe"] = json!({"interval": "100ms"});
    let mut copies = channel(
        &format!("http://{}/copies?api-version=8", provider.address),
        &["chat"],
        json!({"bearer": "sk-copies-canary-11d3"}),
    );
    copies["tier"] = json!(9);
    config["channels"]["copies"] = copies;
    insert_step(
        &mut config,
        "chat",
        json!({"mirror": {"channel": "copies", "percent": 100}}),
    );
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&Request::ask(Protocol::Responses)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    gateway.log_of(&answer).await;
    let got = gateway
        .ask(&Request::get("/v1/responses/resp_1?api-version=1&limit=2"))
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    gateway.ask(&Request::ask(Protocol::Chat)).await;
    for expected in [
        "/v1/models?api-version=7",
        "/v1/responses?api-version=7",
        "/v1/responses/resp_1?limit=2&api-version=7",
        "/v1/chat/completions?api-version=7",
        "/copies/chat/completions?api-version=8",
    ] {
        eventually(expected, async || {
            targets(&provider)
                .iter()
                .any(|target| target == expected)
                .then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn the_model_is_one_segment_of_the_path() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let base = "/openai/deployments/{model}?api-version=1";
    for (name, segment) in [
        ("gpt-4.1", "gpt-4.1"),
        ("my deployment", "my%20deployment"),
        ("team/large:2", "team%2Flarge%3A2"),
        ("modèle", "mod%C3%A8le"),
        ("100%", "100%25"),
    ] {
        let mut config = config::standard(&format!("http://{}{base}", provider.address));
        config["channels"]["openai"]["protocols"] = json!(["chat"]);
        config["channels"]["openai"]["models"] = json!({"demo-large": name});
        let gateway = Gateway::start(&config).await;
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        let expected = format!("/openai/deployments/{segment}/chat/completions?api-version=1");
        assert_eq!(targets(&provider).last(), Some(&expected), "{name}");
        let body: Value = {
            let requests = provider.requests();
            let (_, body) = requests.last().unwrap().split_once("\r\n\r\n").unwrap();
            serde_json::from_str(body).unwrap()
        };
        assert_eq!(body["model"], name);
    }
}

#[tokio::test]
async fn a_request_without_a_model_is_not_sent_where_the_path_needs_one() {
    let provider = ScriptedProvider::answering(ANSWER).await;
    let gateway = gateway_at(&provider, "/deployments/{model}", json!({})).await;
    let answer = gateway.ask(&Request::ask(Protocol::Responses)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    gateway.log_of(&answer).await;
    let before = targets(&provider);
    let by_id = gateway.ask(&Request::get("/v1/responses/resp_1")).await;
    let message = assert_error_body(Protocol::Responses, &by_id, 400);
    assert!(
        message.contains("takes only requests with a model"),
        "{message}"
    );
    // No channel can have the list of files.
    let listed = gateway.ask(&Request::get("/v1/files")).await;
    assert_error_body(Protocol::Chat, &listed, 403);
    assert_eq!(targets(&provider), before);
}

#[tokio::test]
async fn the_query_and_the_model_are_explained_as_they_are_sent_without_secrets() {
    let simulator = Simulator::start().await;
    let folder = crate::harness::gateway::folder_with_schemas();
    let base = format!("http://{}/d/{{model}}?api-version=1", simulator.address);
    let mut config = config::standard(&base);
    config["channels"]["openai"]["query"] = json!({"key": QUERY_KEY});
    let file = folder.write("routes.yaml", format!("{config:#}"));
    let output = std::process::Command::new(crate::harness::process::BINARY)
        .args(["explain", "/v1/chat/completions", "-d"])
        .arg(crate::harness::request::body_of(Protocol::Chat).to_string())
        .arg("-c")
        .arg(file)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let url = format!(
        "http://{}/d/sim-large-2026-08/chat/completions?api-version=1&key=[secret]",
        simulator.address
    );
    assert!(text.contains(&url), "{text}");
    assert!(!text.contains(QUERY_KEY), "{text}");
}

#[test]
fn a_base_url_that_cannot_work_is_an_error_with_its_reason() {
    const URL: &str = "https://api.provider.example/v1";
    let base = |url: &str| changed(URL, url);
    let at_model = |url: &str, more: &str| {
        let text = changed(URL, url);
        text.replacen("    protocols: [chat]\n", more, 1)
    };
    let deployments = "https://x.example/d/{model}";
    for (text, words) in [
        (base("https://x.example/{id}"), "the only placeholder"),
        (base("https://x.example/{+model}"), "the only placeholder"),
        (base("https://x.example/v1?a=1&A=2"), "`a` more than once"),
        (base("https://x.example/v1#a"), "query or fragment"),
        (
            at_model(
                "https://x.example/v1?a=1",
                "    protocols: [chat]\n    query: {A: \"2\"}\n",
            ),
            "`a` more than once",
        ),
        (
            at_model(
                deployments,
                "    protocols: [video]\n    family: family-a\n",
            ),
            "queries of tasks have no model",
        ),
        (
            at_model(
                deployments,
                "    protocols: [chat]\n    health: {probe: {interval: 10s}}\n",
            ),
            "cannot be probed",
        ),
        (
            at_model(deployments, "    protocols: [chat]\n").replace("small-2026", "../../files"),
            "a model in the path of `base_url` must not",
        ),
    ] {
        let printed = check(&text);
        assert!(!printed.success, "{words}: {}", printed.stdout);
        assert!(
            printed.stderr.contains(words),
            "{words}: {}",
            printed.stderr
        );
    }
    for text in [
        base("https://x.openai.azure.com/openai/deployments/{model}?api-version=2024-10-21"),
        at_model(
            URL,
            "    protocols: [chat]\n    query: {api-version: 2024-10-21}\n",
        ),
    ] {
        let printed = check(&text);
        assert!(printed.success, "{}", printed.stderr);
        assert_eq!(printed.stdout.lines().count(), 1, "{}", printed.stdout);
    }
}

#[test]
fn a_route_whose_requests_have_only_an_id_is_a_warning_where_the_path_needs_a_model() {
    let text = changed(
        "https://api.provider.example/v1",
        "https://x.example/d/{model}",
    );
    let text = text.replace("protocols: [chat]", "protocols: [chat, responses]");
    let route = "  - name: by_id\n    match: GET /v1/responses/{id}\n    protocol: responses\n    request: [authenticate, follow_ids]\n";
    let printed = check(&(text + route));
    assert!(printed.success, "{}", printed.stderr);
    assert!(
        printed.stdout.contains("such as those of route `by_id`"),
        "{}",
        printed.stdout
    );
}

//! Tests of callers who speak Gemini's protocol to channels of it, under the paths of Google's two APIs.

use crate::harness::error_shape::{assert_error_body, assert_error_event};
use crate::harness::hostile_models::HOSTILE_MODELS;
use crate::harness::path_models::{fully_encoded, last_sent};
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, WholeResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const KEY: &str = "AIza-canary-51c0";
/// The folder of models of Vertex AI in a project.
const PROJECT: &str = "/v1beta1/projects/p-1/locations/eu-west1/publishers/google";
const FOLDERS: [&str; 3] = ["/v1beta", PROJECT, "/v1beta1/publishers/google"];
const VERBS: [&str; 3] = ["generateContent", "streamGenerateContent", "countTokens"];

/// A configuration with one route for all endpoints, and a channel at `provider`.
pub fn natives(provider: &str) -> Value {
    let mut config = config::standard(provider);
    let credential = json!({"header": {"name": "x-goog-api-key", "value": KEY}});
    config["channels"] = json!({"google": config::channel(provider, &["gemini"], credential)});
    let folders = [
        "/v1beta",
        "/v1beta1/projects/{project}/locations/{location}/publishers/google",
        "/v1beta1/publishers/google",
    ];
    let patterns = folders
        .iter()
        .flat_map(|folder| VERBS.map(|verb| format!("POST {folder}/models/{{model}}:{verb}")));
    config["routes"] = json!([{"name": "gemini", "match": patterns.collect::<Vec<_>>(), "protocol": "gemini",
        "request": [{"use": "body"}, "validate"], "response": ["pass_sse", "meter_usage", "restore_model"]}]);
    config::without_cool_downs(&mut config);
    config
}

fn asking(text: &str) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": text}]}], "generationConfig": {"maxOutputTokens": 500}})
}

/// A question as google-genai sends it, with the key in its header.
fn generate(folder: &str, model: &str, verb: &str) -> Request {
    let query = match verb {
        "streamGenerateContent" => "?alt=sse",
        _ => "",
    };
    let target = format!("{folder}/models/{model}:{verb}{query}");
    let request = Request::post(&target, asking("Mind the gate.").to_string());
    request
        .without("authorization")
        .header("x-goog-api-key", ANN)
}

fn text_of(response: &Value) -> String {
    let parts = response["candidates"][0]["content"]["parts"].as_array();
    let texts = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str());
    texts.collect()
}

/// The chunks of a stream.
fn chunks(answer: &WholeResponse) -> Vec<Value> {
    let text = answer.text();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[tokio::test]
async fn each_endpoint_reaches_that_of_the_provider() {
    let simulator = Simulator::start().await;
    let project = format!(
        "http://{}{}",
        simulator.address,
        PROJECT.replace("v1beta1", "v1")
    );
    for (base_url, path) in [
        (simulator.url(), "/v1".to_owned()),
        (project, PROJECT.replace("v1beta1", "v1")),
    ] {
        let gateway = Gateway::start(&natives(&base_url)).await;
        for folder in FOLDERS {
            let whole = gateway.ask(&generate(folder, "demo-large", VERBS[0])).await;
            assert_eq!(whole.status, 200, "{}", whole.text());
            let body = whole.json();
            assert!(text_of(&body).contains("Mind the gate."), "{body}");
            assert_eq!(body["modelVersion"], "demo-large", "{body}");
            let record = simulator.last().await;
            let expected = format!("{path}/models/sim-large-2026-08:generateContent");
            assert_eq!(record["path"], expected, "{record}");
            assert_eq!(record["headers"]["x-goog-api-key"], KEY, "{record}");
            let line = gateway.log_of(&whole).await;
            assert_counted(&line, &body["usageMetadata"]);

            let stream = gateway.ask(&generate(folder, "demo-large", VERBS[1])).await;
            assert_eq!(
                (stream.status, stream.whole),
                (200, true),
                "{}",
                stream.text()
            );
            let content_type = stream.headers.get("content-type").unwrap();
            assert!(
                content_type.starts_with("text/event-stream"),
                "{content_type}"
            );
            let chunks = chunks(&stream);
            let text: String = chunks.iter().map(text_of).collect();
            assert_eq!(text, text_of(&body));
            let record = simulator.last().await;
            let expected = format!("{path}/models/sim-large-2026-08:streamGenerateContent?alt=sse");
            assert_eq!(record["path"], expected, "{record}");
            let line = gateway.log_of(&stream).await;
            assert_eq!(line["streamed"], true, "{line}");
            assert_counted(&line, &chunks.last().unwrap()["usageMetadata"]);

            let count = gateway.ask(&generate(folder, "demo-large", VERBS[2])).await;
            assert_eq!(count.status, 200, "{}", count.text());
            assert!(
                count.json()["totalTokens"]
                    .as_u64()
                    .is_some_and(|it| it > 3)
            );
            let record = simulator.last().await;
            let expected = format!("{path}/models/sim-large-2026-08:countTokens");
            assert_eq!(record["path"], expected, "{record}");
            assert_eq!(gateway.log_of(&count).await["output_tokens"], Value::Null);
        }
    }
}

fn assert_counted(line: &Value, usage: &Value) {
    assert_eq!(line["protocol"], "gemini", "{line}");
    assert_eq!(line["settlement"], "complete", "{line}");
    assert_eq!(line["input_tokens"], usage["promptTokenCount"], "{line}");
    assert_eq!(
        line["output_tokens"], usage["candidatesTokenCount"],
        "{line}"
    );
    assert!(
        line["output_tokens"].as_u64().is_some_and(|it| it > 0),
        "{line}"
    );
}

#[tokio::test]
async fn what_is_refused_is_refused_as_google_does() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&natives(&simulator.url())).await;
    let generate = |model, verb| generate("/v1beta", model, verb);
    let body = |body: Value| generate("demo-large", VERBS[0]).with_body(body.to_string().into());
    let mut hot = asking("Hi");
    hot["generationConfig"]["temperature"] = json!("hot");
    let other_format = |query: &str| {
        let mut request = generate("demo-large", VERBS[1]);
        request.target = request.target.replace("?alt=sse", query);
        request
    };
    for (request, status, name, words) in [
        (
            generate("demo-none", VERBS[0]),
            404,
            "NOT_FOUND",
            "demo-none",
        ),
        (
            generate("demo-large", VERBS[0])
                .without("x-goog-api-key")
                .header("x-goog-api-key", BOB),
            403,
            "PERMISSION_DENIED",
            "demo-large",
        ),
        (
            generate("demo-large", VERBS[0])
                .without("x-goog-api-key")
                .header("x-goog-api-key", "sk-eve"),
            401,
            "UNAUTHENTICATED",
            "Incorrect API key",
        ),
        (
            generate("demo-large", VERBS[1]).without("x-goog-api-key"),
            401,
            "UNAUTHENTICATED",
            "key",
        ),
        (other_format(""), 400, "INVALID_ARGUMENT", "add `?alt=sse`"),
        (
            other_format("?alt=json"),
            400,
            "INVALID_ARGUMENT",
            "add `?alt=sse`",
        ),
        (
            generate("demo-large", VERBS[0]).with_body(b"{".to_vec()),
            400,
            "INVALID_ARGUMENT",
            "JSON",
        ),
        (
            body(hot),
            400,
            "INVALID_ARGUMENT",
            "generationConfig.temperature",
        ),
        (body(json!({})), 400, "INVALID_ARGUMENT", "contents"),
        (generate("demo-large", "embedContent"), 404, "NOT_FOUND", ""),
    ] {
        let answer = gateway.ask(&request).await;
        let message = assert_error_body(Protocol::Gemini, &answer, status);
        assert!(message.contains(words), "{words}: {message}");
        assert_eq!(answer.json()["error"]["status"], name, "{message}");
    }
    assert!(simulator.records().await.is_empty());
    let body = gateway.ask(&other_format("")).await.json();
    assert_eq!(
        body["error"]["details"][1]["fieldViolations"][0]["field"], "alt",
        "{body}"
    );
}

#[tokio::test]
async fn a_model_whose_name_leads_elsewhere_is_refused_before_it_is_sent() {
    let provider = ScriptedProvider::answering(super::path_models::ANSWER).await;
    let mut config = natives(&provider.url());
    config["channels"]["google"]["models"] = json!({"*": "*"});
    config["channels"]["google"]["unpriced"] = json!("allow");
    let gateway = Gateway::start(&config).await;
    let mut connection = gateway.connect().await;
    for name in HOSTILE_MODELS {
        let answer = connection
            .ask(&generate("/v1beta", &fully_encoded(name), VERBS[0]))
            .await;
        assert_error_body(Protocol::Gemini, &answer, 400);
        if answer.headers.get("connection") == Some("close") {
            connection = gateway.connect().await;
        }
    }
    assert!(provider.requests().is_empty());
    // What looks like an endpoint in the name is a part of the name.
    let name = "a%2Fb:streamGenerateContent";
    gateway.ask(&generate("/v1beta", name, VERBS[0])).await;
    let (line, _) = last_sent(&provider);
    assert_eq!(
        line,
        "POST /v1/models/a%2Fb:streamGenerateContent:generateContent HTTP/1.1"
    );
}

#[tokio::test]
async fn an_error_of_the_provider_stays_its_own_and_leads_to_the_next_channel_before_content() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&natives(&simulator.url())).await;
    for (status, name) in [
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (503, "UNAVAILABLE"),
        (400, "INVALID_ARGUMENT"),
    ] {
        for verb in &VERBS[..2] {
            let directives = format!("status={status}; message=the vendor's own words");
            let request = generate("/v1beta", "demo-large", verb).simulate(&directives);
            let answer = gateway.ask(&request).await;
            assert_eq!(answer.status, status, "{}", answer.text());
            let error = &answer.json()["error"];
            assert_eq!(error["status"], name, "{error}");
            assert_eq!(error["message"], "the vendor's own words", "{error}");
        }
    }
    let config = natives(&simulator.url());
    let mut spare = config["channels"]["google"].clone();
    spare["tier"] = json!(1);
    for directives in ["status=503", "error_event_first", "error_body"] {
        let mut config = config.clone();
        config["channels"]["google"]["base_url"] = json!(simulator.url_obeying(directives));
        config["channels"]["spare"] = spare.clone();
        let gateway = Gateway::start(&config).await;
        let verb = if directives == "error_body" {
            VERBS[0]
        } else {
            VERBS[1]
        };
        let answer = gateway.ask(&generate("/v1beta", "demo-large", verb)).await;
        assert_eq!(
            (answer.status, answer.whole),
            (200, true),
            "{}",
            answer.text()
        );
        let line = gateway.log_of(&answer).await;
        assert_eq!(
            (&line["attempts"], &line["channel"]),
            (&json!(2), &json!("spare")),
            "{directives}: {line}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error_of_google() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&natives(&simulator.url())).await;
    for directives in ["cut_after=3", "end_after_events=3"] {
        let request = generate("/v1beta", "demo-large", VERBS[1]).simulate(directives);
        let answer = gateway.ask(&request).await;
        assert!(!answer.whole, "{}", answer.text());
        assert_error_event(Protocol::Gemini, &answer);
        let chunks = chunks(&answer);
        assert!(!text_of(&chunks[0]).is_empty(), "{chunks:?}");
        let error = &chunks.last().unwrap()["error"];
        assert_eq!(
            (&error["code"], &error["status"]),
            (&json!(502), &json!("UNAVAILABLE"))
        );
        assert_eq!(gateway.log_of(&answer).await["settlement"], "upstream_cut");
    }
    let request = generate("/v1beta", "demo-large", VERBS[1]).simulate("error_event_after=3");
    let answer = gateway.ask(&request).await;
    assert_eq!(
        gateway.log_of(&answer).await["settlement"],
        "upstream_error",
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn limits_of_tokens_and_money_know_the_limit_of_the_output() {
    let simulator = Simulator::start().await;
    let mut config = natives(&simulator.url());
    config["callers"][0]["limits"] = json!({"tokens_per_minute": 700});
    let step = json!("rate_limit");
    config["routes"][0]["request"]
        .as_array_mut()
        .unwrap()
        .push(step);
    let gateway = Gateway::start(&config).await;
    let mut large = asking("Hi");
    large["generationConfig"]["maxOutputTokens"] = json!(5000);
    let large = generate("/v1beta", "demo-large", VERBS[0]).with_body(large.to_string().into());
    let first = gateway
        .ask(&generate("/v1beta", "demo-large", VERBS[0]))
        .await;
    assert_eq!(first.status, 200, "{}", first.text());
    let answer = gateway.ask(&large).await;
    assert_error_body(Protocol::Gemini, &answer, 429);
    assert_eq!(answer.json()["error"]["status"], "RESOURCE_EXHAUSTED");
}

//! Tests of the log of prompts: what a record has, what it never has, and which requests have one.

use crate::harness::config::standard;
use crate::harness::log_store::LogStore;
use crate::harness::request::{ANN, BOB};
use crate::harness::s3::S3Server;
use crate::harness::{Gateway, PROTOCOLS, Request, Simulator, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A configuration with a sink in the bucket of `store`, to which no route logs yet.
pub fn log_config(provider: &str, store: &LogStore) -> Value {
    let mut config = standard(provider);
    config["prompt_logs"] = json!({"archive": {
        "bucket": {
            "endpoint": store.url(), "bucket": "prompts", "prefix": "team/logs",
            "access_key_id": "AKIDCANARY0123456789", "secret_access_key": "bucket-secret-canary",
        },
        "flush": "100ms",
    }});
    config
}

/// Has a route log, with these settings.
pub fn log_route(config: &mut Value, route: &str, settings: Value) {
    let mut settings = settings;
    settings["sink"] = json!("archive");
    let chain = &mut config::route(config, route)["request"];
    let chain = chain.as_array_mut().unwrap();
    chain.push(json!({"log_prompts": settings}));
}

/// A gateway whose text routes log with these settings.
pub async fn logging_gateway(provider: &str, store: &LogStore, settings: &Value) -> Gateway {
    let mut config = log_config(provider, store);
    for protocol in PROTOCOLS {
        log_route(&mut config, protocol.name(), settings.clone());
    }
    Gateway::start(&config).await
}

/// A request for a text that no other request has.
pub fn numbered(protocol: Protocol, number: usize) -> Request {
    let message = json!([{"role": "user", "content": format!("question {number}")}]);
    let body = match protocol {
        Protocol::Responses => json!({"model": "demo-large", "input": message}),
        _ => json!({"model": "demo-large", "max_tokens": 20, "messages": message}),
    };
    Request::to(protocol, body.to_string())
}

pub async fn count(gateway: &Gateway, result: &str) -> f64 {
    let metrics = gateway.metrics().await;
    let labels = [("sink", "archive"), ("result", result)];
    metrics.sum("headgate_prompt_log_records_total", &labels)
}

#[tokio::test]
async fn a_record_has_what_the_caller_sent_and_got_and_no_key() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    let gateway = logging_gateway(&simulator.url(), &store, &json!({})).await;
    for protocol in PROTOCOLS {
        let body = json!({"note": format!("my key is {ANN}")});
        let mut request = numbered(protocol, 1);
        let mut sent: Value = serde_json::from_slice(request.body.as_ref().unwrap()).unwrap();
        sent["metadata"] = match protocol {
            Protocol::Messages => json!({"user_id": body["note"]}),
            _ => body,
        };
        request.body = Some(format!("{sent:#}").into_bytes());
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let line = gateway.log_of(&response).await;
        let id = line["id"].clone();
        let record = eventually("the record", async || {
            store
                .records()
                .into_iter()
                .find(|record| record["id"] == id)
        })
        .await;
        for name in [
            "route",
            "protocol",
            "caller",
            "model",
            "channel",
            "status",
            "settlement",
            "input_tokens",
            "output_tokens",
        ] {
            assert_eq!(record[name], line[name], "{protocol:?}: {name}");
        }
        let got = response.text().replace(ANN, "[redacted]");
        let got: Value = serde_json::from_str(&got).unwrap();
        assert_eq!(record["response"]["json"], got, "{protocol:?}");
        let text = sent.to_string().replace(ANN, "[redacted]");
        assert_eq!(record["request"]["json"].to_string(), text, "{protocol:?}");
        assert_eq!(record["request"].get("cut"), None);
        assert!(
            record["gateway"]
                .as_str()
                .is_some_and(|name| !name.is_empty())
        );
    }
    for path in store.objects().keys() {
        let (folder, name) = path.rsplit_once('/').unwrap();
        let parts: Vec<&str> = folder.split('/').collect();
        assert_eq!(parts[..4], ["", "prompts", "team", "logs"], "{path}");
        assert_eq!((parts[4].len(), parts[5].len()), (10, 2), "{path}");
        assert!(name.ends_with(".jsonl.gz"), "{path}");
    }
    assert!(!store.text().contains("canary"));
    assert!(
        store
            .heads()
            .iter()
            .all(|head| head.contains("AWS4-HMAC-SHA256"))
    );
    assert_eq!(count(&gateway, "stored").await, 3.0);
}

#[tokio::test]
async fn a_stream_is_recorded_as_its_events_and_cut_at_the_limit() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    let mut config = log_config(&simulator.url(), &store);
    config["prompt_logs"]["archive"]["max_body"] = json!("2KiB");
    for protocol in PROTOCOLS {
        log_route(&mut config, protocol.name(), json!({}));
    }
    let gateway = Gateway::start(&config).await;
    for (number, protocol) in PROTOCOLS.into_iter().enumerate() {
        for (directives, is_cut) in [("events=3", false), ("events=400", true)] {
            let request = Request::ask_stream(protocol).simulate(directives);
            let response = gateway.ask(&request).await;
            assert_eq!(response.status, 200, "{}", response.text());
            let line = gateway.log_of(&response).await;
            let records = store.wait_for(2 * number + 1 + usize::from(is_cut)).await;
            let record = records
                .iter()
                .find(|record| record["id"] == line["id"])
                .unwrap();
            let events = record["response"]["events"].as_str().unwrap();
            let text = response.text();
            let cut = (text.len() > 2048).then_some(true);
            println!(
                "{protocol:?} {directives}: {} of {} bytes",
                events.len(),
                text.len()
            );
            assert!(
                is_cut <= cut.is_some(),
                "{protocol:?} {directives}: {} bytes",
                text.len()
            );
            assert!(text.starts_with(events), "{protocol:?} {directives}");
            assert_eq!(events.len(), text.len().min(2048));
            assert_eq!(record["response"]["bytes"], text.len());
            assert_eq!(record["response"]["cut"].as_bool(), cut);
        }
    }
}

#[tokio::test]
async fn redacted_values_are_nowhere_in_an_object() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    let settings = json!({"redact": [
        "/user", "/messages/*/content", "/choices/*/message/content", "/choices/*/delta/content", "/id",
    ]});
    let gateway = logging_gateway(&simulator.url(), &store, &settings).await;
    let mut ids = Vec::new();
    for is_stream in [false, true] {
        let body = json!({
            "model": "demo-large", "user": "private-one", "stream": is_stream,
            "messages": [{"role": "system", "content": "private-two"}, {"role": "user", "content": "private-three"}],
        });
        let response = gateway
            .ask(&Request::to(Protocol::Chat, body.to_string()))
            .await;
        assert_eq!(response.status, 200);
        ids.push(response.text());
    }
    let records = store.wait_for(2).await;
    let text = store.text();
    assert!(!text.contains("private"), "{text}");
    assert!(!text.contains("chatcmpl-"), "{text}");
    let redacted = "[redacted]";
    for record in &records {
        let request = &record["request"]["json"];
        assert_eq!(request["user"], redacted);
        assert_eq!(
            request["messages"][0],
            json!({"role": "system", "content": redacted})
        );
    }
    let whole = &records[0]["response"]["json"]["choices"][0]["message"];
    assert_eq!(
        (&whole["role"], &whole["content"]),
        (&json!("assistant"), &json!(redacted))
    );
    let events = records[1]["response"]["events"].as_str().unwrap();
    assert!(events.contains(r#""content":"[redacted]""#), "{events}");
    assert!(events.ends_with("data: [DONE]\n\n"), "{events}");
}

#[tokio::test]
async fn a_sample_is_a_share_of_the_requests() {
    const REQUESTS: usize = 60;
    for (sample, range) in [(0.0, 0..=0), (0.5, 10..=50), (1.0, REQUESTS..=REQUESTS)] {
        let simulator = Simulator::start().await;
        let store = LogStore::start().await;
        let mut config = log_config(&simulator.url(), &store);
        log_route(&mut config, "chat", json!({"sample": sample}));
        // One that is always recorded, and last.
        log_route(&mut config, "messages", json!({}));
        let gateway = Gateway::start(&config).await;
        let mut connection = gateway.connect().await;
        for number in 0..REQUESTS {
            let response = connection.ask(&numbered(Protocol::Chat, number)).await;
            assert_eq!(response.status, 200);
        }
        gateway.ask(&numbered(Protocol::Messages, 0)).await;
        let records = eventually("the last record", async || {
            let records = store.records();
            records
                .iter()
                .any(|record| record["route"] == "messages")
                .then_some(records)
        })
        .await;
        let logged = records.len() - 1;
        assert!(range.contains(&logged), "{sample}: {logged}");
    }
}

#[tokio::test]
async fn what_never_reached_a_provider_has_no_record_and_an_error_of_a_provider_has() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    let gateway = logging_gateway(&simulator.url(), &store, &json!({})).await;
    for (request, status) in [
        (
            numbered(Protocol::Chat, 1).key("sk-unknown-canary-0000"),
            401,
        ),
        (Request::to(Protocol::Chat, "{\"model\": 1}"), 400),
        (numbered(Protocol::Chat, 2).key(BOB), 403),
        (numbered(Protocol::Chat, 3).simulate("status=400"), 400),
        (numbered(Protocol::Chat, 4).simulate("status=500"), 500),
    ] {
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, status, "{}", response.text());
    }
    let records = store.wait_for(2).await;
    let question = |record: &Value| record["request"]["json"]["messages"][0]["content"].clone();
    let mut found: Vec<(Value, Value)> = records
        .iter()
        .map(|record| (question(record), record["status"].clone()))
        .collect();
    // Each is sent by itself, so that the second may come first.
    found.sort_by_key(|(question, _)| question.to_string());
    let expected = [("question 3", 400), ("question 4", 500)];
    assert_eq!(
        found,
        expected.map(|(text, status)| (json!(text), json!(status)))
    );
}

#[tokio::test]
async fn filters_before_and_after_decide_what_is_recorded() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    let mut config = log_config(&simulator.url(), &store);
    let chat = config::route(&mut config, "chat");
    chat["request"]
        .as_array_mut()
        .unwrap()
        .splice(0..0, [json!({"log_prompts": {"sink": "archive"}})]);
    chat["request"]
        .as_array_mut()
        .unwrap()
        .push(json!({"edit_json": {"set": {"/user": "edited"}}}));
    chat["response"]
        .as_array_mut()
        .unwrap()
        .push(json!({"edit_json": {"set": {"/tag": "added"}}}));
    let gateway = Gateway::start(&config).await;
    let response = gateway.ask(&numbered(Protocol::Chat, 1)).await;
    assert_eq!(response.json()["tag"], "added", "{}", response.text());
    let records = store.wait_for(1).await;
    assert_eq!(records[0]["request"]["json"]["user"], "edited");
    assert_eq!(records[0]["request"]["json"]["model"], "demo-large");
    assert_eq!(records[0]["response"]["json"], response.json());
}

#[tokio::test]
async fn a_real_bucket_takes_the_records() {
    let simulator = Simulator::start().await;
    let server = S3Server::start();
    let mut config = standard(&simulator.url());
    let mut bucket = server.media(false)["s3"].clone();
    bucket.as_object_mut().unwrap().remove("presigned");
    config["prompt_logs"] = json!({"archive": {"bucket": bucket, "flush": "100ms"}});
    log_route(&mut config, "chat", json!({}));
    let gateway = Gateway::start(&config).await;
    gateway.ask(&numbered(Protocol::Chat, 1)).await;
    eventually("the record", async || {
        (count(&gateway, "stored").await > 0.0).then_some(())
    })
    .await;
    assert_eq!(count(&gateway, "failed").await, 0.0);
}

#[tokio::test]
async fn a_response_from_the_cache_has_a_record_of_its_request() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    let mut config = log_config(&simulator.url(), &store);
    log_route(&mut config, "chat", json!({}));
    let chain = &mut config::route(&mut config, "chat")["request"];
    chain.as_array_mut().unwrap().push(json!("cache"));
    let gateway = Gateway::start(&config).await;
    for _ in 0..2 {
        let response = gateway.ask(&numbered(Protocol::Chat, 1)).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let records = store.wait_for(2).await;
    // Which of two exchanges settles first is open: the caller has its response before.
    let found: BTreeSet<(Option<&str>, bool, bool)> = records
        .iter()
        .map(|record| {
            let has = |name: &str| record.get(name).is_some();
            (record["cache"].as_str(), has("request"), has("response"))
        })
        .collect();
    let expected = [(Some("miss"), true, true), (Some("hit"), true, false)];
    assert_eq!(found, BTreeSet::from(expected));
}

//! Tests of balancing by latency on sockets.

use crate::harness::config::{self, channel};
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::Duration;

const REQUESTS: usize = 40;

#[tokio::test]
async fn a_slow_channel_gets_few_requests_by_latency_although_it_is_idle() {
    let body = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#;
    let send = || ScriptedResponse::Send(json_response(200, body));
    let wait = |time| ScriptedResponse::Wait(Duration::from_millis(time));
    let fast = ScriptedProvider::start(vec![wait(10), send()]).await;
    let slow = ScriptedProvider::start(vec![wait(500), send()]).await;
    let mut config = config::standard(&fast.url());
    let account = |provider: &ScriptedProvider| {
        channel(&provider.url(), &["chat"], json!({"bearer": "sk-1"}))
    };
    config["channels"] = json!({"fast": account(&fast), "slow": account(&slow)});
    config["routes"] = json!([config::route(&mut config, "chat")]);
    config["models"] = json!({"demo-large": {"balance": "latency"}});
    let gateway = Gateway::start(&config).await;
    for _ in 0..REQUESTS {
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let requests = [&fast, &slow].map(|provider| provider.requests().len());
    println!("{requests:?} requests to the fast and to the slow channel");
    assert_eq!(requests.iter().sum::<usize>(), REQUESTS);
    assert!((1..=REQUESTS / 8).contains(&requests[1]), "{requests:?}");
}

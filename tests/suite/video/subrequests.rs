//! Tests of subrequests about tasks: the route's timeouts apply, and `explain` shows them as sent.

use crate::harness::error_shape::assert_error_body;
use crate::harness::process::BINARY;
use crate::harness::video::{
    FAMILY_B, GENERIC, ask, cancel, cancel_request, create, id_of, video_config,
};
use crate::harness::{Gateway, Request, Simulator, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;

#[tokio::test]
async fn a_routes_timeouts_hold_for_queries_and_cancels_of_tasks() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "queue=60m");
    config::without_cool_downs(&mut config);
    for route in ["video_task", "video_cancel"] {
        config::route(&mut config, route)["timeouts"] = json!({"first_byte": "300ms"});
    }
    let gateway = Gateway::start(&config).await;
    for model in ["demo-video-a", "demo-video-b"] {
        let id = id_of(GENERIC, &create(&gateway, GENERIC, model).await);
        simulator.obey("stall").await;
        let queried = ask(&gateway, GENERIC, &id).await;
        assert_error_body(Protocol::Chat, &queried, 504);
        let cancelled = cancel(&gateway, GENERIC, &id).await;
        assert_error_body(Protocol::Chat, &cancelled, 504);
        simulator.obey("").await;
    }
}

/// A request to a provider: method, URL and headers.
type SentRequest = (String, String, BTreeMap<String, String>);

#[tokio::test]
async fn a_query_or_cancel_is_explained_as_it_is_sent() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "queue=60m");
    for route in ["video_task", "family_b_cancel"] {
        let filter = json!({"set_headers": {"x-team": "video"}});
        let request = config::route(&mut config, route)["request"].as_array_mut();
        request.unwrap().insert(1, filter);
    }
    let gateway = Gateway::start(&config).await;
    for (path, model) in [(GENERIC, "demo-video-a"), (FAMILY_B, "demo-video-b")] {
        let id = id_of(path, &create(&gateway, path, model).await);
        for request in [
            Request::get(&format!("{path}/{id}")),
            cancel_request(path, &id),
        ] {
            let explained = explained(&gateway, &request);
            let before = simulator.records().await.len();
            assert_eq!(gateway.ask(&request).await.status, 200);
            let records = simulator.records().await;
            let received: Vec<SentRequest> = records[before..]
                .iter()
                .map(|record| received(&simulator, record))
                .collect();
            assert_eq!(explained, received, "{} {}", request.method, request.target);
        }
    }
}

/// The requests in the output of `headgate explain`.
fn explained(gateway: &Gateway, request: &Request) -> Vec<SentRequest> {
    let file = gateway.folder.path().join("routes.yaml");
    let output = Command::new(BINARY)
        .args(["explain", "-X", &request.method, &request.target, "-c"])
        .arg(file)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}{printed}");
    let mut sent: Vec<SentRequest> = Vec::new();
    for line in text.lines() {
        if let Some(method) = line.strip_prefix("   method   ") {
            sent.push((method.to_owned(), String::new(), BTreeMap::new()));
        }
        let Some((_, url, headers)) = sent.last_mut() else {
            continue;
        };
        if let Some(text) = line.strip_prefix("   url      ") {
            *url = text.to_owned();
        }
        if let Some(header) = line.strip_prefix("   header   ") {
            let (name, value) = header.split_once(": ").unwrap_or((header, ""));
            headers.insert(name.to_owned(), value.to_owned());
        }
    }
    sent.into_iter().map(without_own_id).collect()
}

/// A request in the simulated provider's log.
fn received(simulator: &Simulator, record: &Value) -> SentRequest {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let url = format!("http://{}{}", simulator.address, text(&record["path"]));
    let headers = record["headers"].as_object().unwrap().iter();
    let headers = headers.map(|(name, value)| match &**name {
        // `explain` masks the credential.
        "authorization" => (name.clone(), "[secret]".to_owned()),
        _ => (name.clone(), text(value)),
    });
    without_own_id((text(&record["method"]), url, headers.collect()))
}

/// Removes the request id, which is different for each request.
fn without_own_id((method, url, mut headers): SentRequest) -> SentRequest {
    let id = headers.remove("x-request-id");
    assert!(id.is_some(), "{headers:?}");
    (method, url, headers)
}

//! Tests of callbacks of vendors: where a create names the gateway's URL, and how a vendor confirms it.

use crate::harness::http_response::json_response;
use crate::harness::receiver::CallbackSetup;
use crate::harness::vendors::{VendorCallbacks, vendors};
use crate::harness::video::{GENERIC, id_of};
use crate::harness::{Request, ScriptedProvider, ScriptedResponse, eventually};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const CREATE: &str = r#"{"prompt": "a gate", "duration": 6}"#;

/// Adds the channel `vendor` with the model `of-vendor`.
fn add_vendor(config: &mut Value, base_url: &str, family: &str, channel_model: &str) {
    config["channels"]["vendor"] = json!({
        "base_url": base_url, "protocols": ["video"], "family": family,
        "credential": {"bearer": "vendor-key"}, "models": {"of-vendor": channel_model},
    });
}

fn create(callback_url: &str) -> Request {
    let mut body: Value = serde_json::from_str(CREATE).unwrap();
    body["model"] = json!("of-vendor");
    body["callback_url"] = json!(callback_url);
    Request::post(GENERIC, body.to_string())
}

#[tokio::test]
async fn the_callbacks_of_every_vendor_lead_to_the_events_of_the_caller() {
    let mut setup = CallbackSetup::start("queue=5m").await;
    for vendor in vendors() {
        let base = format!(
            "http://{}/~queue=0ms;run=300ms/vendor/{}",
            setup.simulator.address, vendor.base
        );
        setup.config["channels"][vendor.family] = json!({
            "base_url": base, "protocols": ["video"], "family": vendor.family,
            "credential": vendor.credential.config(), "models": {vendor.family: vendor.model},
        });
    }
    setup.gateway.reload(&setup.config).await;
    let mut accepted = 0.0;
    for vendor in vendors() {
        let name = vendor.family;
        // Those that are signed have tests of their own.
        if vendor.callbacks == VendorCallbacks::Signed {
            continue;
        }
        let mut body = vendor.create.clone();
        body["model"] = json!(name);
        body["callback_url"] = json!(setup.receiver.url(&format!("/{name}")));
        let created = setup
            .gateway
            .ask(&Request::post(GENERIC, body.to_string()))
            .await;
        assert_eq!(created.status, 200, "{name}: {}", created.text());
        let sent = setup.simulator.last_create_body().await;
        let sent = String::from_utf8_lossy(&sent).into_owned();
        let receiver = setup.receiver.url("");
        assert!(!sent.contains(&receiver), "{name}: {sent}");
        let is_called_back = vendor.callbacks != VendorCallbacks::Never;
        let has_url = sent.contains("/_headgate/callback/");
        assert_eq!(has_url, is_called_back, "{name}: {sent}");
        if !is_called_back {
            continue;
        }
        let id = id_of(GENERIC, &created);
        eventually(&format!("the end of the task of {name}"), async || {
            let events = setup.receiver.events();
            let mut events = events.iter().map(|event| event.json());
            events.find(|event| event["task_id"] == *id && event["status"] == "succeeded")
        })
        .await;
        let metrics = setup.gateway.metrics().await;
        let labels = [("result", "accepted")];
        let now_accepted = metrics.sum("headgate_callbacks_received_total", &labels);
        assert!(now_accepted > accepted, "{name}");
        accepted = now_accepted;
    }
}

#[tokio::test]
async fn a_challenge_is_sent_back_only_for_the_token_of_such_a_vendor() {
    let mut setup = CallbackSetup::start("queue=5m;callback_fault=lost").await;
    let base = format!(
        "http://{}/~queue=5m/vendor/minimax",
        setup.simulator.address
    );
    add_vendor(&mut setup.config, &base, "minimax", "MiniMax-Hailuo-02");
    setup.gateway.reload(&setup.config).await;
    setup
        .gateway
        .ask(&create(&setup.receiver.url("/done")))
        .await;
    let sent: Value = serde_json::from_slice(&setup.simulator.last_create_body().await).unwrap();
    let url = sent["callback_url"].as_str().unwrap_or_default().to_owned();
    let token = url.rsplit('/').next().unwrap().to_owned();
    setup.create(GENERIC, "demo-video-a").await;
    let of_family_a = setup.provider_token().await;
    let long = "x".repeat(2_000);
    for (token, body, status, returned) in [
        (
            &*token,
            json!({"challenge": "a\"b"}),
            200,
            json!({"challenge": "a\"b"}),
        ),
        (&*token, json!({"challenge": long}), 200, json!({})),
        (&*token, json!({"challenge": {"a": 1}}), 200, json!({})),
        (&*of_family_a, json!({"challenge": "a"}), 200, json!({})),
        ("forged", json!({"challenge": "a"}), 404, Value::Null),
    ] {
        let path = format!("/_headgate/callback/{token}");
        let request = Request::post(&path, body.to_string()).without("authorization");
        let answer = setup.gateway.ask(&request).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        if status == 200 {
            assert_eq!(answer.json(), returned, "{body}");
        }
    }
}

#[tokio::test]
async fn the_urls_place_is_the_familys() {
    let accepted = r#"{"id": "t-1", "request_id": "t-1", "response_url": "URL/x/requests/t-1", "status": "starting"}"#;
    for (family, model, query, member) in [
        ("replicate", "owner/name", None, Some("webhook")),
        ("fal", "fal-ai/some-model", Some("fal_webhook="), None),
        ("luma", "ray-2", None, Some("callback_url")),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let body = accepted.replace("URL", &base);
        let response = json_response(200, body);
        let provider = ScriptedProvider::on(listener, vec![ScriptedResponse::Send(response)]);
        let setup = CallbackSetup::with("queue=5m", |config| {
            add_vendor(config, &base, family, model);
        })
        .await;
        let mut create = create(&setup.receiver.url("/done"));
        let body = json!({
            "model": "of-vendor", "prompt": "a gate", "callback_url": setup.receiver.url("/done"),
        });
        create.body = Some(body.to_string().into_bytes());
        let answer = setup.gateway.ask(&create).await;
        assert_eq!(answer.status, 200, "{family}: {}", answer.text());
        let request = provider.requests().pop().unwrap();
        let (head, sent) = request.split_once("\r\n\r\n").unwrap();
        let gateways = "/_headgate/callback/";
        if let Some(query) = query {
            let line = head.lines().next().unwrap();
            assert!(
                line.matches(query).count() == 1 && line.contains("_headgate"),
                "{family}: {line}"
            );
        }
        if let Some(member) = member {
            let sent: Value = serde_json::from_str(sent).unwrap();
            let url = sent[member].as_str().unwrap_or_default();
            assert!(url.contains(gateways), "{family}: {sent}");
        }
        let receiver = setup.receiver.url("/done");
        assert!(!request.contains(&receiver), "{family}: {request}");
    }
}

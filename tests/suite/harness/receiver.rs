//! A receiver of deliveries, and the gateway that delivers to it.

use super::config::admin_keys;
use super::free_port::free_port;
use super::video::video_config;
use super::{
    Gateway, PATIENCE, ScriptedProvider, ScriptedResponse, Simulator, WholeResponse, eventually,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The webhook secrets of the caller `ann`.
pub const SECRETS: [&str; 2] = [
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=",
];

/// A gateway that providers can call back, the provider, and a receiver.
pub struct CallbackSetup {
    pub gateway: Gateway,
    pub simulator: Simulator,
    pub receiver: Receiver,
    pub config: Value,
}

/// A server that deliveries are sent to.
pub struct Receiver(pub ScriptedProvider);

/// A delivery as it arrived.
#[derive(Clone, Debug)]
pub struct ReceivedEvent {
    pub id: String,
    pub timestamp: u64,
    pub signatures: Vec<String>,
    pub body: String,
}

impl CallbackSetup {
    pub async fn start(directives: &str) -> Self {
        Self::with(directives, |_| {}).await
    }

    /// Starts with a changed configuration.
    pub async fn with(directives: &str, change: impl FnOnce(&mut Value)) -> Self {
        let simulator = Simulator::start().await;
        let receiver = Receiver::responding("200 OK").await;
        let mut config = callback_config(&simulator, directives);
        change(&mut config);
        Self {
            gateway: Gateway::start(&config).await,
            simulator,
            receiver,
            config,
        }
    }

    /// The token that the provider got with its last create of family A.
    pub async fn provider_token(&self) -> String {
        let records = self.simulator.records().await;
        let mut creates = records
            .iter()
            .filter(|record| record["endpoint"] == "family_a.create");
        let n = creates.next_back().unwrap()["n"].clone();
        let body: Value = serde_json::from_slice(&self.simulator.body(&n).await).unwrap();
        let url = body["callback_url"].as_str().unwrap().to_owned();
        url.rsplit('/').next().unwrap().to_owned()
    }

    /// Calls back with a token, as a provider does.
    pub async fn call_back(&self, token: &str) -> WholeResponse {
        let body = json!({"id": "cgt-1", "status": "succeeded"}).to_string();
        let request = super::Request::post(&format!("/_headgate/callback/{token}"), body);
        self.gateway.ask(&request.without("authorization")).await
    }

    /// Creates a task whose status changes go to a path of the receiver.
    pub async fn create(&self, path: &str, model: &str) -> String {
        let url = self.receiver.url("/done?for=1");
        create_with_callback(&self.gateway, path, model, &url).await
    }
}

/// A configuration of a gateway that calls back to addresses of the machine itself.
pub fn callback_config(simulator: &Simulator, directives: &str) -> Value {
    let mut config = video_config(simulator, directives);
    let listen = free_address();
    config["server"]["listen"] = json!(listen.to_string());
    config["server"]["public_url"] = json!(format!("http://{listen}"));
    config["server"]["admin_keys"] = admin_keys();
    config["egress"] = json!({"allow": ["127.0.0.1"]});
    config["callers"][0]["webhook_secrets"] = json!(SECRETS);
    for route in config["routes"].as_array_mut().unwrap() {
        let filters = route["request"].as_array_mut().unwrap();
        let creates = filters
            .iter()
            .position(|filter| filter["map_task"]["operation"] == "create");
        if let Some(at) = creates {
            filters.insert(at, json!("callbacks"));
        }
    }
    config["routes"].as_array_mut().unwrap().push(json!({
        "name": "callback", "match": "POST /_headgate/callback/{token}", "request": ["receive_callback"],
    }));
    config
}

/// A script: responds with this status line, and with the header fields after it, and without a body.
pub fn respond(head: &str) -> Vec<ScriptedResponse> {
    let response = format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n");
    vec![ScriptedResponse::Send(response.into())]
}

/// A script: never responds.
pub fn hang() -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Wait(Duration::from_secs(600))]
}

/// Sets the filter `callbacks` of all routes.
pub fn set_callbacks_filter(config: &mut Value, settings: &Value) {
    for route in config["routes"].as_array_mut().unwrap() {
        for filter in route["request"].as_array_mut().unwrap() {
            if *filter == "callbacks" {
                *filter = json!({"callbacks": settings});
            }
        }
    }
}

/// Waits until an attempt to deliver has failed and is to be repeated.
pub async fn has_retried(gateway: &Gateway) {
    eventually("a failed attempt to deliver", async || {
        let metrics = gateway.metrics().await;
        let retried = metrics.sum("headgate_deliveries_total", &[("outcome", "retried")]);
        (retried > 0.0).then_some(())
    })
    .await;
}

/// An address that nothing listens on yet.
pub fn free_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, free_port()).into()
}

/// Creates a task with a callback URL; returns its id.
pub async fn create_with_callback(gateway: &Gateway, path: &str, model: &str, url: &str) -> String {
    let mut body = super::video::create_body(path, model);
    body["callback_url"] = json!(url);
    let made = gateway
        .ask(&super::Request::post(path, body.to_string()))
        .await;
    assert_eq!(made.status, 200, "{path}: {}", made.text());
    super::video::id_of(path, &made)
}

impl Receiver {
    /// Responds to every delivery with this status line.
    pub async fn responding(status: &str) -> Self {
        Self(ScriptedProvider::start(respond(status)).await)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.address)
    }

    pub fn events(&self) -> Vec<ReceivedEvent> {
        self.0
            .requests()
            .iter()
            .map(|request| ReceivedEvent::of(request))
            .collect()
    }

    /// The events, once there are as many.
    pub async fn wait_for(&self, count: usize) -> Vec<ReceivedEvent> {
        eventually(
            &format!("{count} deliveries within {PATIENCE:?}"),
            async || {
                let events = self.events();
                (events.len() >= count).then_some(events)
            },
        )
        .await
    }
}

impl ReceivedEvent {
    fn of(request: &str) -> Self {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let header = |name: &str| {
            let mut lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
            let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map_or_else(String::new, |(_, value)| value.trim().to_owned())
        };
        Self {
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp").parse().unwrap(),
            signatures: header("webhook-signature")
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            body: body.to_owned(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Whether one of the signatures is that of `secret`.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD
            .decode(secret.strip_prefix("whsec_").unwrap())
            .unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.update(format!("{}.{}.{}", self.id, self.timestamp, self.body).as_bytes());
        let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.signatures.contains(&expected)
    }
}

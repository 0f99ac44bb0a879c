//! Vendors that sign their callbacks, and a mailbox that takes them in place of the gateway.

use super::receiver::{CallbackSetup, Receiver};
use super::video::{GENERIC, id_of};
use super::{Connection, Request, Simulator, WholeResponse, eventually};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

const HMAC_SECRET: &str = "a-secret-of-the-tests";
pub const FAL: &str = "x-fal-webhook-signature";
pub const REPLICATE: &str = "webhook-signature";

/// A gateway with signed vendors, whose callbacks arrive at a mailbox of the test, which may pass them on.
pub struct SignedVendors {
    pub setup: CallbackSetup,
    pub mailbox: Receiver,
}

/// A callback as its vendor sent it.
#[derive(Clone)]
pub struct VendorCallback {
    pub token: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// The signing secret of the simulated Replicate.
async fn replicate_secret(simulator: &Simulator) -> String {
    let path = "/vendor/replicate/v1/webhooks/default/secret";
    let request = Request::get(path).without("authorization");
    let request = request.header("Authorization", "Bearer vendor-key");
    let answer = Connection::to(simulator.address).await.ask(&request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["key"].as_str().unwrap().to_owned()
}

pub fn fal_signature(jwks: &str) -> Value {
    json!({
        "kind": "ed25519", "jwks": jwks, "header": FAL, "timestamp": "x-fal-webhook-timestamp",
        "signed": "{x-fal-webhook-request-id}\n{x-fal-webhook-user-id}\n{x-fal-webhook-timestamp}\n{body_sha256}",
    })
}

/// Adds a channel for each kind of signature; its models have the names of the families.
pub fn add_channels(config: &mut Value, simulator: &Simulator, secrets: &Value, jwks: &str) {
    config["families"] = json!({
        "fal": {"callback": {"signature": fal_signature(jwks), "task_id": "/request_id"}},
        "plain": {"extends": "replicate", "callback": {
            "signature": {"kind": "hmac_sha256", "header": "x-signature", "prefix": "sha256="},
            "task_id": "/id",
        }},
    });
    for (family, base, credential, model, secrets) in [
        ("fal", "fal", "Key vendor-key", "fal-ai/veo3.1", None),
        (
            "replicate",
            "replicate/v1",
            "Bearer vendor-key",
            "google/veo-3.1",
            Some(secrets.clone()),
        ),
        (
            "plain",
            "replicate/v1",
            "Bearer vendor-key",
            "google/veo-3.1",
            Some(json!(["old", HMAC_SECRET])),
        ),
    ] {
        let base = format!(
            "http://{}/~queue=0ms;run=100ms/vendor/{base}",
            simulator.address
        );
        config["channels"][family] = json!({
            "base_url": base, "protocols": ["video"], "family": family, "models": {family: model},
            "credential": {"header": {"name": "authorization", "value": credential}},
        });
        if let Some(secrets) = secrets {
            config["channels"][family]["callback_secrets"] = secrets;
        }
    }
}

impl SignedVendors {
    pub async fn start(change: impl FnOnce(&mut Value)) -> Self {
        let mailbox = Receiver::responding("200 OK").await;
        let setup = CallbackSetup::start("").await;
        let mut vendors = Self { setup, mailbox };
        let simulator = &vendors.setup.simulator;
        let secrets = json!([replicate_secret(simulator).await]);
        let jwks = format!(
            "http://{}/vendor/fal/.well-known/jwks.json",
            simulator.address
        );
        let mut config = vendors.setup.config.clone();
        add_channels(&mut config, simulator, &secrets, &jwks);
        config["server"]["public_url"] = json!(vendors.mailbox.url(""));
        change(&mut config);
        vendors.setup.gateway.reload(&config).await;
        vendors.setup.config = config;
        vendors
    }

    /// Creates a task at a vendor; the id of its caller, and the last callback, which reports its end.
    pub async fn created(&self, family: &str) -> (String, VendorCallback) {
        let body = json!({
            "model": family, "prompt": "a gate", "duration": 8, "ratio": "16:9",
            "callback_url": self.setup.receiver.url("/done"),
        });
        let before = self.mailbox.0.requests().len();
        let created = self
            .setup
            .gateway
            .ask(&Request::post(GENERIC, body.to_string()))
            .await;
        assert_eq!(created.status, 200, "{family}: {}", created.text());
        let id = id_of(GENERIC, &created);
        let callback = eventually("the last callback", async || {
            let requests = self.mailbox.0.requests();
            let last = requests[before..].last()?;
            let is_end = ["\"OK\"", "succeeded"]
                .iter()
                .any(|word| last.contains(word));
            is_end.then(|| VendorCallback::received(last))
        })
        .await;
        let callback = match family {
            "plain" => callback.signed_plainly(HMAC_SECRET),
            _ => callback,
        };
        (id, callback)
    }

    pub async fn send(&self, callback: &VendorCallback) -> WholeResponse {
        let path = format!("/_headgate/callback/{}", callback.token);
        let request = Request::post(&path, callback.body.clone()).without("authorization");
        let request = callback
            .headers
            .iter()
            .fold(request, |request, (name, value)| {
                request.header(name, value)
            });
        self.setup.gateway.ask(&request).await
    }

    pub async fn received(&self, result: &str) -> f64 {
        let metrics = self.setup.gateway.metrics().await;
        metrics.sum("headgate_callbacks_received_total", &[("result", result)])
    }

    /// The number of queries of any task.
    pub async fn queries(&self) -> usize {
        let records = self.setup.simulator.records().await;
        let is_query = |record: &&Value| {
            let endpoint = record["endpoint"].as_str();
            endpoint.is_some_and(|name| name.ends_with(".query"))
        };
        records.iter().filter(is_query).count()
    }
}

impl VendorCallback {
    pub fn received(request: &str) -> Self {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let path = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.filter(|(name, _)| name.contains("webhook"));
        Self {
            token: path.rsplit('/').next().unwrap().to_owned(),
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect(),
            body: body.to_owned(),
        }
    }

    /// With the signature of a plain HMAC over the body instead.
    fn signed_plainly(mut self, secret: &str) -> Self {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(self.body.as_bytes());
        let signature = mac.finalize().into_bytes();
        let value = format!("sha256={signature:x}");
        self.headers = vec![("x-signature".into(), value)];
        self
    }

    pub fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub fn with(&self, name: &str, value: impl Into<String>) -> Self {
        let mut changed = self.clone();
        changed.headers.retain(|(known, _)| known != name);
        changed.headers.push((name.to_owned(), value.into()));
        changed
    }

    pub fn without(&self, name: &str) -> Self {
        let mut changed = self.clone();
        changed.headers.retain(|(known, _)| known != name);
        changed
    }
}

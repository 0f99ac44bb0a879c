//! Tests of vendors' callbacks, which a receiver on a real socket gets: challenges and signatures among them.

use super::vendor_fixtures::{VendorFixture, vendors};
use super::vendors::vendor_request;
use super::{send, simulator};
use crate::vendors::callback_keys::{hex, hmac_sha256};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A received callback: its headers as one text, and its body.
struct ReceivedCallback {
    head: String,
    body: Value,
}

/// A receiver that returns challenges, or that answers `{}` to everything.
struct CallbackReceiver {
    listener: TcpListener,
    returns_challenges: bool,
}

impl CallbackReceiver {
    async fn new(returns_challenges: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self {
            listener,
            returns_challenges,
        }
    }

    fn url(&self) -> String {
        format!("http://{}/hook", self.listener.local_addr().unwrap())
    }

    async fn next(&self) -> ReceivedCallback {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut received = Vec::new();
        loop {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            received.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&received).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let Ok(body) = serde_json::from_str::<Value>(body) else {
                continue;
            };
            let answer = match body.get("challenge") {
                Some(challenge) if self.returns_challenges => json!({"challenge": challenge}),
                _ => json!({}),
            };
            let answer = answer.to_string();
            let length = answer.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{answer}");
            stream.write_all(answer.as_bytes()).await.unwrap();
            return ReceivedCallback {
                head: head.to_owned(),
                body,
            };
        }
    }
}

fn vendor(name: &str) -> VendorFixture {
    let found = vendors().into_iter().find(|vendor| vendor.name == name);
    found.unwrap_or_else(|| panic!("no vendor {name}"))
}

/// Creates a task whose end is called back at once.
async fn create(vendor: &VendorFixture, member: &str, url: &str, directives: &str) {
    let mut body = vendor.body.clone();
    body[member] = url.into();
    let directives = format!("queue=0;run=0;{directives}");
    let request = vendor_request(vendor, &directives, ("POST", vendor.create), &body);
    let answer = send(&simulator(), request).await;
    assert!(
        answer.json().pointer(vendor.id_at).is_some(),
        "{}",
        answer.json()
    );
}

#[tokio::test]
async fn a_receiver_that_returns_the_challenge_gets_the_end_of_the_task() {
    for (name, word_at, word) in [
        ("minimax", "/status", "success"),
        ("minimax-v2", "/task/status", "succeeded"),
    ] {
        let vendor = vendor(name);
        let receiver = CallbackReceiver::new(true).await;
        create(&vendor, "callback_url", &receiver.url(), "").await;
        assert!(
            receiver.next().await.body["challenge"].is_string(),
            "{name}"
        );
        let ended = receiver.next().await;
        assert_eq!(
            ended.body.pointer(word_at),
            Some(&word.into()),
            "{name}: {}",
            ended.head
        );
    }
}

#[tokio::test]
async fn a_receiver_that_does_not_return_the_challenge_gets_nothing_else() {
    let vendor = vendor("minimax");
    let receiver = CallbackReceiver::new(false).await;
    create(&vendor, "callback_url", &receiver.url(), "").await;
    assert!(receiver.next().await.body["challenge"].is_string());
    // What would follow comes at once, before the challenge of the next task.
    create(&vendor, "callback_url", &receiver.url(), "").await;
    assert!(receiver.next().await.body["challenge"].is_string());
}

/// The header `name` of a callback.
fn header<'c>(callback: &'c ReceivedCallback, name: &str) -> &'c str {
    let mut lines = callback
        .head
        .lines()
        .filter_map(|line| line.split_once(": "));
    let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
    found
        .unwrap_or_else(|| panic!("no {name} in {}", callback.head))
        .1
}

async fn keys(vendor: &VendorFixture, path: &str) -> Value {
    let request = vendor_request(vendor, "", ("GET", path), &Value::Null);
    send(&simulator(), request).await.json()
}

#[tokio::test]
async fn callbacks_of_fal_are_signed_with_the_key_that_its_key_set_has() {
    let vendor = vendor("fal");
    let receiver = CallbackReceiver::new(false).await;
    for (directives, status) in [("", "OK"), ("ends=failed", "ERROR")] {
        let path = format!("{}?fal_webhook={}", vendor.create, receiver.url());
        let directives = format!("queue=0;run=0;{directives}");
        let request = vendor_request(&vendor, &directives, ("POST", &path), &vendor.body);
        send(&simulator(), request).await;
        let callback = receiver.next().await;
        assert_eq!(callback.body["status"], status);
        let lines = ["request-id", "user-id", "timestamp"];
        let lines = lines.map(|name| header(&callback, &format!("x-fal-webhook-{name}")));
        let digest = hex(&Sha256::digest(callback.body.to_string()));
        let message = format!("{}\n{digest}", lines.join("\n"));
        let set = keys(&vendor, "/.well-known/jwks.json").await;
        let key = URL_SAFE_NO_PAD
            .decode(set["keys"][0]["x"].as_str().unwrap())
            .unwrap();
        let signature = header(&callback, "x-fal-webhook-signature");
        let signature: Vec<u8> = (0..signature.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&signature[at..at + 2], 16).unwrap())
            .collect();
        let key = UnparsedPublicKey::new(&ED25519, key);
        assert!(
            key.verify(message.as_bytes(), &signature).is_ok(),
            "{}",
            callback.head
        );
    }
}

#[tokio::test]
async fn callbacks_of_replicate_are_signed_with_the_account_s_secret_and_filtered_by_event() {
    let vendor = vendor("replicate");
    let secret = keys(&vendor, "/v1/webhooks/default/secret").await["key"].clone();
    let secret = secret.as_str().unwrap().strip_prefix("whsec_").unwrap();
    let secret = STANDARD.decode(secret).unwrap();
    let receiver = CallbackReceiver::new(false).await;
    let mut body = vendor.body.clone();
    body["webhook"] = receiver.url().into();
    body["webhook_events_filter"] = json!(["completed"]);
    let request = vendor_request(&vendor, "queue=50ms;run=0", ("POST", vendor.create), &body);
    send(&simulator(), request).await;
    // The task lives in the simulator above, which is gone: the callback's own reference keeps its store.
    let callback = receiver.next().await;
    assert_eq!(callback.body["status"], "succeeded");
    let (id, timestamp) = (
        header(&callback, "webhook-id"),
        header(&callback, "webhook-timestamp"),
    );
    let text = format!("{id}.{timestamp}.{}", callback.body);
    let expected = STANDARD.encode(hmac_sha256(&secret, text.as_bytes()));
    assert_eq!(
        header(&callback, "webhook-signature"),
        format!("v1,{expected}")
    );
}

#[tokio::test]
async fn other_vendors_call_back_without_a_signature_or_with_that_of_the_create_s_secret() {
    for (name, member, word_at, word) in [
        ("kling", "callback_url", "/task_status", "succeed"),
        ("luma", "callback_url", "/state", "completed"),
        ("vidu", "callback_url", "/state", "success"),
        ("flux3", "webhook_url", "/status", "Ready"),
    ] {
        let vendor = vendor(name);
        let receiver = CallbackReceiver::new(false).await;
        create(&vendor, member, &receiver.url(), "").await;
        let ended = receiver.next().await;
        assert_eq!(
            ended.body.pointer(word_at),
            Some(&word.into()),
            "{name}: {}",
            ended.body
        );
    }
    let flux = vendor("flux3");
    let receiver = CallbackReceiver::new(false).await;
    let mut body = flux.body.clone();
    body["webhook_url"] = receiver.url().into();
    body["webhook_secret"] = "shared".into();
    let request = vendor_request(&flux, "queue=0;run=0", ("POST", flux.create), &body);
    send(&simulator(), request).await;
    let ended = receiver.next().await;
    let expected = hex(&hmac_sha256(b"shared", ended.body.to_string().as_bytes()));
    assert_eq!(header(&ended, "x-bfl-signature"), expected);
    let vendor = vendor("gemini-omni");
    let receiver = CallbackReceiver::new(false).await;
    let mut body = vendor.body.clone();
    body["webhook_config"] = json!({"uris": [receiver.url()]});
    let request = vendor_request(&vendor, "queue=0;run=0", ("POST", vendor.create), &body);
    send(&simulator(), request).await;
    assert_eq!(receiver.next().await.body["type"], "interaction.completed");
}

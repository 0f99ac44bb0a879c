//! Tests of vendors' callbacks, which a receiver on a real socket gets: challenges and signatures among them.

use super::vendor_fixtures::{VendorFixture, vendors};
use super::vendors::vendor_request;
use super::{send, simulator};
use serde_json::{Value, json};
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

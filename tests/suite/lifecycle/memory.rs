//! Tests of the memory that a process gives back to the system.

use crate::harness::{Request, TestSetup, eventually};
use headgate_protocol::Protocol;
use serde_json::json;
use tokio::task::JoinSet;

const MIB: usize = 1 << 20;
const BODIES: usize = 16;
const BODY_BYTES: usize = 2 * MIB;
/// What may stay of [`BODIES`]: freed memory that is kept for the next burst, and what threads keep for themselves.
const LEFT_MAX: u64 = 12 * MIB as u64;

#[tokio::test]
async fn what_a_burst_of_large_bodies_took_goes_back_without_a_further_request() {
    let setup = TestSetup::start().await;
    assert_eq!(setup.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let before = setup.gateway.process.anonymous_bytes();
    let content = "x".repeat(BODY_BYTES);
    let body = json!({"model": "demo-large", "messages": [{"role": "user", "content": content}]})
        .to_string();
    // The provider waits, so that all bodies are in memory at the same time.
    let request = Request::to(Protocol::Chat, body).simulate("delay=2s");
    let mut asking = JoinSet::new();
    for _ in 0..BODIES {
        let mut connection = setup.gateway.connect().await;
        let bytes = request.bytes();
        asking.spawn(async move {
            connection.send(&bytes).await.unwrap();
            connection.answer().await.unwrap().status
        });
    }
    let grown = || {
        let bytes = setup.gateway.process.anonymous_bytes();
        bytes.saturating_sub(before)
    };
    let taken = async || (grown() > (BODIES * BODY_BYTES) as u64).then_some(());
    eventually("all bodies in memory", taken).await;
    for status in asking.join_all().await {
        assert_eq!(status, 200);
    }
    eventually("the memory's return", async || {
        (grown() < LEFT_MAX).then_some(())
    })
    .await;
}

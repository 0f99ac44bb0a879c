//! Callers and receivers that do not delay the deliveries of others.

use crate::harness::receiver::{CallbackSetup, create_with_callback};
use crate::harness::request::BOB;
use crate::harness::video::{GENERIC, create_body};
use crate::harness::{Request, ScriptedProvider, ScriptedResponse, eventually};
use serde_json::json;
use std::time::{Duration, Instant};

const HANGING: usize = 20;
const TASKS_EACH: usize = 9;
/// The attempts of one caller at the same time.
const OF_OWNER: usize = 64;

#[tokio::test]
async fn a_caller_with_many_receivers_that_hang_delays_no_other() {
    let setup = CallbackSetup::start("queue=2s;run=5m").await;
    let mut hanging = Vec::new();
    for _ in 0..HANGING {
        hanging.push(ScriptedProvider::start(vec![ScriptedResponse::Hang]).await);
    }
    for receiver in &hanging {
        for _ in 0..TASKS_EACH {
            let url = format!("http://{}/x", receiver.address);
            create_with_callback(&setup.gateway, GENERIC, "demo-video-a", &url).await;
        }
    }
    // An attempt has a connection of its own, and hangs until the gateway closes it.
    let open = || -> usize { hanging.iter().map(ScriptedProvider::open).sum() };
    eventually("a caller has as many attempts as it may have", async || {
        (open() >= OF_OWNER).then_some(())
    })
    .await;
    // The end of an attempt may be seen here after the next one began.
    let mut open_then = usize::MAX;
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        open_then = open_then.min(open());
    }
    assert!(open_then <= OF_OWNER, "{open_then}");
    let mut body = create_body(GENERIC, "demo-video-a");
    body["callback_url"] = json!(setup.receiver.url("/bob"));
    let request = Request::post(GENERIC, body.to_string()).key(BOB);
    let made = setup.gateway.ask(&request).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let began = Instant::now();
    setup.receiver.wait_for(1).await;
    let delivered_after = began.elapsed();
    println!(
        "callbacks: {open_then} attempts at once at {HANGING} hanging receivers of one caller; the event of another after {delivered_after:?}, {:?} of it in the queue of the provider",
        Duration::from_secs(2)
    );
    assert!(
        delivered_after < Duration::from_secs(12),
        "{delivered_after:?}"
    );
}

#[tokio::test]
async fn a_response_without_an_end_is_a_delivery() {
    let setup = CallbackSetup::start("queue=1s;run=5m").await;
    let unfinished = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    setup.receiver.0.next(vec![
        ScriptedResponse::Send(unfinished.into()),
        ScriptedResponse::Wait(Duration::from_secs(60)),
    ]);
    setup.create(GENERIC, "demo-video-a").await;
    setup.receiver.wait_for(1).await;
    eventually("the delivery is counted", async || {
        let metrics = setup.gateway.metrics().await;
        let count = |outcome| metrics.sum("headgate_deliveries_total", &[("outcome", outcome)]);
        assert_eq!(count("retried"), 0.0);
        (count("delivered") == 1.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_end_that_is_called_back_during_a_query_is_delivered_at_once() {
    let setup = CallbackSetup::start("queue=100ms;run=300ms;slow_query=700ms").await;
    setup.create(GENERIC, "demo-video-a").await;
    let began = Instant::now();
    eventually("the end", async || {
        let events = setup.receiver.events();
        events
            .iter()
            .any(|event| event.json()["status"] == "succeeded")
            .then_some(())
    })
    .await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

//! What receivers do, and how often each event is delivered to them: with counts.

use crate::harness::receiver::{CallbackSetup, Receiver, create_with_callback, hang, respond};
use crate::harness::video::GENERIC;
use crate::harness::{ScriptedResponse, eventually};
use std::collections::BTreeSet;

/// What a receiver does with the first attempts, how many follow, and how long after the first one at least.
struct ReceiverCase {
    name: &'static str,
    first: Vec<Vec<ScriptedResponse>>,
    attempts: usize,
    seconds_apart: u64,
    is_redriven: bool,
}

fn cases() -> Vec<ReceiverCase> {
    let case = |name, first: Vec<Vec<ScriptedResponse>>, seconds_apart| ReceiverCase {
        name,
        attempts: first.len() + 1,
        first,
        seconds_apart,
        is_redriven: false,
    };
    vec![
        case("accepts", vec![], 0),
        case("fails", vec![respond("500 Internal Server Error")], 5),
        case("resets", vec![vec![ScriptedResponse::Reset]], 5),
        case("hangs", vec![hang()], 19),
        case(
            "redirects",
            vec![respond(
                "307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/x",
            )],
            5,
        ),
        case(
            "sends Retry-After",
            vec![respond("503 Service Unavailable\r\nRetry-After: 9")],
            9,
        ),
        ReceiverCase {
            is_redriven: true,
            ..case("is gone", vec![respond("410 Gone")], 0)
        },
    ]
}

#[tokio::test]
async fn each_event_arrives_at_receivers_that_fail_hang_redirect_are_gone_and_come_back() {
    let setup = CallbackSetup::start("queue=2s;run=5m").await;
    let (mut events, mut attempts, mut ids) = (0, 0, BTreeSet::new());
    let mut receivers = Vec::new();
    for case in cases() {
        let receiver = Receiver::responding("200 OK").await;
        for script in &case.first {
            receiver.0.next(script.clone());
        }
        let url = receiver.url("/done");
        create_with_callback(&setup.gateway, GENERIC, "demo-video-a", &url).await;
        receivers.push((case, receiver));
    }
    for (case, receiver) in receivers {
        if case.is_redriven {
            let id = receiver.wait_for(1).await[0].id.clone();
            let path = format!("/callbacks/redrive?id={id}");
            eventually("the dead letter", async || {
                let redriven = setup.gateway.page("POST", &path).await;
                (redriven.status == 200).then_some(())
            })
            .await;
        }
        let received = receiver.wait_for(case.attempts).await;
        assert!(
            received.iter().all(|event| event.id == received[0].id),
            "{}",
            case.name
        );
        assert!(
            received.iter().all(|event| event.body == received[0].body),
            "{}",
            case.name
        );
        let apart = received[received.len() - 1].timestamp - received[0].timestamp;
        assert!(apart >= case.seconds_apart, "{}: {apart} s", case.name);
        println!(
            "callbacks: a receiver that {}: 1 event, {} attempts, {apart} s apart",
            case.name,
            received.len()
        );
        events += 1;
        attempts += received.len();
        ids.insert(received[0].id.clone());
    }
    assert_eq!(ids.len(), events);
    let metrics = eventually("the counts", async || {
        let metrics = setup.gateway.metrics().await;
        let count = |outcome| metrics.sum("headgate_deliveries_total", &[("outcome", outcome)]);
        (count("delivered") == events as f64).then_some((count("retried"), count("dead_letter")))
    })
    .await;
    assert_eq!(metrics, (5.0, 1.0));
    println!("callbacks: {events} events, {attempts} attempts, {events} delivered, 0 lost");
}

//! Tests of the directives that apply to streams.

use super::{DELTA_AT, post, receive, request, simulator, streams, wholes};
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, timeout};

#[tokio::test(start_paused = true)]
async fn delay_comes_before_the_head_and_pace_between_events() {
    let simulator = simulator();
    for (path, body) in streams("delay=700ms;pace=100ms;events=6") {
        let start = Instant::now();
        let response = simulator
            .respond(request("POST", &path, body.to_string()))
            .await;
        assert_eq!(start.elapsed().as_millis(), 700, "{path}");
        receive(response).await;
        assert_eq!(start.elapsed().as_millis(), 1200, "{path}");
    }
}

#[tokio::test]
async fn sizes_are_kept_to_the_byte() {
    let simulator = simulator();
    for ((path, body), delta_at) in streams("events=7;event_bytes=33").into_iter().zip(DELTA_AT) {
        let seen = post(&simulator, &path, &body).await;
        let deltas: Vec<_> = seen
            .events()
            .iter()
            .filter_map(|(_, data)| Some(data.pointer(delta_at)?.as_str()?.len()))
            .filter(|length| *length > 0)
            .collect();
        assert_eq!(deltas.iter().sum::<usize>(), 7 * 33, "{path}");
        assert_eq!(deltas.len(), 7, "{path}");
    }
    let [(path, body), ..] = wholes("body_bytes=5000");
    let text = &post(&simulator, &path, &body).await.json()["choices"][0]["message"]["content"];
    assert_eq!(text.as_str().unwrap().len(), 5000);
}

#[tokio::test]
async fn a_stream_ends_after_so_many_events_or_bytes_as_if_that_were_all() {
    let simulator = simulator();
    for (path, body) in streams("end_after_events=2") {
        let seen = post(&simulator, &path, &body).await;
        assert!(!seen.was_cut, "{path}");
        assert_eq!(seen.events().len(), 2, "{path}");
    }
    for bytes in [0, 1, 100, 300] {
        for (path, body) in streams(&format!("end_after_bytes={bytes}")) {
            let seen = post(&simulator, &path, &body).await;
            assert_eq!((seen.was_cut, seen.body.len()), (false, bytes), "{path}");
        }
    }
}

#[tokio::test]
async fn cut_after_breaks_a_stream_after_so_many_content_events() {
    let simulator = simulator();
    for ((path, body), delta_at) in streams("cut_after=2;event_bytes=10")
        .into_iter()
        .zip(DELTA_AT)
    {
        let seen = post(&simulator, &path, &body).await;
        assert!(seen.was_cut, "{path}");
        assert_eq!(seen.joined(delta_at).len(), 20, "{path}");
    }
    for (path, body) in streams("cut_after=1000")
        .into_iter()
        .chain(wholes("cut_after=3"))
    {
        assert!(post(&simulator, &path, &body).await.was_cut, "{path}");
    }
}

#[tokio::test]
async fn an_error_event_comes_first_or_later_and_ends_the_stream() {
    let simulator = simulator();
    let message_at = ["/error/message", "/error/message", "/message"];
    for ((path, body), message_at) in streams("error_event_first;message=no")
        .into_iter()
        .zip(message_at)
    {
        let seen = post(&simulator, &path, &body).await;
        let [(name, data)] = &seen.events()[..] else {
            panic!("more than one event");
        };
        assert_eq!(
            (seen.status, data.pointer(message_at)),
            (200, Some(&json!("no"))),
            "{path}"
        );
        assert_eq!(name, if path.contains("chat") { "" } else { "error" });
    }
    for ((path, body), message_at) in streams("error_event_after=3;message=no")
        .into_iter()
        .zip(message_at)
    {
        let events = post(&simulator, &path, &body).await.events();
        assert_eq!(
            events.last().unwrap().1.pointer(message_at),
            Some(&json!("no")),
            "{path}"
        );
        assert!(events.len() > 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stall_holds_the_connection_open() {
    let simulator = simulator();
    for (path, body) in wholes("stall") {
        let response = simulator.respond(request("POST", &path, body.to_string()));
        assert!(
            timeout(Duration::from_secs(3600), response).await.is_err(),
            "{path}"
        );
    }
    for (path, body) in streams("stall_after=2")
        .into_iter()
        .chain(wholes("stall_after=1"))
    {
        let response = simulator
            .respond(request("POST", &path, body.to_string()))
            .await;
        assert!(
            timeout(Duration::from_secs(3600), receive(response))
                .await
                .is_err(),
            "{path}"
        );
    }
}

#[tokio::test]
async fn stamps_are_read_from_the_clock_at_each_event() {
    let simulator = simulator();
    for ((path, body), delta_at) in streams("stamp;events=3;pace=2ms").into_iter().zip(DELTA_AT) {
        let text = post(&simulator, &path, &body).await.joined(delta_at);
        let stamps: Vec<u64> = text
            .split("t=")
            .skip(1)
            .map(|rest| rest.split(';').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(stamps.len(), 3, "{path}");
        assert!(stamps.is_sorted_by(|a, b| a < b), "{path}: {stamps:?}");
    }
}

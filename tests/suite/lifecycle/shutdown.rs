//! Tests of shutdown: requests in flight end, no new ones are accepted, and then the process exits at once.

use crate::harness::error_shape::{assert_error_body, assert_error_event};
use crate::harness::images::{PATH, image_config, json_body};
use crate::harness::{Gateway, PROTOCOLS, Request, Simulator, TestSetup, eventually};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

#[tokio::test]
async fn streams_end_normally_while_the_process_drains() {
    let mut world = TestSetup::start().await;
    let mut replies = Vec::new();
    for protocol in PROTOCOLS {
        let request = Request::ask_stream(protocol).simulate("pace=50ms; events=50");
        let mut reply = world.open(&request).await;
        reply.until("data:").await;
        replies.push(reply);
    }
    let mut idle = world.gateway.connect().await;
    assert_eq!(idle.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    world.gateway.process.signal(libc::SIGTERM);
    let address = world.gateway.address;
    let closed = async || TcpStream::connect(address).await.is_err().then_some(());
    eventually("the end of the listener", closed).await;
    for reply in replies {
        let answer = reply.rest().await;
        assert!(answer.whole, "a stream was cut: {}", answer.text());
    }
    let over = Instant::now();
    eventually("the end of the process", async || {
        world.gateway.process.ended()
    })
    .await;
    // Far below the drain period of five minutes, with room for a busy machine.
    assert!(
        over.elapsed() < Duration::from_secs(5),
        "{:?}",
        over.elapsed()
    );
    assert!(world.gateway.process.ended().unwrap().success());
    let lines = world.gateway.log();
    assert_eq!(
        lines.len(),
        PROTOCOLS.len() + 1,
        "every exchange is in the log"
    );
}

#[tokio::test]
async fn an_idle_process_ends_within_a_second() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut world = TestSetup::start().await;
        world.gateway.process.signal(signal);
        let reported = Instant::now();
        eventually("the end of the process", async || {
            world.gateway.process.ended()
        })
        .await;
        assert!(
            reported.elapsed() < Duration::from_secs(5),
            "{:?}",
            reported.elapsed()
        );
        assert!(world.gateway.process.ended().unwrap().success());
    }
}

#[tokio::test]
async fn a_draining_process_is_not_ready_but_serves_its_admin_pages() {
    let world = TestSetup::start().await;
    assert_eq!(world.gateway.page("GET", "/readyz").await.status, 200);
    let mut reply = world.open(&stream_of(Protocol::Chat, 100)).await;
    reply.until("data:").await;
    world.gateway.process.signal(libc::SIGTERM);
    let refused = async || {
        let page = world.gateway.page("GET", "/readyz").await;
        (page.status == 503).then_some(())
    };
    eventually("that it is not ready", refused).await;
    let address = world.gateway.address;
    let closed = async || TcpStream::connect(address).await.is_err().then_some(());
    eventually("the end of the listener", closed).await;
    // All on new connections.
    for (path, status) in [("/readyz", 503), ("/healthz", 200), ("/metrics", 200)] {
        assert_eq!(
            world.gateway.page("GET", path).await.status,
            status,
            "{path}"
        );
    }
    assert!(reply.rest().await.whole);
}

#[tokio::test]
async fn requests_are_served_until_the_notice_is_over() {
    let mut world = TestSetup::with(|config| {
        config["server"]["limits"] = json!({"drain_notice": "1500ms"});
    })
    .await;
    world.gateway.process.signal(libc::SIGTERM);
    world.gateway.process.wait_for_line("draining").await;
    assert_eq!(world.gateway.page("GET", "/readyz").await.status, 503);
    let answer = world.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!((answer.status, answer.whole), (200, true));
    assert_ends_within(&mut world.gateway, Duration::from_secs(10)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hundred_streams_none_is_cut_and_the_process_ends_behind_the_last() {
    const STREAMS: usize = 200;
    let mut world = TestSetup::start().await;
    let mut replies = JoinSet::new();
    for n in 0..STREAMS {
        let request = stream_of(PROTOCOLS[n % PROTOCOLS.len()], 60 + n % 20);
        let mut reply = world.open(&request).await;
        replies.spawn(async move {
            reply.until("data:").await;
            reply.rest().await.whole
        });
    }
    world.gateway.process.signal(libc::SIGTERM);
    world.gateway.process.wait_for_line("draining").await;
    let whole = replies.join_all().await;
    let over = Instant::now();
    assert_ends_within(&mut world.gateway, Duration::from_secs(5)).await;
    let cut = whole.iter().filter(|whole| !**whole).count();
    println!(
        "{STREAMS} streams: {cut} cut, ended {:?} behind the last",
        over.elapsed()
    );
    assert_eq!(cut, 0);
    assert_eq!(world.gateway.log().len(), STREAMS, "every exchange is told");
}

#[tokio::test]
async fn behind_the_time_to_drain_streams_end_with_an_error_event_and_without_a_clean_end() {
    let mut world = TestSetup::with(|config| {
        config["server"]["limits"] = json!({"drain": "1s"});
    })
    .await;
    let mut streams = Vec::new();
    for protocol in PROTOCOLS {
        // One stream that sends events, and one that is silent.
        for directives in ["pace=50ms; events=2000", "stall_after=1"] {
            let request = Request::ask_stream(protocol).simulate(directives);
            let mut reply = world.open(&request).await;
            let begin = reply.until("data:").await;
            streams.push((protocol, begin, reply));
        }
    }
    let mut waiting = world.gateway.connect().await;
    let stalled = Request::ask(Protocol::Chat).simulate("stall");
    waiting.send(&stalled.bytes()).await.unwrap();
    let open = async || (world.simulator.open().await == 7).then_some(());
    eventually("the request that waits", open).await;
    world.gateway.process.signal(libc::SIGTERM);
    for (protocol, begin, reply) in streams {
        let mut answer = reply.rest().await;
        assert!(!answer.whole, "{protocol:?}");
        answer.body.splice(..0, begin.into_bytes());
        assert_error_event(protocol, &answer);
        assert!(answer.text().contains("the gateway is restarting"));
    }
    let answer = waiting.answer().await.expect("an answer");
    assert_error_body(Protocol::Chat, &answer, 503);
    assert_ends_within(&mut world.gateway, Duration::from_secs(5)).await;
    assert_eq!(world.gateway.log().len(), 7);
}

#[tokio::test]
async fn a_paid_request_that_the_end_cuts_off_is_not_asked_for_again() {
    let simulator = Simulator::start().await;
    let mut config = image_config(&simulator, "stall", json!({}));
    config["server"]["limits"] = json!({"drain": "1s"});
    let gateway = Gateway::start(&config).await;
    let mut waiting = gateway.connect().await;
    let edit = Request::post(PATH, json_body().to_string());
    waiting.send(&edit.bytes()).await.unwrap();
    let came = async || (!simulator.records().await.is_empty()).then_some(());
    eventually("the request", came).await;
    gateway.process.signal(libc::SIGTERM);
    let answer = waiting.answer().await.expect("an answer");
    assert_error_body(Protocol::ImageEdit, &answer, 504);
    assert_eq!(answer.json()["error"]["code"], "outcome_unknown");
    assert_eq!(answer.headers.get("x-should-retry"), Some("false"));
}

#[tokio::test]
async fn idle_connections_are_closed_and_a_request_on_its_way_is_served() {
    let world = TestSetup::start().await;
    let mut reply = world.open(&stream_of(Protocol::Chat, 100)).await;
    reply.until("data:").await;
    let (mut idle, mut busy) = (world.gateway.connect().await, world.gateway.connect().await);
    for connection in [&mut idle, &mut busy] {
        let answer = connection.ask(&Request::ask(Protocol::Chat)).await;
        assert_ne!(answer.headers.get("connection"), Some("close"));
    }
    let mut late = world.gateway.connect().await;
    late.ask(&Request::ask(Protocol::Chat)).await;
    // Long enough that the gateway waits for the next request.
    sleep(Duration::from_millis(300)).await;
    let request = Request::ask(Protocol::Chat).bytes();
    late.send(&request[..10]).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    world.gateway.process.signal(libc::SIGTERM);
    let answer = busy.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!((answer.status, answer.whole), (200, true));
    assert!(busy.is_over().await && idle.is_over().await);
    late.send(&request[10..]).await.unwrap();
    let answer = late.answer().await.expect("an answer");
    assert_eq!((answer.status, answer.whole), (200, true));
    assert_eq!(answer.headers.get("connection"), Some("close"));
    assert!(reply.rest().await.whole);
}

#[tokio::test]
async fn a_second_signal_ends_a_draining_process_at_once() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut world = TestSetup::start().await;
        let mut reply = world.open(&stream_of(Protocol::Chat, 2000)).await;
        reply.until("data:").await;
        world.gateway.process.signal(libc::SIGTERM);
        world.gateway.process.wait_for_line("draining").await;
        world.gateway.process.signal(signal);
        assert_ends_within(&mut world.gateway, Duration::from_secs(5)).await;
        assert!(!reply.rest().await.whole);
    }
}

fn stream_of(protocol: Protocol, events: usize) -> Request {
    Request::ask_stream(protocol).simulate(&format!("pace=50ms; events={events}"))
}

async fn assert_ends_within(gateway: &mut Gateway, limit: Duration) {
    let reported = Instant::now();
    let ended = async || gateway.process.ended();
    let status = eventually("the end of the process", ended).await;
    assert!(reported.elapsed() < limit, "{:?}", reported.elapsed());
    assert!(status.success(), "{status}");
}

//! Tests of callers with HTTP/2: what holds for HTTP/1.1 holds for each stream.

use crate::harness::error_shape::{assert_error_body, assert_error_event};
use crate::harness::{
    Connection, Http2, PROTOCOLS, Request, TlsTestSetup, body_of, eventually, monotonic_millis,
};
use h2::Reason;
use headgate_protocol::Protocol;
use serde_json::json;
use tokio::task::JoinSet;

/// The maximum time from a caller's reset until the provider notices it, in milliseconds.
const NOTICED_WITHIN: u64 = 100;
/// The number of tries: a busy machine may cause such a delay, but not every time.
const TRIES: usize = 3;

#[tokio::test]
async fn a_stream_arrives_as_the_provider_sends_it_and_whole() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    for protocol in PROTOCOLS {
        let request = Request::ask_stream(protocol).simulate("events=20; pace=30ms; stamp");
        let mut reply = connection.open(&request).await;
        assert_eq!(reply.status, 200);
        let first = reply.until("t=").await;
        let open = world.simulator.open().await;
        assert_eq!(open, 1, "the rest is still to come: {first}");
        let (answer, reset) = reply.rest().await;
        assert_eq!((answer.whole, reset), (true, None));
        let text = first + &answer.text();
        let stream = world.authority.connect(world.gateway.address, &[], None);
        let mut h1 = Connection::over(stream.await.unwrap());
        let same = Request::ask_stream(protocol).simulate("events=20; stamp");
        let same = h1.ask(&same).await.text();
        let events = |text: &str| text.matches("\n\n").count();
        assert_eq!(events(&text), events(&same), "{protocol:?}");
        assert_eq!(
            text.ends_with("data: [DONE]\n\n"),
            protocol == Protocol::Chat
        );
        let line = world.gateway.log_of(&answer).await;
        assert_eq!(line["status"], 200, "{line}");
        assert_eq!(line["bytes_out"], text.len(), "{line}");
    }
}

#[tokio::test]
async fn refusals_have_the_shape_of_the_protocol() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    for protocol in PROTOCOLS {
        let large = vec![b' '; 33 << 20];
        for (request, status) in [
            (Request::ask(protocol).key("sk-nobody"), 401),
            (Request::ask_stream(protocol).key("sk-nobody"), 401),
            (Request::to(protocol, "{}"), 400),
            (Request::to(protocol, large.clone()), 413),
            (Request::to(protocol, large).chunked(1 << 20), 413),
        ] {
            let answer = connection.ask(&request).await;
            assert_error_body(protocol, &answer, status);
        }
        let mut unknown = body_of(protocol);
        unknown["model"] = "demo-larg".into();
        let answer = connection
            .ask(&Request::to(protocol, unknown.to_string()))
            .await;
        assert_error_body(protocol, &answer, 404);
    }
    assert_eq!(
        connection.ask(&Request::get("/v1/nothing")).await.status,
        404
    );
    assert_eq!(
        connection.ask(&Request::get("/v1/messages")).await.status,
        405
    );
    assert_eq!(world.simulator.records().await.len(), 0);
    let answer = connection.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200, "the connection lives on");
}

#[tokio::test]
async fn a_body_is_refused_before_it_is_sent_if_its_head_is_enough_to_decide() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    let stranger = Request::ask(Protocol::Chat).key("sk-nobody");
    let reply = connection.send_head(&stranger).await.reply().await;
    let (answer, _) = reply.rest().await;
    assert_error_body(Protocol::Chat, &answer, 401);
    let large = Request::to(Protocol::Chat, vec![b' '; 33 << 20]);
    let reply = connection.send_head(&large).await.reply().await;
    let (answer, _) = reply.rest().await;
    assert_error_body(Protocol::Chat, &answer, 413);
}

#[tokio::test]
async fn a_body_of_megabytes_arrives_byte_for_byte() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    for chunked in [false, true] {
        let mut body = body_of(Protocol::Chat);
        body["messages"][0]["content"] = "0123456789abcdef".repeat(2 << 16).into();
        let body = body.to_string();
        let request = Request::to(Protocol::Chat, body.clone());
        let request = if chunked { request.chunked(1) } else { request };
        let answer = connection.ask(&request).await;
        assert_eq!((answer.status, answer.whole), (200, true));
        let expected = body.replace("demo-large", "sim-large-2026-08");
        assert_eq!(world.simulator.last_body().await, expected.as_bytes());
    }
}

#[tokio::test]
async fn a_body_need_not_wait_for_a_round_trip_every_few_kilobytes() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    assert_eq!(
        connection.ask(&Request::get("/v1/models")).await.status,
        200
    );
    let head = connection.send_head(&Request::ask(Protocol::Chat)).await;
    assert_eq!(head.room(384 << 10).await, 384 << 10);
}

#[tokio::test]
async fn streams_of_one_connection_do_not_wait_for_each_other() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    // A stream whose caller reads nothing and fills its window does not delay others.
    let full = Request::ask_stream(Protocol::Chat).simulate("events=20000; event_bytes=100");
    let unread = connection.open(&full).await;
    let mut streams = JoinSet::new();
    for n in 0..30 {
        let connection = connection.clone();
        let protocol = PROTOCOLS[n % PROTOCOLS.len()];
        streams.spawn(async move {
            let request = Request::ask_stream(protocol).simulate("events=20; pace=20ms");
            connection.ask(&request).await
        });
    }
    let all = async || (world.simulator.open().await == 31).then_some(());
    eventually("all streams at once", all).await;
    while let Some(answer) = streams.join_next().await {
        let answer = answer.unwrap();
        assert_eq!((answer.status, answer.whole), (200, true));
    }
    let (answer, reset) = unread.rest().await;
    assert_eq!((answer.whole, reset), (true, None));
    assert!(answer.body.len() > 20_000 * 100);
}

#[tokio::test]
async fn a_stream_that_is_reset_ends_the_providers_work_at_once() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    for protocol in PROTOCOLS {
        for (directives, streamed, begun) in [
            ("stall", true, false),
            ("delay=60s", false, false),
            ("pace=10ms; events=2000", true, true),
            ("stall_after=1", false, true),
        ] {
            let request = match streamed {
                true => Request::ask_stream(protocol),
                false => Request::ask(protocol),
            };
            let request = request.simulate(directives);
            let mut delays = Vec::new();
            while delays.last().is_none_or(|delay| *delay > NOTICED_WITHIN) {
                assert!(
                    delays.len() < TRIES,
                    "{protocol:?} {directives}: {delays:?} ms"
                );
                delays.push(delay_of_reset(&world, &connection, &request, begun).await);
            }
        }
    }
    let cancelled = |line: &&serde_json::Value| line["settlement"] == "client_cancelled";
    let settled =
        async || (world.gateway.log().iter().filter(cancelled).count() >= 12).then_some(());
    eventually("the settlement of each", settled).await;
    let answer = connection.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200, "the connection lives on");
}

#[tokio::test]
async fn a_connection_that_breaks_ends_the_work_of_all_its_streams() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    let mut replies = Vec::new();
    for protocol in PROTOCOLS {
        let request = Request::ask_stream(protocol).simulate("pace=10ms; events=2000");
        replies.push(connection.open(&request).await);
    }
    drop((replies, connection));
    let over = async || (world.simulator.open().await == 0).then_some(());
    eventually("the end of all work", over).await;
    for record in world.simulator.records().await {
        assert_eq!(record["ended"], "client_left", "{record}");
    }
}

#[tokio::test]
async fn a_stream_that_the_provider_breaks_off_has_an_error_event_and_no_clean_end() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    for protocol in PROTOCOLS {
        for directives in ["cut_after=2", "cut"] {
            let request = Request::ask_stream(protocol).simulate(directives);
            let (answer, reset) = connection.open(&request).await.rest().await;
            assert_eq!((answer.status, answer.whole), (200, false));
            assert!(
                reset.is_some_and(|reason| reason != Reason::NO_ERROR),
                "{reset:?}"
            );
            assert_error_event(protocol, &answer);
            assert!(!answer.text().contains("[DONE]"));
        }
        let request = Request::ask(protocol).simulate("cut");
        let (answer, reset) = connection.open(&request).await.rest().await;
        // A body that breaks off before it was examined is an error that the caller can read.
        assert_error_body(protocol, &answer, 502);
        assert!(reset.is_none(), "{reset:?}");
    }
    let answer = connection.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200, "the connection lives on");
}

#[tokio::test]
async fn open_streams_complete_while_the_gateway_drains() {
    let mut world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    let mut replies = Vec::new();
    for protocol in PROTOCOLS {
        let request = Request::ask_stream(protocol).simulate("pace=20ms; events=50");
        replies.push(connection.open(&request).await);
    }
    world.gateway.process.signal(libc::SIGTERM);
    for reply in replies {
        let (answer, reset) = reply.rest().await;
        assert_eq!((answer.whole, reset), (true, None), "{}", answer.text());
    }
    let ended = async || world.gateway.process.ended();
    assert!(eventually("the end of the process", ended).await.success());
}

/// Resets a stream; returns after how many milliseconds the provider noticed it.
async fn delay_of_reset(
    world: &TlsTestSetup,
    connection: &Http2,
    request: &Request,
    begun: bool,
) -> u64 {
    let newest = world.simulator.records().await.len();
    let waiting = connection.send(request).await;
    let arrived = async || (world.simulator.records().await.len() > newest).then_some(());
    eventually("the request at the provider", arrived).await;
    let left = match begun {
        false => {
            let left = monotonic_millis();
            waiting.reset();
            left
        }
        true => {
            let mut reply = waiting.reply().await;
            assert!(matches!(reply.piece().await, Ok(Some(_))));
            let left = monotonic_millis();
            reply.reset();
            left
        }
    };
    let ended = world.simulator.record("the record's end", |record| {
        record["n"] == json!(newest + 1) && record["ended"] != "open"
    });
    let ended = ended.await;
    assert_eq!(ended["ended"], "client_left", "{ended}");
    ended["ended_ms"].as_u64().unwrap().saturating_sub(left)
}

#[tokio::test]
async fn a_draining_process_sends_goaway_and_lets_streams_end() {
    let mut world = TlsTestSetup::start().await;
    let (busy, idle) = (world.connect().await, world.connect().await);
    assert_eq!(idle.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let mut replies = Vec::new();
    for protocol in PROTOCOLS {
        let request = Request::ask_stream(protocol).simulate("events=40; pace=50ms");
        let mut reply = busy.open(&request).await;
        reply.until("data:").await;
        replies.push(reply);
    }
    world.gateway.process.signal(libc::SIGTERM);
    for connection in [&idle, &busy] {
        let closing = async || connection.is_closing().await.then_some(());
        eventually("the notice that it closes", closing).await;
    }
    assert!(world.gateway.process.ended().is_none());
    for reply in replies {
        let (answer, reset) = reply.rest().await;
        assert_eq!((answer.whole, reset), (true, None), "{}", answer.text());
    }
    let ended = async || world.gateway.process.ended();
    let status = eventually("the end of the process", ended).await;
    assert!(status.success(), "{status}");
}

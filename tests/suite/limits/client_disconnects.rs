//! Tests of callers that leave: the provider's work is ended at once, in every state.
//!
//! `HEADGATE_DISCONNECTS=10 cargo test --test suite limits::client_disconnects -- --nocapture` tries each state more often.

use crate::harness::connection::StreamPiece;
use crate::harness::repetitions::repetitions;
use crate::harness::upload_provider::Plan;
use crate::harness::upload_world::{CALLERS, Caller, MIB, UploadWorld, head, write};
use crate::harness::{PROTOCOLS, Request, TestSetup, eventually, monotonic_millis};
use headgate_protocol::Protocol;
use std::time::Duration;
use tokio::time::timeout;

/// The maximum time from the caller's close until the provider notices it, in milliseconds.
const NOTICED_WITHIN: u64 = 100;
/// More than all sockets and buffers on the way hold.
const BODY_BYTES: u64 = 256 * MIB;
/// Time for an upload to fill the sockets and buffers on its way.
const FILLS_WITHIN: Duration = Duration::from_secs(2);
/// The number of tries: a busy machine may cause such a delay, but not every time.
const TRIES: usize = 3;

/// What the caller is waiting for when it leaves.
#[derive(Clone, Copy, Debug)]
enum State {
    BeforeTheHead,
    AmidTheStream,
    BeforeASlowAnswer,
    /// More requests than the gateway reads ahead have arrived behind the one in progress.
    BeforeASlowAnswerAmidPipelinedRequests,
    AmidABody,
}

#[derive(Clone, Copy, Debug)]
enum DisconnectMethod {
    Fin,
    Reset,
}

#[tokio::test]
async fn a_caller_that_leaves_ends_the_providers_work_at_once() {
    let rounds = repetitions("HEADGATE_DISCONNECTS", 1);
    let world = TestSetup::start().await;
    let mut noticed = Vec::new();
    for protocol in PROTOCOLS.repeat(rounds) {
        for state in [
            State::BeforeTheHead,
            State::AmidTheStream,
            State::BeforeASlowAnswer,
            State::BeforeASlowAnswerAmidPipelinedRequests,
            State::AmidABody,
        ] {
            for way in [DisconnectMethod::Fin, DisconnectMethod::Reset] {
                let mut delays = Vec::new();
                while delays.last().is_none_or(|delay| *delay > NOTICED_WITHIN) {
                    assert!(
                        delays.len() < TRIES,
                        "{protocol:?} {state:?} {way:?}: {delays:?} ms"
                    );
                    delays.push(delay_of_leaving(&world, protocol, state, way).await);
                }
                noticed.extend(delays);
            }
        }
    }
    noticed.sort_unstable();
    let count = noticed.len();
    println!(
        "{count} callers left: noticed by the provider after {} ms (median), {} ms (99 %), {} ms (longest)",
        noticed[count / 2],
        noticed[count * 99 / 100],
        noticed[count - 1]
    );
    let open = async || (world.simulator.open().await == 0).then_some(());
    eventually("the end of all work", open).await;
    let idle = async || {
        (world.gateway.metrics().await.sum("headgate_in_flight", &[]) == 0.0).then_some(())
    };
    eventually("the end of all exchanges", idle).await;
}

#[tokio::test]
async fn a_client_disconnect_settles_as_client_cancelled() {
    let world = TestSetup::start().await;
    for (request, status) in [
        (Request::ask(Protocol::Chat).simulate("stall"), 499),
        (
            Request::ask_stream(Protocol::Chat).simulate("pace=20ms; events=500"),
            200,
        ),
    ] {
        let before = cancelled(&world).await;
        let lines = world.gateway.log().len();
        match status {
            499 => {
                let mut connection = world.gateway.connect().await;
                connection.send(&request.bytes()).await.unwrap();
                let waits = async || (world.simulator.open().await == 1).then_some(());
                eventually("the request at the provider", waits).await;
            }
            _ => drop(world.open(&request).await.until("data:").await),
        }
        let counted = async || (cancelled(&world).await == before + 1.0).then_some(());
        eventually("a cancelled settlement", counted).await;
        let line = async || world.gateway.log().get(lines).cloned();
        let line = eventually("its line in the log", line).await;
        assert_eq!(line["settlement"], "client_cancelled", "{line}");
        assert_eq!(line["status"], status, "{line}");
        assert_eq!(line["channel"], "openai", "{line}");
    }
}

#[tokio::test]
async fn a_caller_that_leaves_amid_its_body_never_reaches_a_provider() {
    let world = TestSetup::start().await;
    for way in [DisconnectMethod::Fin, DisconnectMethod::Reset] {
        let request = Request::ask(Protocol::Chat);
        let bytes = request.bytes();
        let mut connection = world.gateway.connect().await;
        connection.send(&bytes[..bytes.len() - 5]).await.unwrap();
        match way {
            DisconnectMethod::Fin => drop(connection),
            DisconnectMethod::Reset => connection.reset(),
        }
    }
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let idle = async || {
        (world.gateway.metrics().await.sum("headgate_in_flight", &[]) == 0.0).then_some(())
    };
    eventually("the end of all exchanges", idle).await;
    assert_eq!(world.simulator.records().await.len(), 1);
}

#[tokio::test]
async fn a_caller_that_leaves_while_the_provider_takes_none_of_its_body_ends_the_exchange() {
    for caller in CALLERS {
        let world = UploadWorld::between(caller, false, Plan::Read).await;
        world.provider.read(false);
        let is_chunked = match caller {
            Caller::Declared => Some(false),
            Caller::Chunked => Some(true),
            Caller::Http2 => None,
        };
        match is_chunked {
            Some(is_chunked) => {
                let mut connection = world.gateway.connect().await;
                let declared = (!is_chunked).then_some(BODY_BYTES);
                connection.send(head(declared).as_bytes()).await.unwrap();
                let filling = write(&mut connection, is_chunked, 0..BODY_BYTES);
                assert!(timeout(FILLS_WITHIN, filling).await.is_err(), "{caller:?}");
                // A FIN would wait behind what the gateway has no room for.
                connection.reset();
            }
            // Dropping the upload closes its connection.
            None => {
                let upload = world.upload(caller, BODY_BYTES);
                assert!(timeout(FILLS_WITHIN, upload).await.is_err());
            }
        }
        let line = world
            .gateway
            .log_line(|line| line["route"] == "uploads")
            .await;
        assert_eq!(line["settlement"], "client_cancelled", "{caller:?}: {line}");
    }
}

async fn cancelled(world: &TestSetup) -> f64 {
    let labels = [("settlement", "client_cancelled")];
    world
        .gateway
        .metrics()
        .await
        .sum("headgate_settlements_total", &labels)
}

/// Leaves; returns after how many milliseconds the provider noticed it.
async fn delay_of_leaving(
    world: &TestSetup,
    protocol: Protocol,
    state: State,
    way: DisconnectMethod,
) -> u64 {
    let request = match state {
        State::BeforeTheHead => Request::ask_stream(protocol).simulate("stall"),
        State::AmidTheStream => Request::ask_stream(protocol).simulate("pace=10ms; events=2000"),
        State::BeforeASlowAnswer | State::BeforeASlowAnswerAmidPipelinedRequests => {
            Request::ask(protocol).simulate("delay=60s")
        }
        State::AmidABody => Request::ask(protocol).simulate("stall_after=1"),
    };
    let newest = world.simulator.records().await.len();
    let mut connection = world.gateway.connect().await;
    connection.send(&request.bytes()).await.unwrap();
    if let State::BeforeASlowAnswerAmidPipelinedRequests = state {
        let pipelined = Request::get("/v1/models").bytes().repeat(200);
        connection.send(&pipelined).await.unwrap();
    }
    let arrived = async || (world.simulator.records().await.len() > newest).then_some(());
    eventually("the request at the provider", arrived).await;
    let connection = match state {
        State::BeforeTheHead
        | State::BeforeASlowAnswer
        | State::BeforeASlowAnswerAmidPipelinedRequests => connection,
        State::AmidTheStream | State::AmidABody => {
            let mut reply = connection.reply().await.unwrap();
            assert!(matches!(reply.piece().await, StreamPiece::Data(_)));
            reply.connection
        }
    };
    let left = monotonic_millis();
    match way {
        DisconnectMethod::Fin => drop(connection),
        DisconnectMethod::Reset => connection.reset(),
    }
    let ended = world
        .simulator
        .record("the record's end", |record| {
            record["n"].as_u64() == Some(newest as u64 + 1) && record["ended"] != "open"
        })
        .await;
    assert_eq!(ended["ended"], "client_left", "{ended}");
    ended["ended_ms"].as_u64().unwrap().saturating_sub(left)
}

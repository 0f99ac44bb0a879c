//! The end of a process: what runs runs out, nothing new comes in, and then it is over at once.

use crate::harness::{PROTOCOLS, Request, World, eventually};
use headgate::protocol::Protocol;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::Instant;

#[tokio::test]
async fn streams_run_out_when_the_process_is_told_to_stop() {
    let mut world = World::start().await;
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
    // Far below the drain time of five minutes, with room for a busy machine.
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
        let mut world = World::start().await;
        world.gateway.process.signal(signal);
        let told = Instant::now();
        eventually("the end of the process", async || {
            world.gateway.process.ended()
        })
        .await;
        assert!(
            told.elapsed() < Duration::from_secs(5),
            "{:?}",
            told.elapsed()
        );
        assert!(world.gateway.process.ended().unwrap().success());
    }
}

#[tokio::test]
async fn a_process_that_is_told_to_stop_is_no_longer_ready() {
    let world = World::start().await;
    assert_eq!(world.gateway.page("GET", "/readyz").await.status, 200);
    let mut reply = world
        .open(&Request::ask_stream(Protocol::Chat).simulate("pace=50ms; events=100"))
        .await;
    reply.until("data:").await;
    let mut admin = crate::harness::Connection::to(world.gateway.admin).await;
    let ready = Request::get("/readyz").without("authorization");
    assert_eq!(admin.ask(&ready).await.status, 200);
    world.gateway.process.signal(libc::SIGTERM);
    let refused = async || {
        // The connection that was open before, since the listeners are closed.
        admin.send(&ready.bytes()).await.ok()?;
        let answer = admin.answer().await?;
        (answer.status == 503).then_some(())
    };
    eventually("that it is not ready", refused).await;
    assert!(reply.rest().await.whole);
}

//! Tests of providers with HTTP/2 without TLS: resets, GOAWAY and closed connections.

use crate::harness::error_shape::assert_error_body;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http2_provider::{Http2Provider, ScriptedStreamResponse};
use crate::harness::process::Process;
use crate::harness::{Gateway, PROTOCOLS, Request, TestSetup, config, eventually};
use h2::Reason;
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

#[tokio::test]
async fn http2_is_spoken_without_tls_where_that_is_asked_for() {
    for (http, is_http2) in [("http2", true), ("http1", false), ("auto", false)] {
        let world = TestSetup::with(|config| speak(config, http)).await;
        for protocol in PROTOCOLS {
            for request in [Request::ask(protocol), Request::ask_stream(protocol)] {
                let answer = world.ask(&request).await;
                assert_eq!((answer.status, answer.whole), (200, true), "{http}");
                // Only HTTP/1.1 requests have a Host header here.
                let record = world.simulator.last().await;
                assert_eq!(record["headers"]["host"].is_null(), is_http2, "{record}");
            }
        }
    }
}

#[tokio::test]
async fn a_caller_that_leaves_resets_the_providers_stream_only() {
    let world = TestSetup::with(|config| speak(config, "http2")).await;
    let other = Request::ask_stream(Protocol::Chat).simulate("pace=20ms; events=100");
    let mut other = world.open(&other).await;
    other.until("data:").await;
    for directives in ["stall", "pace=10ms; events=2000"] {
        let request = Request::ask_stream(Protocol::Chat).simulate(directives);
        let mut connection = world.gateway.connect().await;
        connection.send(&request.bytes()).await.unwrap();
        let both = async || (world.simulator.open().await == 2).then_some(());
        eventually("the request at the provider", both).await;
        drop(connection);
        let one = async || (world.simulator.open().await == 1).then_some(());
        eventually("the end of its work", one).await;
    }
    let answer = other.rest().await;
    assert!(answer.whole, "{}", answer.text());
}

#[tokio::test]
async fn a_request_that_a_provider_may_have_worked_on_is_not_sent_again() {
    for act in [
        ScriptedStreamResponse::Reset(Reason::INTERNAL_ERROR),
        ScriptedStreamResponse::Reset(Reason::CANCEL),
        ScriptedStreamResponse::Reset(Reason::ENHANCE_YOUR_CALM),
    ] {
        let provider = Http2Provider::start(&[ScriptedStreamResponse::Answer, act]).await;
        let gateway = asking(&provider).await;
        let request = Request::ask(Protocol::Chat);
        assert_eq!(gateway.ask(&request).await.status, 200);
        assert_error_body(Protocol::Chat, &gateway.ask(&request).await, 502);
        assert_eq!(provider.seen(), 2, "{act:?}");
        assert_eq!(gateway.ask(&request).await.status, 200);
        // There may be two connections: the caller may ask again before the gateway has its connection back.
        assert_eq!(provider.closed.load(Ordering::SeqCst), 0, "{act:?}");
    }
}

#[tokio::test]
async fn a_request_that_a_provider_did_not_take_is_sent_again() {
    for acts in [
        &[
            ScriptedStreamResponse::Answer,
            ScriptedStreamResponse::Reset(Reason::REFUSED_STREAM),
        ][..],
        &[ScriptedStreamResponse::RespondThenGoaway],
    ] {
        let provider = Http2Provider::start(acts).await;
        let gateway = asking(&provider).await;
        for _ in 0..3 {
            let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
            assert_eq!(answer.status, 200, "{acts:?}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn a_connection_that_ends_is_replaced() {
    let provider = Http2Provider::start(&[
        ScriptedStreamResponse::Answer,
        ScriptedStreamResponse::Close,
    ])
    .await;
    let gateway = asking(&provider).await;
    let request = Request::ask(Protocol::Chat);
    let first = gateway.ask(&request).await;
    assert_eq!(first.status, 200);
    // An exchange is logged after its connection has returned to the pool.
    gateway.log_of(&first).await;
    let cut = gateway.ask(&request).await;
    gateway.log_of(&cut).await;
    assert_eq!(gateway.ask(&request).await.status, 200);
    assert_eq!(provider.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn early_hints_are_no_answer() {
    let provider = Http2Provider::start(&[ScriptedStreamResponse::HintAndAnswer]).await;
    let gateway = asking(&provider).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!((answer.status, answer.whole), (200, true));
}

#[tokio::test]
async fn a_header_that_http2_forbids_is_an_error_of_the_configuration() {
    for name in ["keep-alive", "proxy-connection"] {
        let mut config = config::standard("http://127.0.0.1:1/v1");
        config["channels"]["openai"]["headers"] = json!({name: "5"});
        let folder = folder_with_schemas();
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let mut process = Process::spawn(&["check", file.to_str().unwrap()]);
        let ended = eventually("the end of the check", async || process.ended()).await;
        assert_eq!(ended.code(), Some(1), "{name}");
    }
}

async fn asking(provider: &Http2Provider) -> Gateway {
    let mut config = config::standard(&provider.url());
    speak(&mut config, "http2");
    Gateway::start(&config).await
}

fn speak(config: &mut Value, http: &str) {
    for name in ["openai", "messages"] {
        config["channels"][name]["http"] = http.into();
    }
}

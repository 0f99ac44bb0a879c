//! Tests with collectors as operators run them: behind TLS with a CA of their own, and a real one.

use super::{CHAT, TracingSetup, id_of};
use crate::harness::certificates::{Authority, Identity, SERVER};
use crate::harness::collector::CollectorProcess;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::otlp::TraceCollector;
use crate::harness::{Gateway, Request, ScriptedProvider, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Ends TLS with this certificate, and passes on what it gets to `target`.
async fn tls_in_front_of(target: SocketAddr, identity: &Identity) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(identity.server_config(&["http/1.1"]));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut secured = acceptor.accept(stream).await?;
                let mut plain = TcpStream::connect(target).await?;
                tokio::io::copy_bidirectional(&mut secured, &mut plain).await
            });
        }
    });
    address
}

/// A gateway that exports to this endpoint with these TLS settings.
async fn gateway_with(
    provider: &ScriptedProvider,
    authority: &Authority,
    endpoint: &str,
    tls: Value,
) -> Gateway {
    let folder = folder_with_schemas();
    folder.write("ca.pem", authority.pem());
    let mut config = config::standard(&provider.url());
    config["tracing"] = json!({"endpoint": endpoint, "tls": tls});
    Gateway::start_in(folder, &config.to_string()).await
}

#[tokio::test]
async fn a_collector_behind_tls_is_verified_with_the_ca_of_the_configuration() {
    let provider = ScriptedProvider::answering(json_response(200, CHAT)).await;
    let authority = Authority::new();
    for (name, tls, is_trusted) in [
        (SERVER, json!({"ca": "ca.pem", "server_name": SERVER}), true),
        ("127.0.0.1", json!({"ca": "ca.pem"}), true),
        (SERVER, json!({}), false),
        (
            SERVER,
            json!({"ca": "ca.pem", "server_name": "other.test"}),
            false,
        ),
    ] {
        let collector = TraceCollector::start().await;
        let identity = authority.issue(&[name]);
        let address = tls_in_front_of(collector.0.address, &identity).await;
        let endpoint = format!("https://{address}");
        let gateway = gateway_with(&provider, &authority, &endpoint, tls.clone()).await;
        let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(response.status, 200);
        if is_trusted {
            let spans = collector.exchange(id_of(&response)).await;
            assert_eq!(spans.len(), 2, "{tls}");
            continue;
        }
        eventually("a line of the log", async || {
            let log = gateway.process.stderr.all().concat();
            log.contains("trace spans cannot be exported").then_some(())
        })
        .await;
        assert_eq!(collector.0.raw_requests().len(), 0, "{tls}");
    }
}

#[tokio::test]
async fn a_real_collector_passes_the_spans_on_as_they_were_exported() {
    let receiver = TraceCollector::start().await;
    let collector = CollectorProcess::start(&receiver).await;
    let provider = ScriptedProvider::answering(json_response(200, CHAT)).await;
    let resource = json!({"deployment.environment.name": "test"});
    let setup = TracingSetup::with(
        provider,
        json!({"resource_attributes": resource}),
        |config| {
            config["tracing"]["endpoint"] = json!(collector.url());
            config::route(config, "chat")["traced_messages"] = json!({"input": true});
        },
    )
    .await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let request = Request::ask(Protocol::Chat)
        .header("traceparent", &format!("00-{trace}-00f067aa0ba902b7-01"))
        .header("tracestate", "a=1");
    let response = setup.gateway.ask(&request).await;
    let spans = receiver.exchange(id_of(&response)).await;
    let [server, attempt] = &spans[..] else {
        panic!("{spans:?}")
    };
    assert_eq!(server.trace_id, trace);
    assert_eq!((server.kind, attempt.kind), (2, 3));
    assert_eq!(
        (&*server.parent, &*server.state),
        ("00f067aa0ba902b7", "a=1")
    );
    assert_eq!(server.name, "POST /v1/chat/completions");
    assert_eq!(server.resource["deployment.environment.name"], "test");
    assert_eq!(*server.get("gen_ai.usage.input_tokens"), 100);
    assert_eq!(*server.get("headgate.streamed"), false);
    assert!(server.get("headgate.wait.upstream").is_f64());
    assert!(server.get("gen_ai.input.messages").is_string());
    assert_eq!(*attempt.get("headgate.channel"), "openai");
    assert!(server.start <= attempt.start && attempt.end <= server.end);
    eventually("2 exported spans", async || {
        let metrics = setup.gateway.metrics().await;
        let exported = [("outcome", "exported")];
        (metrics.sum("headgate_trace_spans_total", &exported) == 2.0).then_some(())
    })
    .await;
}

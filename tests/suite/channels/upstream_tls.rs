//! Tests of providers with TLS: trust, client certificates, and negotiation of the HTTP version.

use crate::harness::certificates::{Authority, Identity};
use crate::harness::error_shape::{assert_error_body, assert_error_event};
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::request::ANN;
use crate::harness::{Gateway, PROTOCOLS, Request, Simulator, body_of, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A simulated provider behind a gateway that requires client certificates; that gateway is the provider.
struct Provider {
    gateway: Gateway,
    simulator: Simulator,
    servers: Authority,
    clients: Authority,
}

impl Provider {
    async fn start() -> Self {
        let simulator = Simulator::start().await;
        let (folder, servers, clients) =
            (folder_with_schemas(), Authority::new(), Authority::new());
        let mut config = config::standard(&simulator.url());
        config["server"]["tls"] = servers.server().write(&folder, "server");
        config["server"]["tls"]["client_ca"] = "clients.pem".into();
        folder.write("clients.pem", clients.pem());
        Self {
            gateway: Gateway::start_in(folder, &config.to_string()).await,
            simulator,
            servers,
            clients,
        }
    }

    /// The TLS settings of a gateway that may send requests to this provider.
    fn tls(&self, folder: &Folder) -> Value {
        folder.write("ca.pem", self.servers.pem());
        let mut tls = self.clients.issue(&["client"]).write(folder, "client");
        tls["ca"] = "ca.pem".into();
        tls
    }

    /// A configuration whose channels use this provider.
    fn config(&self, tls: &Value, http: &str) -> Value {
        let mut config = config::standard(&format!("https://{}/v1", self.gateway.address));
        for name in ["openai", "messages"] {
            let channel = &mut config["channels"][name];
            channel["credential"] = json!({"bearer": ANN});
            channel["tls"] = tls.clone();
            channel["http"] = http.into();
            for model in ["demo-large", "demo-small"] {
                channel["models"][model] = model.into();
            }
        }
        config
    }

    /// A gateway that uses this provider.
    async fn caller(&self, http: &str, change: impl FnOnce(&mut Value, &Folder)) -> Gateway {
        let folder = folder_with_schemas();
        let mut tls = self.tls(&folder);
        change(&mut tls, &folder);
        Gateway::start_in(folder, &self.config(&tls, http).to_string()).await
    }

    async fn connections(&self) -> f64 {
        let metrics = self.gateway.metrics().await;
        metrics.sum("headgate_connections", &[])
    }
}

#[tokio::test]
async fn both_versions_of_http_are_spoken_to_a_provider_behind_tls() {
    for (http, connections) in [("auto", 1.0), ("http2", 1.0), ("http1", 10.0)] {
        let provider = Provider::start().await;
        let gateway = provider.caller(http, |_, _| {}).await;
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 200, "{http}: {}", answer.text());
        let mut replies = Vec::new();
        for _ in 0..10 {
            // One after the other: concurrent requests may each find no connection to share.
            let request = Request::ask_stream(Protocol::Chat).simulate("pace=50ms; events=20");
            replies.push(gateway.open(&request).await);
        }
        assert_eq!(provider.connections().await, connections, "{http}");
        for reply in replies {
            let answer = reply.rest().await;
            assert_eq!((answer.status, answer.whole), (200, true), "{http}");
        }
        for protocol in PROTOCOLS {
            let answer = gateway.ask(&Request::ask_stream(protocol)).await;
            assert_eq!((answer.status, answer.whole), (200, true), "{http}");
            let cut = Request::ask_stream(protocol).simulate("cut_after=2");
            let answer = gateway.ask(&cut).await;
            assert_eq!((answer.status, answer.whole), (200, false), "{http}");
            assert_error_event(protocol, &answer);
            let endless = Request::ask_stream(protocol).simulate("pace=10ms; events=5000");
            drop(gateway.open(&endless).await.until("data:").await);
            let over = async || (provider.simulator.open().await == 0).then_some(());
            eventually("the end of what the caller left", over).await;
        }
    }
}

#[tokio::test]
async fn a_large_body_reaches_a_provider_of_http2_byte_for_byte() {
    let provider = Provider::start().await;
    let gateway = provider.caller("http2", |_, _| {}).await;
    let mut body = body_of(Protocol::Chat);
    body["messages"][0]["content"] = "0123456789abcdef".repeat(10 << 16).into();
    let body = body.to_string();
    let request = Request::to(Protocol::Chat, body.clone());
    for answer in [
        gateway.ask(&request).await,
        gateway.ask(&request.chunked(9999)).await,
    ] {
        assert_eq!((answer.status, answer.whole), (200, true));
        let expected = body.replace("demo-large", "sim-large-2026-08");
        assert!(provider.simulator.last_body().await == expected.as_bytes());
    }
    let large = Request::ask(Protocol::Chat).simulate("body_bytes=10000000");
    let answer = gateway.ask(&large).await;
    assert!(answer.whole && answer.body.len() > 10_000_000);
}

#[tokio::test]
async fn a_provider_that_cannot_be_trusted_or_does_not_trust_us_counts_as_unreachable() {
    let provider = Provider::start().await;
    type Change = fn(&mut Value, &Folder);
    let changes: [(&str, Change); 5] = [
        ("another authority", |_, folder| {
            folder.write("ca.pem", Authority::new().pem());
        }),
        ("the system's authorities", |tls, _| {
            tls.as_object_mut().unwrap().remove("ca");
        }),
        ("another name", |tls, _| {
            tls["server_name"] = "other.test".into()
        }),
        ("a stranger's certificate", |tls, folder| {
            *tls = Authority::new().issue(&["client"]).write(folder, "client");
            tls["ca"] = "ca.pem".into();
        }),
        ("no certificate", |tls, _| *tls = json!({"ca": "ca.pem"})),
    ];
    for (what, change) in changes {
        let ours_is_refused = what.ends_with("certificate");
        for http in ["auto", "http1", "http2"] {
            let gateway = provider.caller(http, change).await;
            for protocol in PROTOCOLS {
                let answer = gateway.ask(&Request::ask(protocol)).await;
                assert_error_body(protocol, &answer, 502);
                assert!(!answer.text().contains("127.0.0.1"), "{}", answer.text());
                let line = gateway.log_of(&answer).await;
                // In TLS 1.3 a client learns that its certificate was refused with its first read.
                let kinds = match ours_is_refused {
                    true => &["upstream_unreachable", "upstream_error"][..],
                    false => &["upstream_unreachable"],
                };
                let kind = line["error_code"].as_str().unwrap();
                assert!(kinds.contains(&kind), "{what} {http}: {line}");
            }
        }
    }
    assert_eq!(provider.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn the_next_channel_takes_over_where_tls_fails() {
    let provider = Provider::start().await;
    let folder = folder_with_schemas();
    let tls = provider.tls(&folder);
    folder.write("wrong.pem", Authority::new().pem());
    let mut config = provider.config(&tls, "auto");
    for name in ["openai", "messages"] {
        let mut bad = config["channels"][name].clone();
        bad["tls"]["ca"] = "wrong.pem".into();
        config["channels"][name]["tier"] = 1.into();
        config["channels"][format!("{name}-bad")] = bad;
    }
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    for protocol in PROTOCOLS {
        let answer = gateway.ask(&Request::ask_stream(protocol)).await;
        assert_eq!(
            (answer.status, answer.whole),
            (200, true),
            "{}",
            answer.text()
        );
        assert_eq!(gateway.log_of(&answer).await["attempts"], 2);
    }
}

#[tokio::test]
async fn the_name_that_is_expected_may_be_another_than_the_urls() {
    let servers = Authority::new();
    let named = servers.issue(&["only.test"]);
    for (server_name, status) in [
        (None, 502),
        (Some("only.test"), 404),
        (Some("gate.test"), 502),
    ] {
        let provider = tls_provider(&named, &["http/1.1"]).await;
        let folder = folder_with_schemas();
        folder.write("ca.pem", servers.pem());
        let mut config = config::standard(&provider);
        config["channels"]["openai"]["tls"] = json!({"ca": "ca.pem"});
        if let Some(name) = server_name {
            config["channels"]["openai"]["tls"]["server_name"] = name.into();
        }
        let gateway = Gateway::start_in(folder, &config.to_string()).await;
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, status, "{server_name:?}");
    }
}

#[tokio::test]
async fn http2_alone_is_not_replaced_by_http1() {
    let servers = Authority::new();
    for offered in [&[][..], &["http/1.1"]] {
        for (http, status) in [("http2", 502), ("auto", 404), ("http1", 404)] {
            let provider = tls_provider(&servers.server(), offered).await;
            let folder = folder_with_schemas();
            folder.write("ca.pem", servers.pem());
            let mut config = config::standard(&provider);
            config["channels"]["openai"]["tls"] = json!({"ca": "ca.pem"});
            config["channels"]["openai"]["http"] = http.into();
            let gateway = Gateway::start_in(folder, &config.to_string()).await;
            let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
            assert_eq!(answer.status, status, "{http} {offered:?}");
        }
    }
}

#[tokio::test]
async fn a_reload_that_changes_tls_or_http_counts_for_the_next_request() {
    let provider = Provider::start().await;
    let folder = folder_with_schemas();
    let good = provider.tls(&folder);
    folder.write("wrong.pem", Authority::new().pem());
    let mut bad = good.clone();
    bad["ca"] = "wrong.pem".into();
    let text = provider.config(&good, "auto").to_string();
    let gateway = Gateway::start_in(folder, &text).await;
    for (tls, http, status) in [
        (&good, "auto", 200),
        (&bad, "auto", 502),
        (&good, "http1", 200),
        (&bad, "http1", 502),
        (&good, "auto", 200),
    ] {
        let text = provider.config(tls, http).to_string();
        gateway.folder.replace("routes.yaml", text);
        let reloaded = gateway.page("POST", "/reload").await;
        assert_eq!(reloaded.status, 200, "{}", reloaded.text());
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, status, "{http}: {}", answer.text());
    }
}

/// A provider with TLS that accepts no client certificate; returns its base URL.
async fn tls_provider(identity: &Identity, offered: &[&str]) -> String {
    const ANSWER: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\
        Content-Length: 2\r\nConnection: close\r\n\r\n{}";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let acceptor = TlsAcceptor::from(identity.server_config(offered));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                use tokio::io::{AsyncReadExt, AsyncWriteExt};
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    return;
                };
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(ANSWER).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    url
}

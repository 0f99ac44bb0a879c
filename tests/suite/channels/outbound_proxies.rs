//! Tests of proxies between the gateway and providers: HTTP CONNECT and SOCKS5, with credentials and without.

use crate::configuration::check::{changed, check};
use crate::harness::certificates::Authority;
use crate::harness::config::{self, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::outbound_proxy::{ProxyBehaviour, RecordingProxy, TunnelRequest};
use crate::harness::request::ANN;
use crate::harness::{Gateway, PROTOCOLS, Request, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const USER: &str = "gate";
const PASSWORD: &str = "sk-proxy-canary:41f7/a";
/// User and password as they stand in a URL.
const CREDENTIAL: &str = "gate:sk-proxy-canary%3A41f7%2Fa";
/// A name that only the proxy knows.
const HOST: &str = "provider.invalid";

/// A configuration whose channels are at a name that only the proxy knows.
fn behind(proxy: &str) -> Value {
    let mut config = config::standard(&format!("http://{HOST}:8000/v1"));
    config::without_cool_downs(&mut config);
    for channel in config["channels"].as_object_mut().unwrap().values_mut() {
        channel["proxy"] = json!(proxy);
    }
    config
}

#[tokio::test]
async fn requests_go_through_the_proxy_of_their_channel_which_resolves_the_name() {
    let simulator = Simulator::start().await;
    for (scheme, credential, expected) in [
        ("http", "", None),
        ("http", CREDENTIAL, Some(format!("{USER}:{PASSWORD}"))),
        ("socks5", "", None),
        ("socks5", CREDENTIAL, Some(format!("{USER}:{PASSWORD}"))),
        ("socks5h", "", None),
    ] {
        let proxy = RecordingProxy::start(ProxyBehaviour::Tunnel(simulator.address)).await;
        let gateway = Gateway::start(&behind(&proxy.url(scheme, credential))).await;
        for protocol in PROTOCOLS {
            for request in [Request::ask(protocol), Request::ask_stream(protocol)] {
                let answer = gateway.ask(&request).await;
                assert_eq!(
                    (answer.status, answer.whole),
                    (200, true),
                    "{scheme}: {}",
                    answer.text()
                );
            }
        }
        let tunnel = TunnelRequest {
            target: format!("{HOST}:8000"),
            credential: expected,
        };
        let requests = proxy.requests();
        // Connections are kept: those of two channels on two workers.
        assert!((2..=4).contains(&requests.len()), "{requests:?}");
        assert!(
            requests.iter().all(|request| *request == tunnel),
            "{requests:?}"
        );
    }
    for record in simulator.records().await {
        assert_eq!(record["headers"]["host"], format!("{HOST}:8000"));
        assert_eq!(record["headers"].get("proxy-authorization"), None);
    }
}

#[tokio::test]
async fn tls_is_spoken_with_the_provider_through_the_tunnel_over_both_versions_of_http() {
    let simulator = Simulator::start().await;
    let authority = Authority::new();
    let folder = folder_with_schemas();
    // The gateway's own listener serves as the provider with TLS.
    let mut provider = config::standard(&simulator.url());
    provider["server"]["tls"] = authority.server().write(&folder, "server");
    let provider = Gateway::start_in(folder, &provider.to_string()).await;
    for (scheme, http) in [("http", "http1"), ("http", "http2"), ("socks5", "auto")] {
        let proxy = RecordingProxy::start(ProxyBehaviour::Tunnel(provider.address)).await;
        let folder = folder_with_schemas();
        folder.write("ca.pem", authority.pem());
        let mut config = config::standard("https://gate.test/v1");
        for name in ["openai", "messages"] {
            let channel = &mut config["channels"][name];
            channel["proxy"] = json!(proxy.url(scheme, CREDENTIAL));
            channel["tls"] = json!({"ca": "ca.pem"});
            channel["http"] = json!(http);
            channel["credential"] = json!({"bearer": ANN});
            channel["models"] = json!({"demo-large": "demo-large", "demo-small": "demo-small"});
        }
        let gateway = Gateway::start_in(folder, &config.to_string()).await;
        for protocol in PROTOCOLS {
            let answer = gateway.ask(&Request::ask_stream(protocol)).await;
            assert_eq!(
                (answer.status, answer.whole),
                (200, true),
                "{http}: {}",
                answer.text()
            );
        }
        assert!(
            proxy
                .targets()
                .iter()
                .all(|target| target == "gate.test:443")
        );
        assert!(!proxy.targets().is_empty());
    }
}

#[tokio::test]
async fn a_tunnel_that_is_not_made_is_an_error_of_the_protocol_and_leads_to_the_next_channel() {
    let simulator = Simulator::start().await;
    let tunnel = ProxyBehaviour::Respond;
    for (scheme, behaviour, status, reason) in [
        (
            "http",
            tunnel(
                "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
            ),
            502,
            "it refused: 407 Proxy Authentication Required",
        ),
        (
            "http",
            tunnel("HTTP/1.1 403 No\r\n\r\n"),
            502,
            "it refused: 403 Forbidden",
        ),
        (
            "http",
            tunnel("HTTP/1.1 502 Bad Gateway\r\n\r\n<html>"),
            502,
            "it refused: 502 Bad Gateway",
        ),
        (
            "http",
            tunnel("220 smtp.example ready\r\n\r\n"),
            502,
            "its response is not HTTP/1.1",
        ),
        (
            "http",
            tunnel("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
            502,
            "bytes after its response",
        ),
        ("http", ProxyBehaviour::Close, 502, "closed the connection"),
        ("http", ProxyBehaviour::Hang, 504, ""),
        (
            "socks5",
            ProxyBehaviour::RefuseSocks(2),
            502,
            "its rules do not allow the connection",
        ),
        (
            "socks5",
            ProxyBehaviour::RefuseSocks(5),
            502,
            "connection refused",
        ),
        (
            "socks5",
            ProxyBehaviour::RefuseCredential,
            502,
            "it refused: user and password",
        ),
        ("socks5", ProxyBehaviour::Close, 502, "eof"),
        ("socks5", ProxyBehaviour::Hang, 504, ""),
    ] {
        let proxy = RecordingProxy::start(behaviour).await;
        let mut config = behind(&proxy.url(scheme, CREDENTIAL));
        for name in ["openai", "messages"] {
            config["channels"][name]["timeouts"] = json!({"connect": "300ms"});
        }
        let gateway = Gateway::start(&config).await;
        for protocol in PROTOCOLS {
            let answer = gateway.ask(&Request::ask(protocol)).await;
            let message = assert_error_body(protocol, &answer, status);
            let proxy_url = format!("{scheme}://{}", proxy.address);
            assert!(!message.contains(&proxy.address.to_string()), "{message}");
            let line = gateway.log_of(&answer).await;
            if !reason.is_empty() {
                let detail = line["error_detail"].as_str().unwrap();
                assert!(
                    detail.contains(reason) && detail.contains(&proxy_url),
                    "{line}"
                );
            }
        }
        if !reason.is_empty() {
            let logged = eventually("a line about the proxy", async || {
                gateway
                    .process
                    .stderr
                    .find_json("message", "outbound proxy made no tunnel")
            });
            let logged = logged.await;
            assert_eq!(
                logged["proxy"],
                format!("{scheme}://{}", proxy.address),
                "{logged}"
            );
            assert_eq!(
                (&logged["host"], &logged["port"]),
                (&json!(HOST), &json!(8000))
            );
        }
        assert!(!gateway.output().contains("sk-proxy-canary"));
        // Nothing was sent, so that the next channel may serve the request, whatever it costs.
        config["channels"]["direct"] = channel(
            &simulator.url(),
            &["chat"],
            json!({"bearer": "sk-direct-canary-55aa"}),
        );
        config["channels"]["direct"]["tier"] = json!(1);
        gateway.reload(&config).await;
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 200, "{behaviour:?}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_proxy_that_cannot_be_reached_is_an_error_that_names_it() {
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = closed.local_addr().unwrap();
    for (url, reason) in [
        (
            format!("http://{CREDENTIAL}@{address}"),
            format!("cannot connect to the proxy http://{address}"),
        ),
        (
            format!("socks5://{CREDENTIAL}@{address}"),
            format!("cannot connect to the proxy socks5://{address}"),
        ),
        (
            format!("http://{CREDENTIAL}@proxy.invalid:3128"),
            "DNS lookup of `proxy.invalid` failed".into(),
        ),
    ] {
        let gateway = Gateway::start(&behind(&url)).await;
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_error_body(Protocol::Chat, &answer, 502);
        let line = gateway.log_of(&answer).await;
        assert!(
            line["error_detail"].as_str().unwrap().contains(&reason),
            "{line}"
        );
        assert!(!gateway.output().contains("sk-proxy-canary"));
    }
}

#[tokio::test]
async fn a_connection_is_never_shared_between_two_proxies() {
    let simulator = Simulator::start().await;
    let [first, second] = [
        RecordingProxy::start(ProxyBehaviour::Tunnel(simulator.address)).await,
        RecordingProxy::start(ProxyBehaviour::Tunnel(simulator.address)).await,
    ];
    let gateway = Gateway::start(&behind(&first.url("http", ""))).await;
    let asked = async |proxy: &RecordingProxy, before: usize| {
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(proxy.requests().len(), before + 1);
    };
    asked(&first, 0).await;
    gateway.reload(&behind(&second.url("http", ""))).await;
    asked(&second, 0).await;
    // Another user of the same proxy has connections of its own.
    gateway
        .reload(&behind(&second.url("http", CREDENTIAL)))
        .await;
    asked(&second, 1).await;
    assert_eq!(first.requests().len(), 1);
}

#[test]
fn a_proxy_that_cannot_work_is_an_error_without_its_password() {
    for (proxy, reason) in [
        ("proxy.example:3128", "a proxy is a URL such as"),
        (
            "https://u:pw-canary@proxy.example:3128",
            "TLS to a proxy is not supported",
        ),
        (
            "socks4://u:pw-canary@proxy.example:1080",
            "the scheme of a proxy",
        ),
        (
            "http://u:pw-canary@proxy.example",
            "needs a host and a port",
        ),
        (
            "http://u:pw-canary@proxy.example:3128/path",
            "needs a host and a port",
        ),
    ] {
        let text = changed(
            "    protocols: [chat]\n",
            &format!("    protocols: [chat]\n    proxy: {proxy}\n"),
        );
        let egress = format!("egress: {{proxy: \"{proxy}\"}}\n");
        for text in [text, changed("callers:\n", &format!("{egress}callers:\n"))] {
            let printed = check(&text);
            assert!(!printed.success, "{proxy}");
            assert!(
                printed.stderr.contains(reason),
                "{proxy}: {}",
                printed.stderr
            );
            assert!(!printed.stderr.contains("pw-canary"), "{}", printed.stderr);
        }
    }
}

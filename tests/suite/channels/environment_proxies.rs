//! Tests of the proxies that variables of the environment name, and of the one for URLs of others.

use crate::harness::config;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::outbound_proxy::{ProxyBehaviour, RecordingProxy};
use crate::harness::process::Process;
use crate::harness::receiver::CallbackSetup;
use crate::harness::video::GENERIC;
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::net::SocketAddr;

/// User and password as they stand in a URL, and as a proxy gets them.
const CREDENTIAL: (&str, &str) = ("gate:sk-proxy-canary%3A41f7", "gate:sk-proxy-canary:41f7");

/// A gateway in whose environment these variables are.
async fn gateway_with(variables: &[(&str, String)], config: &Value) -> Gateway {
    let folder = folder_with_schemas();
    let file = folder.write("routes.yaml", format!("{config:#}"));
    let mut before: Vec<String> = Vec::new();
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "no_proxy",
        "NO_PROXY",
    ] {
        before.extend(["-u".to_owned(), name.to_owned()]);
    }
    before.extend(
        variables
            .iter()
            .map(|(name, value)| format!("{name}={value}")),
    );
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let args = ["run", "--config", file.to_str().unwrap()];
    Gateway::listening(Process::spawn_under("env", &before, &args), folder).await
}

#[tokio::test]
async fn the_variables_of_the_environment_count_only_where_a_channel_asks_for_them() {
    let simulator = Simulator::start().await;
    let proxy = RecordingProxy::start(ProxyBehaviour::Tunnel(simulator.address)).await;
    let url = proxy.url("http", CREDENTIAL.0);
    let bare = proxy.address.to_string();
    let socks = proxy.url("socks5", "");
    let own = simulator.address.ip().to_string();
    for (variables, setting, is_proxied) in [
        (
            vec![("http_proxy", url.clone()), ("ALL_PROXY", url.clone())],
            None,
            false,
        ),
        (vec![("http_proxy", url.clone())], Some("environment"), true),
        (vec![("HTTP_PROXY", bare)], Some("environment"), true),
        (vec![("ALL_PROXY", socks)], Some("environment"), true),
        (
            vec![("HTTPS_PROXY", url.clone())],
            Some("environment"),
            false,
        ),
        (
            vec![
                ("http_proxy", url.clone()),
                ("no_proxy", format!("localhost,{own}")),
            ],
            Some("environment"),
            false,
        ),
        (
            vec![("http_proxy", url), ("NO_PROXY", "x.example".into())],
            Some("environment"),
            true,
        ),
        (vec![], Some("environment"), false),
    ] {
        let mut config = config::standard(&simulator.url());
        if let Some(setting) = setting {
            config["channels"]["openai"]["proxy"] = json!(setting);
        }
        let gateway = gateway_with(&variables, &config).await;
        let before = proxy.requests().len();
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 200, "{variables:?}: {}", answer.text());
        let after = proxy.requests().len();
        assert_eq!(after - before, usize::from(is_proxied), "{variables:?}");
    }
}

#[tokio::test]
async fn with_a_proxy_for_urls_of_others_the_checked_address_is_what_it_connects_to() {
    let receiver =
        ScriptedProvider::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let proxy = RecordingProxy::start(ProxyBehaviour::Tunnel(receiver.address)).await;
    let url = proxy.url("socks5", CREDENTIAL.0);
    let setup = CallbackSetup::with("queue=100ms;run=100ms", |config| {
        config["egress"] = json!({"allow": ["localhost"], "proxy": url});
    })
    .await;
    let callback = format!("http://localhost:{}/done", receiver.address.port());
    let mut body =
        json!({"model": "demo-video-a", "prompt": "a gate", "ratio": "16:9", "duration": 5});
    body["callback_url"] = json!(callback);
    let created = setup
        .gateway
        .ask(&Request::post(GENERIC, body.to_string()))
        .await;
    assert_eq!(created.status, 200, "{}", created.text());
    eventually("a delivery", async || {
        (!receiver.requests().is_empty()).then_some(())
    })
    .await;
    for request in proxy.requests() {
        let target: SocketAddr = request.target.parse().unwrap();
        assert_eq!(target.port(), receiver.address.port());
        assert!(target.ip().is_loopback());
        assert_eq!(request.credential, Some(CREDENTIAL.1.to_owned()));
    }
    // What the policy does not allow never reaches the proxy.
    let before = proxy.requests().len();
    body["callback_url"] = json!("http://127.0.0.2:9/done");
    let refused = setup
        .gateway
        .ask(&Request::post(GENERIC, body.to_string()))
        .await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(proxy.requests().len(), before);
    let process = &setup.gateway.process;
    let written = [process.stdout.all(), process.stderr.all()]
        .concat()
        .join("\n");
    assert!(!written.contains("sk-proxy-canary"));
}

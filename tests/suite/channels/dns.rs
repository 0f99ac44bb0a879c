//! Tests of providers by host name: which name server is queried, how often, and which of several addresses is used.

use crate::harness::certificates::{Authority, SERVER};
use crate::harness::error_shape::assert_error_body;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::name_server::{NameServer, NameServerBehaviour};
use crate::harness::request::ANN;
use crate::harness::{
    Gateway, PATIENCE, Request, ScriptedProvider, ScriptedResponse, Simulator, config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::Instant;

const NAME: &str = "provider.test";
const LONG: u32 = 3600;

/// A configuration whose channels have a host name that only `names` resolves.
fn config_of(names: &NameServer, port: u16) -> Value {
    config_of_all(&[names], port)
}

/// The same with several name servers, in the order in which they are queried.
fn config_of_all(servers: &[&NameServer], port: u16) -> Value {
    let mut config = config::standard(&format!("http://{NAME}:{port}/v1"));
    let addresses = servers.iter().map(|server| server.address.to_string());
    config["server"]["dns"] = json!({"servers": addresses.collect::<Vec<_>>()});
    config
}

/// A provider on each of these loopback addresses, all with the same port, that responds with its number.
async fn providers(hosts: &[&str]) -> (u16, Vec<ScriptedProvider>) {
    'port: loop {
        let first = TcpListener::bind((hosts[0], 0)).await.unwrap();
        let port = first.local_addr().unwrap().port();
        let mut listeners = vec![first];
        for host in &hosts[1..] {
            match TcpListener::bind((*host, port)).await {
                Ok(listener) => listeners.push(listener),
                Err(_) => continue 'port,
            }
        }
        let numbered = listeners.into_iter().enumerate().map(|(number, listener)| {
            let body = json!({"object": "chat.completion", "number": number});
            let answer = json_response(200, body);
            ScriptedProvider::on(listener, vec![ScriptedResponse::Send(answer)])
        });
        return (port, numbered.collect());
    }
}

/// The number of the provider that responded.
async fn answered_by(gateway: &Gateway) -> Value {
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["number"].clone()
}

#[tokio::test]
async fn a_name_is_asked_for_once_as_long_as_the_answer_lives() {
    for manner in [NameServerBehaviour::AtOnce, NameServerBehaviour::TooLong] {
        let names = NameServer::start().await;
        names.behave(manner);
        let (port, _providers) = providers(&["127.0.0.1"]).await;
        names.reply_with(NAME, &["127.0.0.1"], LONG);
        let gateway = Gateway::start(&config_of(&names, port)).await;
        for _ in 0..20 {
            assert_eq!(answered_by(&gateway).await, 0);
        }
        let once_in_each_family = match manner {
            NameServerBehaviour::TooLong => 4,
            _ => 2,
        };
        assert_eq!(names.asked(NAME), once_in_each_family, "{manner:?}");
        let metrics = gateway.metrics().await;
        let found = [("host", NAME), ("result", "found")];
        assert_eq!(metrics.sum("headgate_dns_lookups_total", &found), 1.0);
    }
}

#[tokio::test]
async fn an_address_that_refuses_costs_no_request() {
    let names = NameServer::start().await;
    let (port, _providers) = providers(&["127.0.0.1"]).await;
    names.reply_with(NAME, &["127.0.0.2", "127.0.0.3", "127.0.0.1"], LONG);
    let gateway = Gateway::start(&config_of(&names, port)).await;
    for _ in 0..3 {
        assert_eq!(answered_by(&gateway).await, 0);
    }
    // An attempt is counted once its response was sent.
    let counted = async || {
        let metrics = gateway.metrics().await;
        let succeeded = metrics.sum("headgate_attempts_total", &[("outcome", "success")]);
        (succeeded == 3.0).then_some(metrics)
    };
    let metrics = eventually("three attempts", counted).await;
    assert_eq!(metrics.sum("headgate_attempts_total", &[]), 3.0);
}

#[tokio::test]
async fn an_address_that_never_ends_its_tls_handshake_is_overtaken_and_then_tried_last() {
    let simulator = Simulator::start().await;
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let mut config = config::standard(&simulator.url());
    config["server"]["tls"] = authority.server().write(&folder, "server");
    config["server"]["limits"] = json!({"keep_alive_timeout": "300ms"});
    let provider = Gateway::start_in(folder, &config.to_string()).await;
    let mute = SocketAddr::new([127, 0, 0, 2].into(), provider.address.port());
    let tried = count_connections(TcpListener::bind(mute).await.unwrap());

    let names = NameServer::start().await;
    names.reply_with(SERVER, &["127.0.0.2", "127.0.0.1"], LONG);
    let url = format!("https://{SERVER}:{}/v1", provider.address.port());
    let folder = folder_with_schemas();
    folder.write("ca.pem", authority.pem());
    let mut config = config::standard(&url);
    config["server"]["dns"] = json!({"servers": [names.address.to_string()]});
    let channel = &mut config["channels"]["openai"];
    channel["credential"] = json!({"bearer": ANN});
    channel["tls"] = json!({"ca": "ca.pem"});
    channel["timeouts"] = json!({"connect": PATIENCE.as_secs().to_string() + "s"});
    channel["models"]["demo-large"] = "demo-large".into();
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    for _ in 0..3 {
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let idle_ones_closed = async || {
            let metrics = provider.metrics().await;
            (metrics.sum("headgate_connections", &[]) == 0.0).then_some(())
        };
        eventually("no connection left to reuse", idle_ones_closed).await;
    }
    assert_eq!(tried.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn when_every_address_fails_the_log_names_them_and_the_caller_learns_none() {
    let names = NameServer::start().await;
    let (port, listening) = providers(&["127.0.0.1"]).await;
    names.reply_with(NAME, &["127.0.0.2", "::1", "127.0.0.3"], LONG);
    let gateway = Gateway::start(&config_of(&names, port)).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &answer, 502);
    assert!(!answer.text().contains("127.0.0"), "{}", answer.text());
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["error_code"], "upstream_unreachable", "{line}");
    let detail = line["error_detail"].as_str().unwrap();
    for address in ["127.0.0.2", "::1", "127.0.0.3"] {
        assert!(detail.contains(address), "{address} in: {detail}");
    }
    drop(listening);
}

#[tokio::test]
async fn when_no_address_connects_in_time_the_log_names_them() {
    let names = NameServer::start().await;
    let mute = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let url = format!("https://{NAME}:{}/v1", mute.local_addr().unwrap().port());
    names.reply_with(NAME, &["127.0.0.2"], LONG);
    let _tried = count_connections(mute);
    let mut config = config_of(&names, 1);
    config["channels"]["openai"]["base_url"] = url.into();
    config["channels"]["openai"]["timeouts"] = json!({"connect": "400ms"});
    let mut gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &answer, 504);
    let line = gateway
        .process
        .wait_for_line("could not connect to any address in time")
        .await;
    assert!(line["addresses"].as_str().unwrap().contains("127.0.0.2"));
}

#[tokio::test]
async fn addresses_that_leave_the_name_are_left_and_those_of_old_serve_while_lookups_fail() {
    let names = NameServer::start().await;
    let (port, providers) = providers(&["127.0.0.1", "127.0.0.2"]).await;
    names.reply_with(NAME, &["127.0.0.1"], 1);
    let gateway = Gateway::start(&config_of(&names, port)).await;
    assert_eq!(answered_by(&gateway).await, 0);
    names.reply_with(NAME, &["127.0.0.2"], 1);
    let moved = async || (answered_by(&gateway).await == 1).then_some(());
    eventually("the new address", moved).await;
    let before = providers[0].requests().len();

    names.behave(NameServerBehaviour::Failing);
    let failed = async || {
        assert_eq!(answered_by(&gateway).await, 1);
        let failed = [("host", NAME), ("result", "failed")];
        let metrics = gateway.metrics().await;
        (metrics.sum("headgate_dns_lookups_total", &failed) > 0.0).then_some(())
    };
    eventually("a failed lookup", failed).await;
    names.behave(NameServerBehaviour::Never);
    for _ in 0..20 {
        assert_eq!(answered_by(&gateway).await, 1);
    }
    // The idle connection to it is still open.
    assert_eq!(providers[0].requests().len(), before);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_serves_as_soon_as_it_does() {
    let names = NameServer::start().await;
    let (port, _providers) = providers(&["127.0.0.1"]).await;
    let gateway = Gateway::start(&config_of(&names, port)).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &answer, 502);
    assert!(!answer.text().contains(NAME), "{}", answer.text());
    let line = gateway.log_of(&answer).await;
    let detail = line["error_detail"].as_str().unwrap();
    assert!(detail.contains(NAME), "{detail}");
    names.reply_with(NAME, &["127.0.0.1"], LONG);
    let serves = async || {
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        (answer.status == 200).then_some(())
    };
    eventually("an answer", serves).await;
}

#[tokio::test]
async fn a_silent_name_server_holds_up_only_who_needs_it_and_the_deadline_ends_that() {
    let names = NameServer::start().await;
    names.behave(NameServerBehaviour::Never);
    let simulator = Simulator::start().await;
    let mut config = config_of(&names, 1);
    let url = format!("http://localhost:{}/v1", simulator.address.port());
    config["channels"]["messages"]["base_url"] = url.into();
    config["channels"]["openai"]["timeouts"] = json!({"connect": "400ms"});
    config["server"]["workers"] = 1.into();
    let gateway = Gateway::start(&config).await;
    let waiting = Request::ask(Protocol::Chat);
    let began = Instant::now();
    let (answer, ()) = tokio::join!(gateway.ask(&waiting), async {
        for _ in 0..5 {
            let answer = gateway.ask(&Request::ask(Protocol::Messages)).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    });
    assert_error_body(Protocol::Chat, &answer, 504);
    assert!(began.elapsed() >= Duration::from_millis(400));
}

#[tokio::test]
async fn a_name_server_that_is_late_is_waited_for() {
    let names = NameServer::start().await;
    names.behave(NameServerBehaviour::After(Duration::from_millis(300)));
    let (port, _providers) = providers(&["127.0.0.1"]).await;
    names.reply_with(NAME, &["127.0.0.1"], LONG);
    let gateway = Gateway::start(&config_of(&names, port)).await;
    assert_eq!(answered_by(&gateway).await, 0);
}

#[tokio::test]
async fn where_one_name_server_does_not_answer_the_next_one_does() {
    for manner in [NameServerBehaviour::Failing, NameServerBehaviour::Never] {
        let (first, second) = (NameServer::start().await, NameServer::start().await);
        first.behave(manner);
        let (port, _providers) = providers(&["127.0.0.1"]).await;
        second.reply_with(NAME, &["127.0.0.1"], LONG);
        let gateway = Gateway::start(&config_of_all(&[&first, &second], port)).await;
        assert_eq!(answered_by(&gateway).await, 0, "{manner:?}");
    }
}

#[tokio::test]
async fn a_name_server_is_not_asked_where_an_earlier_one_answers() {
    let (first, second) = (NameServer::start().await, NameServer::start().await);
    let (port, _providers) = providers(&["127.0.0.1"]).await;
    let gateway = Gateway::start(&config_of_all(&[&first, &second], port)).await;
    second.reply_with(NAME, &["127.0.0.1"], LONG);
    // A name that does not exist is cached, too.
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &answer, 502);
    first.reply_with(NAME, &["127.0.0.1"], LONG);
    let serves = async || {
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        (answer.status == 200).then_some(())
    };
    eventually("an answer", serves).await;
    assert_eq!(second.asked(NAME), 0);
}

#[tokio::test]
async fn questions_for_ipv6_addresses_that_are_not_answered_hold_up_no_request() {
    let names = NameServer::start().await;
    names.behave(NameServerBehaviour::SilentForIpv6);
    let (port, _providers) = providers(&["127.0.0.1"]).await;
    names.reply_with(NAME, &["127.0.0.1"], LONG);
    let mut config = config_of(&names, port);
    // A name server has more time than that to respond.
    config["channels"]["openai"]["timeouts"] = json!({"connect": "900ms"});
    let gateway = Gateway::start(&config).await;
    assert_eq!(answered_by(&gateway).await, 0);
}

/// Accepts connections, counts them, and sends nothing.
fn count_connections(listener: TcpListener) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            open.push(stream);
        }
    });
    count
}

//! Tests that invalid and hostile responses do not affect the next request, which uses a clean connection.

use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config, eventually};
use headgate_protocol::Protocol;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinSet;

const GOOD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"id\":\"ok\"}";
const JSON: &str = "Content-Type: application/json\r\n";

async fn before(provider: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    Gateway::start(&config).await
}

/// Responses after which a connection is not reused, though it stays open.
fn odd_responses() -> Vec<String> {
    let with = |lines: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{JSON}{lines}\r\n{body}");
    let chunked = |body: &str| with("Transfer-Encoding: chunked\r\n", body);
    let status = |line: &str, lines: &str, body: &str| format!("{line}\r\n{lines}\r\n{body}");
    vec![
        // Bytes after the end of the body.
        with("Content-Length: 2\r\n", "{}X"),
        with("Content-Length: 2\r\n", "{}\r\n"),
        with("Content-Length: 2\r\n", &format!("{{}}{GOOD}")),
        with("Content-Length: 0\r\n", "{}"),
        chunked("2\r\n{}\r\n0\r\n\r\nX"),
        chunked("2\r\n{}\r\n0\r\n\r\n\r\n"),
        // Two framings, or an unknown one.
        with(
            "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        with(
            "Transfer-Encoding: chunked\r\nContent-Length: 99\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        with("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
        with("Content-Length: 2, 2\r\n", "{}"),
        with("Content-Length: 2\r\nContent-Length: 3\r\n", "{}"),
        with(
            "Transfer-Encoding: chunked, chunked\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        with(
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        with(
            "Transfer-Encoding: identity, chunked\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        with(
            "Transfer-Encoding: xchunked, chunked\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        // A body where none is allowed.
        status("HTTP/1.1 204 No Content", "Content-Length: 2\r\n", "{}"),
        status("HTTP/1.1 204 No Content", "Content-Length: 2\r\n", ""),
        status(
            "HTTP/1.1 204 No Content",
            "Transfer-Encoding: chunked\r\n",
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        status(
            "HTTP/1.1 304 Not Modified",
            "Transfer-Encoding: chunked\r\n",
            "",
        ),
        // Unsolicited informational responses.
        format!("HTTP/1.1 100 Continue\r\n\r\n{GOOD}"),
        format!("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n{GOOD}"),
        format!("HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\n{{}}{GOOD}"),
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n{GOOD}"
        ),
        format!("HTTP/1.1 199 What\r\n\r\n{GOOD}"),
        // Heads that parsers read differently.
        status(
            "HTTP/1.0 200 OK",
            &format!("{JSON}Content-Length: 2\r\nConnection: keep-alive\r\n"),
            "{}",
        ),
        status(
            "HTTP/1.0 200 OK",
            &format!("{JSON}Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n"),
            "2\r\n{}\r\n0\r\n\r\n",
        ),
        with("Connection: close\r\nContent-Length: 2\r\n", "{}"),
        with(
            "Connection: keep-alive\r\nConnection: close\r\nContent-Length: 2\r\n",
            "{}",
        ),
        with(
            "Connection: keep-alive, close\r\nContent-Length: 2\r\n",
            "{}",
        ),
        with("Content-Length : 2\r\n", "{}"),
        with("X-A: b\r\n c\r\nContent-Length: 2\r\n", "{}"),
        with("Content-Length: 2\r\n", "{}").replace("\r\n", "\n"),
        with("X-A: b\nContent-Length: 2\r\n", "{}"),
        format!("\r\n{GOOD}"),
        format!("\r\n\r\n{GOOD}"),
        format!("X{GOOD}"),
        format!("{{}}{GOOD}"),
        "garbage\r\n\r\n".into(),
        status("HTTP/1.1 200", "Content-Length: 2\r\nbad line\r\n", "{}"),
        status("HTTP/2 200", "Content-Length: 2\r\n", "{}"),
        status("HTTP/1.1 20", "Content-Length: 2\r\n", "{}"),
        with("X-A: \u{0}\r\nContent-Length: 2\r\n", "{}"),
        // Chunks that violate the grammar.
        chunked("2\r\n{}\r\n\r\n"),
        chunked("\r\n"),
        chunked("2\n{}\n0\n\n"),
        chunked("2 \r\n{}\r\n0\r\n\r\n"),
        chunked("2;\r\n{}\r\n0\r\n\r\n"),
        chunked("2;a=\"b\r\n{}\r\n0\r\n\r\n"),
        chunked("2;a\n{}\r\n0\r\n\r\n"),
        chunked("2\r\n{}\r\n0\r\nno trailer\r\n\r\n"),
        chunked("0x2\r\n{}\r\n0\r\n\r\n"),
        chunked("-2\r\n{}\r\n0\r\n\r\n"),
        chunked("fffffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
        chunked("2\r\n{}0\r\n\r\n"),
        chunked("3\r\n{}\r\n0\r\n\r\n"),
        chunked("2;a=b\r\n{}\r\n0\r\n\r\n"),
        chunked("2\r\n{}\r\n0\r\nx-t: 1\r\n\r\n"),
    ]
}

#[tokio::test]
async fn a_connection_whose_response_was_odd_is_not_used_again() {
    let provider = ScriptedProvider::answering(GOOD).await;
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    for name in ["openai", "messages"] {
        config["channels"][name]["timeouts"] =
            serde_json::json!({"first_byte": "1s", "idle": "1s"});
    }
    let gateway = Gateway::start(&config).await;
    for odd in odd_responses() {
        provider.next(vec![ScriptedResponse::Send(odd.clone().into())]);
        let before = provider.connections().len();
        let first = gateway.ask(&Request::ask(Protocol::Chat)).await;
        let asked = provider.connections().len();
        for _ in 0..2 {
            let next = gateway.ask(&Request::ask(Protocol::Chat)).await;
            assert_eq!(
                (next.status, next.text()),
                (200, "{\"id\":\"ok\"}".into()),
                "behind {odd:?}, answered {} {}",
                first.status,
                first.text()
            );
        }
        let connections = provider.connections();
        let (spoiled, after) = (connections[before], &connections[asked..]);
        assert!(!after.contains(&spoiled), "behind {odd:?}: {connections:?}");
    }
}

#[tokio::test]
async fn an_ordinary_response_leaves_its_connection_to_the_next_request() {
    let with = |lines: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{JSON}{lines}\r\n{body}");
    let chunked = |body: &str| with("Transfer-Encoding: chunked\r\n", body);
    for good in [
        GOOD.to_string(),
        chunked("2\r\n{}\r\n0\r\n\r\n"),
        with(
            "transfer-encoding: Chunked\r\nKeep-Alive: timeout=5\r\n",
            "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        ),
        with("Connection: keep-alive\r\nContent-Length: 2\r\n", "{}"),
        with("connection: Keep-Alive\r\nContent-Length: 2\r\n", "{}"),
        "HTTP/1.1 429 \r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
            .to_string(),
    ] {
        let provider = ScriptedProvider::answering(good.clone()).await;
        let gateway = before(&provider).await;
        for _ in 0..3 {
            let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
            // A caller receives its response shortly before the connection is released.
            gateway.log_of(&answer).await;
        }
        assert_eq!(provider.connections(), [0, 0, 0], "{good:?}");
    }
}

#[tokio::test]
async fn bytes_that_come_late_spoil_no_request() {
    let provider = ScriptedProvider::answering(GOOD).await;
    let gateway = before(&provider).await;
    for late in [
        "X",
        "\r\n",
        "garbage\r\n\r\n",
        "0\r\n\r\n",
        "{}",
        "HTTP/1.1 200 OK\r\nbad\r\n\r\n",
    ] {
        for delay in [0, 2, 20, 100] {
            provider.next(vec![
                ScriptedResponse::Send(GOOD.into()),
                ScriptedResponse::Wait(Duration::from_millis(delay)),
                ScriptedResponse::Send(late.into()),
            ]);
            for request in 0..3 {
                let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
                assert_eq!(
                    (answer.status, answer.text()),
                    (200, "{\"id\":\"ok\"}".into()),
                    "request {request} with {late:?} after {delay} ms"
                );
            }
        }
    }
}

/// Leaves connections in the empty pool of a gateway; each ends in this way when it has received another request.
async fn fill_pool(
    gateway: &Gateway,
    provider: &ScriptedProvider,
    connections: usize,
    end: &ScriptedResponse,
) {
    let sent = provider.requests().len();
    let mut held = Vec::new();
    for _ in 0..connections {
        let response = Arc::new(Notify::new());
        provider.next(vec![
            ScriptedResponse::WaitFor(response.clone()),
            ScriptedResponse::Send(GOOD.into()),
            ScriptedResponse::Read,
            end.clone(),
        ]);
        held.push(response);
    }
    let mut together = JoinSet::new();
    for _ in 0..connections {
        let mut connection = gateway.connect().await;
        together.spawn(async move { connection.ask(&Request::ask(Protocol::Chat)).await });
    }
    eventually("a connection of each request", async || {
        (provider.requests().len() == sent + connections).then_some(())
    })
    .await;
    held.iter().for_each(|response| response.notify_one());
    for answer in together.join_all().await {
        assert_eq!(answer.status, 200, "{}", answer.text());
        // An exchange is logged after its connection has returned to the pool.
        gateway.log_of(&answer).await;
    }
}

#[tokio::test]
async fn a_request_on_a_dead_connection_is_sent_again_if_that_is_safe() {
    /// What ends later after the write may be the end of a request that the provider has worked on.
    const AT_ONCE: Duration = Duration::from_millis(50);
    for end in [ScriptedResponse::Close, ScriptedResponse::Reset] {
        let provider = ScriptedProvider::answering(GOOD).await;
        let is_sent_again = async || {
            let gateway = before(&provider).await;
            fill_pool(&gateway, &provider, 5, &end).await;
            let (sent, began) = (provider.requests().len(), Instant::now());
            let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
            let sent = provider.requests().len() - sent;
            if answer.status != 200 && began.elapsed() > AT_ONCE {
                assert_eq!(sent, 1, "{}", answer.text());
                return None;
            }
            // Once on a connection that was closed, and once on a new one.
            assert_eq!((answer.status, sent), (200, 2), "{}", answer.text());
            Some(())
        };
        eventually("a connection that ends at once", is_sent_again).await;
    }
}

#[tokio::test]
async fn what_is_created_at_a_provider_is_created_once() {
    let provider = ScriptedProvider::answering(GOOD).await;
    let mut config = config::standard(&provider.url());
    config::add_stored_objects(&mut config);
    let mut expected = 0;
    for path in [
        "/v1/containers",
        "/v1/vector_stores",
        "/v1/uploads",
        "/v1/files",
    ] {
        let gateway = Gateway::start(&config).await;
        // Each of the connections in the pool closes when it is written to.
        fill_pool(&gateway, &provider, 3, &ScriptedResponse::Close).await;
        let created = gateway.ask(&Request::post(path, "{\"name\":\"x\"}")).await;
        assert_eq!(created.status, 200, "{path}: {}", created.text());
        expected += 1;
        let requests = provider.requests();
        let creates = requests.iter().filter(|sent| !sent.contains("/chat/"));
        assert_eq!(creates.count(), expected, "{path}");
    }
}

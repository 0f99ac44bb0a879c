//! Tests of spooled bodies: they are in unlinked files, forwarded byte for byte, and refused if the disk is full.

use crate::harness::gateway::folder_with_schemas;
use crate::harness::{
    Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const MIB: usize = 1 << 20;
const ABOVE: usize = 8 * MIB;
/// A part of the former name of a spool file, which the system still shows.
const SPOOL: &str = "headgate-spool";

/// A provider that reads bodies only when it is allowed to, and records them.
struct SpooledBytes {
    address: SocketAddr,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
    heads: Arc<Mutex<usize>>,
    open: watch::Sender<bool>,
}

impl SpooledBytes {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let held = Self {
            address: listener.local_addr().unwrap(),
            bodies: Arc::default(),
            heads: Arc::default(),
            open: watch::channel(false).0,
        };
        let (bodies, heads) = (held.bodies.clone(), held.heads.clone());
        let open = held.open.subscribe();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, bodies.clone(), heads.clone(), open.clone()));
            }
        });
        held
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Waits until `count` requests have begun to arrive.
    async fn until_begun(&self, count: usize) {
        let begun = async || (*self.heads.lock().unwrap() >= count).then_some(());
        eventually("requests at the provider", begun).await;
    }

    fn bodies(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.bodies.lock().unwrap())
    }
}

async fn take(
    mut stream: TcpStream,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
    heads: Arc<Mutex<usize>>,
    mut open: watch::Receiver<bool>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    *heads.lock().unwrap() += 1;
    open.wait_for(|open| *open).await.unwrap();
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    bodies.lock().unwrap().push(body);
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\
                  Connection: close\r\n\r\n{}";
    let _ = stream.write_all(answer.as_bytes()).await;
}

/// A chat request of exactly `bytes` bytes with an image in it.
fn body_of(bytes: usize) -> String {
    let (begin, end) = (
        "{\"model\":\"demo-large\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\
         \"image_url\":{\"url\":\"data:image/png;base64,",
        "\"}}]}]}",
    );
    let image = "iVBORw0KGgo".repeat(bytes / 11 + 1);
    format!("{begin}{}{end}", &image[..bytes - begin.len() - end.len()])
}

fn renamed(body: &str) -> String {
    body.replacen("\"demo-large\"", "\"sim-large-2026-08\"", 1)
}

/// The standard configuration with limits for large bodies.
fn config_before(provider: &str) -> Value {
    let mut config = config::standard(provider);
    config["chains"]["body"] = json!([
        "require_json",
        "authenticate",
        {"limit_body": "1GiB"},
        "route_model"
    ]);
    config["server"]["spool"] = json!({"folder": "spool"});
    config::without_cool_downs(&mut config);
    config
}

async fn gateway_before(provider: &str) -> Gateway {
    let folder = folder_with_schemas();
    std::fs::create_dir(folder.path().join("spool")).unwrap();
    Gateway::start_in(folder, &config_before(provider).to_string()).await
}

#[tokio::test]
async fn a_body_arrives_byte_for_byte_and_lies_in_a_file_once_it_is_large() {
    for (bytes, spooled) in [
        (ABOVE - 1, false),
        (ABOVE, false),
        (ABOVE + 1, true),
        (50_000_000, true),
    ] {
        let body = body_of(bytes);
        for chunk in [None, Some(60_000)] {
            let provider = SpooledBytes::start().await;
            let gateway = gateway_before(&provider.url()).await;
            let request = Request::to(Protocol::Chat, body.clone());
            let request = match chunk {
                Some(size) => request.chunked(size),
                None => request,
            };
            let asked = async { gateway.ask(&request).await };
            let looked = async {
                provider.until_begun(1).await;
                let is_mapped = gateway.process.maps(SPOOL);
                assert_eq!(is_mapped, spooled, "{bytes} bytes, chunks of {chunk:?}");
                let spool = gateway.folder.path().join("spool");
                assert_eq!(std::fs::read_dir(spool).unwrap().count(), 0);
                provider.open.send_replace(true);
            };
            let (answer, ()) = tokio::join!(asked, looked);
            assert_eq!(answer.status, 200, "{}", answer.text());
            let [received] = &provider.bodies()[..] else {
                panic!("one body is sent");
            };
            // Not `assert_eq`, which would print megabytes.
            assert!(
                received == renamed(&body).as_bytes(),
                "{bytes} bytes, chunks of {chunk:?}"
            );
            let let_go = async || (!gateway.process.maps(SPOOL)).then_some(());
            eventually("the end of the spool", let_go).await;
        }
    }
}

#[tokio::test]
async fn ten_bodies_of_fifty_megabytes_at_once_take_little_memory_of_the_gateways_own() {
    const BODIES: usize = 10;
    let provider = SpooledBytes::start().await;
    let gateway = gateway_before(&provider.url()).await;
    let before = gateway.process.anonymous_bytes();
    let request = Arc::new(Request::to(Protocol::Chat, body_of(50_000_000)).bytes());
    let mut asked = Vec::new();
    for _ in 0..BODIES {
        let mut connection = gateway.connect().await;
        let request = request.clone();
        asked.push(tokio::spawn(async move {
            connection.send(&request).await.unwrap();
            connection.answer().await.unwrap().status
        }));
    }
    provider.until_begun(BODIES).await;
    // All ten are buffered now, and the provider has read none.
    let grown = gateway.process.anonymous_bytes().saturating_sub(before);
    let most = (64 * MIB) as u64;
    assert!(grown < most, "{grown} bytes for {BODIES} bodies");
    provider.open.send_replace(true);
    for status in asked {
        assert_eq!(status.await.unwrap(), 200);
    }
    let expected = renamed(&body_of(50_000_000));
    let bodies = provider.bodies();
    assert_eq!(bodies.len(), BODIES);
    assert!(bodies.iter().all(|body| body == expected.as_bytes()));
}

#[tokio::test]
async fn a_spooled_body_is_sent_again_to_the_next_channel() {
    let bad = ScriptedProvider::start(vec![
        ScriptedResponse::Send(
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_vec(),
        ),
        ScriptedResponse::Close,
    ])
    .await;
    let good = Simulator::start().await;
    let mut config = config_before(&bad.url());
    config["channels"]["next"] = config["channels"]["openai"].clone();
    config["channels"]["next"]["base_url"] = good.url().into();
    config["channels"]["next"]["tier"] = 1.into();
    let folder = folder_with_schemas();
    std::fs::create_dir(folder.path().join("spool")).unwrap();
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    let body = body_of(20 * MIB);
    let answer = gateway
        .ask(&Request::to(Protocol::Chat, body.clone()))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = renamed(&body);
    assert!(good.last_body().await == body.as_bytes());
    let requests = bad.requests();
    assert!(requests.len() == 1 && requests[0].ends_with(&body));
}

#[tokio::test]
async fn a_spooled_body_that_is_no_json_is_refused_with_its_place() {
    let provider = Simulator::start().await;
    let gateway = gateway_before(&provider.url()).await;
    let mut body = body_of(20 * MIB);
    body.pop();
    let answer = gateway.ask(&Request::to(Protocol::Chat, body)).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("invalid_json"), "{}", answer.text());
    assert!(!gateway.process.maps(SPOOL));
}

#[tokio::test]
async fn a_body_over_its_limit_is_refused_while_it_is_spooled() {
    let provider = Simulator::start().await;
    let mut config = config_before(&provider.url());
    config["chains"]["body"][2] = json!({"limit_body": "16MiB"});
    let folder = folder_with_schemas();
    std::fs::create_dir(folder.path().join("spool")).unwrap();
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    let request = Request::to(Protocol::Chat, body_of(20 * MIB)).chunked(60_000);
    let answer = gateway.ask(&request).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
}

#[tokio::test]
async fn a_full_spool_folder_gives_a_503_and_the_gateway_keeps_serving() {
    let provider = Simulator::start().await;
    let mut gateway = gateway_before(&provider.url()).await;
    let large = Request::to(Protocol::Chat, body_of(20 * MIB));
    type Spoil = fn(&Gateway);
    let no_folder: Spoil = |gateway| {
        std::fs::remove_dir(gateway.folder.path().join("spool")).unwrap();
    };
    let mut spoils = vec![(no_folder, "No such file")];
    if cfg!(target_os = "linux") {
        spoils.insert(0, (limit_files as Spoil, "File too large"));
    }
    for (times, (spoil, reason)) in spoils.into_iter().enumerate() {
        spoil(&gateway);
        for request in [large.clone(), large.clone().chunked(60_000)] {
            let answer = gateway.ask(&request).await;
            let text = answer.text();
            assert_eq!(answer.status, 503, "{text}");
            assert_eq!(answer.json()["error"]["code"], "overloaded", "{text}");
            assert!(text.contains("cannot store a request body"), "{text}");
            let line = gateway.log_of(&answer).await.to_string();
            assert!(line.contains(reason), "{line}");
        }
        let small = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(small.status, 200, "{}", small.text());
        let reported = async || {
            let output = gateway.process.stderr.json();
            let reported = output.iter().filter(|line| {
                line["message"] == "cannot write a request body to the spool folder"
            });
            (reported.count() == 2 * (times + 1)).then_some(())
        };
        eventually("a line for each body", reported).await;
        let metrics = gateway.metrics().await;
        let failures = metrics.sum("headgate_spool_failures_total", &[]);
        assert_eq!(failures, 2.0 * (times + 1) as f64);
    }
    assert!(gateway.process.ended().is_none());
}

/// Limits the size of the gateway's files to 10 MiB.
#[cfg(target_os = "linux")]
fn limit_files(gateway: &Gateway) {
    let limit = libc::rlimit {
        rlim_cur: 10 << 20,
        rlim_max: 10 << 20,
    };
    let id = libc::pid_t::try_from(gateway.process.id()).unwrap();
    // SAFETY: sets a limit of a child; `limit` is valid for the whole call.
    let set = unsafe {
        libc::prlimit(
            id,
            libc::RLIMIT_FSIZE,
            &raw const limit,
            std::ptr::null_mut(),
        )
    };
    assert_eq!(set, 0);
}

#[cfg(not(target_os = "linux"))]
fn limit_files(_: &Gateway) {}

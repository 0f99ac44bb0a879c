//! Tests of upgrades: a new process takes over without lost requests; one that fails changes nothing.

use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::Process;
use crate::harness::{
    Connection, Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, Simulator,
    TestSetup, WholeResponse, eventually,
};
use headgate_protocol::Protocol;
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

const UPGRADES: usize = 4;

/// The outcome of a load of requests.
#[derive(Default)]
struct Load {
    over: AtomicBool,
    good: AtomicUsize,
    streams: AtomicUsize,
    failed: AtomicUsize,
    /// The number of retries on a new connection, because an idle one was closed before any response.
    retried: AtomicUsize,
}

impl Load {
    /// Sends requests repeatedly, on one connection for as long as it lasts if `keep` is set.
    async fn ask(self: Arc<Self>, address: SocketAddr, request: Request, keep: bool) {
        let mut kept: Option<Connection> = None;
        while !self.over.load(Ordering::Relaxed) {
            let was_kept = kept.is_some();
            let connection = match kept.take() {
                Some(connection) => Some(connection),
                None => TcpStream::connect(address).await.ok().map(Connection::over),
            };
            let Some(mut connection) = connection else {
                self.failed.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let answer = match connection.send(&request.bytes()).await {
                Ok(()) => connection.answer().await,
                Err(_) => None,
            };
            match answer {
                Some(answer) if answer.status == 200 && answer.whole => {
                    self.good.fetch_add(1, Ordering::Relaxed);
                    if keep && answer.headers.get("connection") != Some("close") {
                        kept = Some(connection);
                    }
                }
                None if was_kept => {
                    self.retried.fetch_add(1, Ordering::Relaxed);
                }
                _ => {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Reads one stream after the other, each on its own connection.
    async fn stream(self: Arc<Self>, address: SocketAddr, request: Request) {
        while !self.over.load(Ordering::Relaxed) {
            let mut connection = Connection::to(address).await;
            let answer = connection.ask(&request).await;
            let counter = match answer.status == 200 && answer.whole {
                true => &self.streams,
                false => &self.failed,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upgrades_under_load_fail_no_request_and_cut_no_stream() {
    let TestSetup {
        mut gateway,
        simulator: _simulator,
    } = TestSetup::start().await;
    let (address, config) = (gateway.address, gateway.config());
    let load = Arc::new(Load::default());
    let mut tasks = JoinSet::new();
    for protocol in PROTOCOLS {
        let stream = Request::ask_stream(protocol).simulate("events=30; pace=20ms");
        let long = Request::ask_stream(protocol).simulate("events=200; pace=20ms");
        for keep in [false, true] {
            tasks.spawn(load.clone().ask(address, Request::ask(protocol), keep));
        }
        for stream in [stream.clone(), stream, long.clone(), long] {
            tasks.spawn(load.clone().stream(address, stream));
        }
    }
    let mut former = Vec::new();
    for _ in 0..UPGRADES {
        sleep(Duration::from_millis(700)).await;
        let next = gateway.successor(&config).await;
        gateway
            .process
            .wait_for_line("the new process has taken over")
            .await;
        former.push(std::mem::replace(&mut gateway, next));
    }
    sleep(Duration::from_millis(700)).await;
    load.over.store(true, Ordering::Relaxed);
    tasks.join_all().await;
    for mut process in former {
        let ended = async || process.process.ended();
        let status = eventually("the end of a former process", ended).await;
        assert!(status.success(), "{status}");
    }
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!(
        "{UPGRADES} upgrades: {} requests, {} streams, {} retried, {} failed",
        count(&load.good),
        count(&load.streams),
        count(&load.retried),
        count(&load.failed)
    );
    assert_eq!(count(&load.failed), 0);
    assert!(count(&load.good) > 0 && count(&load.streams) > 0);
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
}

#[tokio::test]
async fn the_successor_has_the_pages_and_the_former_process_lets_its_streams_end() {
    let (mut world, provider, stream_end) = world_with_a_stream().await;
    let mut reply = world.open(&Request::ask_stream(Protocol::Chat)).await;
    reply.until("data:").await;
    let changed = world
        .gateway
        .config()
        .replace("\"workers\": 2", "\"workers\": 1");
    let successor = world.gateway.successor(&changed).await;
    world
        .gateway
        .process
        .wait_for_line("the new process has taken over")
        .await;
    let revision = world
        .gateway
        .process
        .wait_for_line("headgate is listening")
        .await["revision"]
        .clone();
    // Until the former process has closed its admin listener, it may respond, or close a connection that it accepted.
    let five_in_a_row = async || {
        for _ in 0..5 {
            let page = page_if_answered(&successor, "/config").await?.json();
            let is_ready = page_if_answered(&successor, "/readyz").await?.status == 200;
            if page["revision"]["in_use"] == revision || !is_ready {
                return None;
            }
        }
        Some(())
    };
    eventually("five pages of the successor in a row", five_in_a_row).await;
    let answer = successor.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200);
    successor.log_of(&answer).await;
    assert!(world.gateway.log().is_empty(), "it still serves its stream");
    assert_eq!(provider.requests().len(), 2);
    // A supervisor may send SIGTERM to all processes: the stream still ends normally.
    world.gateway.process.signal(libc::SIGTERM);
    stream_end.notify_one();
    assert!(reply.rest().await.whole);
    ends(&mut world.gateway.process).await;
}

#[tokio::test]
async fn a_replaced_process_stops_at_once_on_a_second_sigterm() {
    let (mut world, _provider, _stream_end) = world_with_a_stream().await;
    let mut reply = world.open(&Request::ask_stream(Protocol::Chat)).await;
    reply.until("data:").await;
    let _successor = world.gateway.successor(&world.gateway.config()).await;
    world.gateway.process.wait_for_line("draining").await;
    world.gateway.process.signal(libc::SIGTERM);
    sleep(Duration::from_millis(200)).await;
    assert!(world.gateway.process.ended().is_none());
    world.gateway.process.signal(libc::SIGTERM);
    ends(&mut world.gateway.process).await;
    assert!(!reply.rest().await.whole);
}

#[tokio::test]
async fn a_successor_that_fails_leaves_the_running_process_as_it_is() {
    let mut world = TestSetup::start().await;
    let broken = folder_with_schemas();
    let (listen, admin) = (
        world.gateway.address.to_string(),
        world.gateway.admin.to_string(),
    );
    let no_certificate = world.gateway.config().replace(
        "\"workers\": 2",
        "\"tls\": {\"certificate\": \"none.pem\", \"key\": \"none.pem\"}",
    );
    for config in ["routes: 1", &no_certificate] {
        let file = broken.write("routes.yaml", config);
        let args = ["run", "--upgrade", "--config", file.to_str().unwrap()];
        let args = [&args[..], &["--listen", &listen, "--admin", &admin]].concat();
        let mut successor = Process::spawn(&args);
        let ended = async || successor.ended();
        let status = eventually("the end of the successor", ended).await;
        assert!(!status.success());
    }
    // The gateway goes on after a process connects to the handover socket without ever serving, and after SIGQUIT.
    let mut somebody = connect_to_name(world.gateway.address).await;
    assert!(somebody.read_u8().await.is_ok(), "it is offered sockets");
    somebody.write_u8(b'x').await.unwrap();
    drop(somebody);
    world
        .gateway
        .process
        .wait_for_line(
            "upgrade failed: the new process did not take over; this process keeps serving",
        )
        .await;
    world.gateway.process.signal(libc::SIGQUIT);
    for protocol in PROTOCOLS {
        let answer = world.ask(&Request::ask(protocol)).await;
        assert_eq!((answer.status, answer.whole), (200, true));
    }
    assert_eq!(world.gateway.page("GET", "/readyz").await.status, 200);
    // A later successor takes over all the same.
    let successor = world.gateway.successor(&world.gateway.config()).await;
    ends(&mut world.gateway.process).await;
    assert_eq!(
        successor.ask(&Request::ask(Protocol::Chat)).await.status,
        200
    );
}

#[tokio::test]
async fn a_process_that_gets_sigterm_during_a_handover_stops() {
    let mut world = TestSetup::start().await;
    let mut reply = world.open(&slow_stream()).await;
    reply.until("data:").await;
    let mut somebody = connect_to_name(world.gateway.address).await;
    assert!(somebody.read_u8().await.is_ok(), "it is offered sockets");
    world.gateway.process.signal(libc::SIGTERM);
    assert!(reply.rest().await.whole);
    ends(&mut world.gateway.process).await;
}

#[tokio::test]
async fn a_reload_during_a_handover_does_not_end_it() {
    let mut world = TestSetup::start().await;
    let mut successor = connect_to_name(world.gateway.address).await;
    assert!(successor.read_u8().await.is_ok(), "it is offered sockets");
    world.gateway.process.signal(libc::SIGHUP);
    world
        .gateway
        .process
        .wait_for_line("configuration loaded")
        .await;
    successor.write_u8(b'!').await.unwrap();
    ends(&mut world.gateway.process).await;
}

#[tokio::test]
async fn a_process_that_starts_is_not_ended_by_the_signal_for_a_reload() {
    let world = TestSetup::start().await;
    // The successor waits for the sockets of somebody who has none.
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = address.local_addr().unwrap();
    let predecessor = std::os::unix::net::UnixListener::bind_addr(&handover_name(address)).unwrap();
    let file = world.gateway.folder.path().join("routes.yaml");
    let (config, listen) = (file.to_str().unwrap(), address.to_string());
    let args = ["run", "--upgrade", "--config", config, "--listen", &listen];
    let mut successor = Process::spawn(&args);
    let accepting = tokio::task::spawn_blocking(move || predecessor.accept().unwrap());
    let (connection, _) = accepting.await.unwrap();
    successor.signal(libc::SIGHUP);
    successor.signal(libc::SIGUSR2);
    drop(connection);
    let status = eventually("the end", async || successor.ended()).await;
    let printed = successor.stderr.all().concat();
    assert_eq!(status.signal(), None, "{status}: {printed}");
    assert!(printed.contains("cannot take over"), "{printed}");
}

#[tokio::test]
async fn where_nobody_is_to_be_replaced_a_process_starts_as_usual() {
    let mut world = TestSetup::start().await;
    world.gateway.process.signal(libc::SIGTERM);
    ends(&mut world.gateway.process).await;
    let mut next = world.gateway.successor(&world.gateway.config()).await;
    next.process
        .wait_for_line("no running process found; starting as usual")
        .await;
    assert_eq!(next.ask(&Request::ask(Protocol::Chat)).await.status, 200);
}

#[tokio::test]
async fn a_process_starts_its_successor_on_a_signal() {
    let simulator = Simulator::start().await;
    let mut gateway = at_fixed_addresses(&simulator).await;
    gateway.process.signal(libc::SIGUSR2);
    let pid = gateway
        .process
        .wait_for_line("started the new process")
        .await["pid"]
        .clone();
    let _successor = OrphanProcess(pid.as_i64().unwrap().try_into().unwrap());
    ends(&mut gateway.process).await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
}

/// A gateway whose arguments contain its addresses: its successor is started with the same arguments.
async fn at_fixed_addresses(simulator: &Simulator) -> Gateway {
    let config = crate::harness::config::standard(&simulator.url());
    let mut first = Gateway::start(&config).await;
    let second = first.successor(&first.config()).await;
    ends(&mut first.process).await;
    second
}

/// A process that the test did not start; it is killed when the value is dropped.
struct OrphanProcess(libc::pid_t);

impl Drop for OrphanProcess {
    fn drop(&mut self) {
        // SAFETY: sends a signal to a process that the test has caused.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
    }
}

/// A gateway and a provider whose first response to a chat request is a stream that ends when it is notified.
async fn world_with_a_stream() -> (TestSetup, ScriptedProvider, Arc<Notify>) {
    const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 28\r\n\r\n\
        {\"object\":\"chat.completion\"}";
    let provider = ScriptedProvider::answering(WHOLE).await;
    let stream_end = Arc::new(Notify::new());
    provider.next(vec![
        ScriptedResponse::Send(STREAM.into()),
        ScriptedResponse::WaitFor(stream_end.clone()),
        ScriptedResponse::Send(b"data: [DONE]\n\n".into()),
        ScriptedResponse::Close,
    ]);
    let url = provider.url();
    let world =
        TestSetup::with(|config| config["channels"]["openai"]["base_url"] = url.into()).await;
    (world, provider, stream_end)
}

async fn page_if_answered(gateway: &Gateway, path: &str) -> Option<WholeResponse> {
    let mut connection = Connection::to(gateway.admin).await;
    let request = gateway.admin_request("GET", path);
    connection.send(&request.bytes()).await.ok()?;
    connection.answer().await
}

fn slow_stream() -> Request {
    Request::ask_stream(Protocol::Chat).simulate("events=60; pace=50ms")
}

async fn ends(process: &mut Process) {
    let status = eventually("the end of the process", async || process.ended()).await;
    assert!(status.success(), "{status}");
}

/// Connects to the handover socket of a gateway.
async fn connect_to_name(address: SocketAddr) -> tokio::net::UnixStream {
    let stream = std::os::unix::net::UnixStream::connect_addr(&handover_name(address)).unwrap();
    stream.set_nonblocking(true).unwrap();
    tokio::net::UnixStream::from_std(stream).unwrap()
}

/// The name of the handover socket of the gateway at an address.
fn handover_name(address: SocketAddr) -> std::os::unix::net::SocketAddr {
    // SAFETY: the call has no preconditions.
    let user = unsafe { libc::geteuid() };
    let name = format!("headgate/{user}/{address}");
    std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap()
}

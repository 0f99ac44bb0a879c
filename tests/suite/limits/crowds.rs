//! Tests of too many connections: the connection limit, slow handshakes, and a lack of file descriptors.

use crate::harness::certificates::Authority;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::{Connection, Gateway, Request, Simulator, TestSetup, config, eventually};
use headgate_protocol::Protocol;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

#[tokio::test]
async fn connections_in_a_tls_handshake_have_a_place_and_a_deadline() {
    const PLACES: usize = 4;
    let simulator = Simulator::start().await;
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let mut config = config::standard(&simulator.url());
    config["server"]["tls"] = authority.server().write(&folder, "server");
    config["server"]["limits"] = json!({"connections": PLACES, "header_timeout": "6s"});
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    let begun = Instant::now();
    let mut silent = Vec::new();
    // The connection that found out that the gateway listens may take a place until the gateway has accepted and closed it.
    let taken = async || {
        let free = PLACES - open_connections(&gateway).await as usize;
        silent.extend(connections(gateway.address, free).await);
        (free == 0).then_some(())
    };
    eventually("connections without a word", taken).await;
    for mut refused in connections(gateway.address, 3).await {
        assert!(refused.is_over().await);
    }
    for connection in &mut silent {
        assert!(connection.is_over().await);
    }
    assert!(begun.elapsed() >= Duration::from_secs(5), "too early");
    let stream = authority.connect(gateway.address, &[], None).await;
    let mut connection = Connection::over(stream.unwrap());
    let answer = connection.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn running_out_of_file_descriptors_neither_stops_nor_spins_the_process() {
    const ROOM: u64 = 12;
    const CROWD: usize = 100;
    let mut world = TestSetup::start().await;
    // Waits until the gateway has opened everything that it needs itself.
    assert_eq!(world.gateway.page("GET", "/metrics").await.status, 200);
    let answer = world.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200);
    sleep(Duration::from_millis(300)).await;
    limit_files(&world.gateway, open_files(&world.gateway) + ROOM);
    // More than the limit: some wait to be accepted.
    let crowd = connections(world.gateway.address, CROWD).await;
    world
        .gateway
        .process
        .wait_for_line("out of file descriptors; connections wait to be accepted")
        .await;
    let ticks = processor_ticks(&world.gateway);
    sleep(Duration::from_secs(1)).await;
    let busy = processor_ticks(&world.gateway) - ticks;
    assert!(busy < 50, "{busy} hundredths of a second in a second");
    for path in ["/metrics", "/healthz", "/readyz"].repeat(5) {
        assert_eq!(world.gateway.page("GET", path).await.status, 200, "{path}");
    }
    drop(crowd);
    let served = async || {
        let mut connection = world.gateway.connect().await;
        connection
            .send(&Request::ask(Protocol::Chat).bytes())
            .await
            .ok()?;
        let answer = connection.answer().await?;
        (answer.status == 200).then_some(())
    };
    eventually("that requests are served again", served).await;
    assert!(world.gateway.process.ended().is_none());
}

/// Connections without any data.
async fn connections(to: SocketAddr, count: usize) -> Vec<Connection> {
    let mut connections = Vec::new();
    for _ in 0..count {
        connections.push(Connection::over(TcpStream::connect(to).await.unwrap()));
    }
    connections
}

async fn open_connections(gateway: &Gateway) -> f64 {
    gateway.metrics().await.sum("headgate_connections", &[])
}

fn open_files(gateway: &Gateway) -> u64 {
    let folder = format!("/proc/{}/fd", gateway.process.id());
    std::fs::read_dir(folder).unwrap().count() as u64
}

fn limit_files(gateway: &Gateway, files: u64) {
    let limit = libc::rlimit {
        rlim_cur: files,
        rlim_max: files,
    };
    let process = libc::pid_t::try_from(gateway.process.id()).unwrap();
    // SAFETY: reads the struct that it is given, and sets a limit of a child.
    let set = unsafe { libc::prlimit(process, libc::RLIMIT_NOFILE, &limit, std::ptr::null_mut()) };
    assert_eq!(set, 0);
}

/// The processor time of the process, in hundredths of a second.
fn processor_ticks(gateway: &Gateway) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", gateway.process.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    // utime and stime, see proc_pid_stat(5).
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

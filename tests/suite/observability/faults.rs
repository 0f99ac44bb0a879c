//! Tests of faults that are planted one at a time: dashboard, `top`, `status`, metrics and log show each, with its cause.

use super::fault_signs::{
    ALL, BAD_RELOAD, CALLER_429, CALLER_HOGS, CERTIFICATE_EXPIRES, CHANNEL_DOWN, KEY_REVOKED,
    PROVIDER_429, REDIS_DEAD, SILENT_UPSTREAM, SLOW_CLIENT, SLOW_UPLOAD, SLOW_UPSTREAM, SPOOL_FULL,
};
use crate::harness::certificates::Authority;
use crate::harness::config::{self, channel};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::Process;
use crate::harness::request::{ANN, BOB};
use crate::harness::slow_client::{Flood, Version};
use crate::harness::{Gateway, RedisServer, Request, Simulator, TestSetup, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;
use tokio::time::sleep;

const MIB: usize = 1 << 20;
/// Longer than the span in which a provider is slow, and the step in which it is counted.
const BEFORE_SLOWNESS: Duration = Duration::from_secs(41);
/// Mounts a small disk, then runs the rest of its arguments.
const MOUNTED: &str = r#"mount -t tmpfs -o size=4m none "$0" && exec "$@""#;

#[test]
fn the_runbook_describes_each_fault_as_it_is_shown() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/runbook.md");
    let runbook = std::fs::read_to_string(path).unwrap();
    for signs in ALL {
        signs.assert_described(&runbook);
    }
}

#[tokio::test]
async fn a_channel_that_is_down_is_shown() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let url = "http://127.0.0.1:9/v1";
    config["channels"]["down"] = channel(url, &["chat"], json!({"bearer": "sk-down"}));
    config["channels"]["down"]["health"] = json!({"consecutive_failures": 1, "cool_down": "60s"});
    config["channels"]["openai"]["tier"] = 1.into();
    let gateway = Gateway::start(&config).await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    CHANNEL_DOWN.assert_shown(&gateway).await;
}

#[tokio::test]
async fn a_revoked_key_and_a_storm_of_429_from_a_provider_are_shown() {
    for (directives, signs) in [
        ("status=401", &KEY_REVOKED),
        ("status=429;retry_after=600", &PROVIDER_429),
    ] {
        let world = TestSetup::start().await;
        assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
        world.simulator.obey(directives).await;
        world.ask(&Request::ask(Protocol::Chat)).await;
        signs.assert_shown(&world.gateway).await;
    }
}

#[tokio::test]
async fn a_storm_of_429_from_the_gateway_is_shown_with_its_caller() {
    let world = TestSetup::with(|config| {
        let chain = config["chains"]["body"].as_array_mut().unwrap();
        chain.push("rate_limit".into());
        config["callers"][1]["limits"] = json!({"requests_per_minute": 5});
    })
    .await;
    let small = json!({"model": "demo-small", "messages": [{"role": "user", "content": "hello"}]});
    let small = Request::to(Protocol::Chat, small.to_string()).key(BOB);
    let mut connection = world.gateway.connect().await;
    for _ in 0..30 {
        connection.ask(&small).await;
    }
    CALLER_429.assert_shown(&world.gateway).await;
}

#[tokio::test]
async fn a_slow_provider_a_silent_one_and_slow_clients_are_shown() {
    tokio::join!(
        show_slow_upstream(),
        show_silent_upstream(),
        show_slow_client(),
        show_slow_uploads(),
    );
}

async fn show_slow_upstream() {
    let world = TestSetup::start().await;
    for _ in 0..6 {
        world.ask(&Request::ask(Protocol::Chat)).await;
    }
    sleep(BEFORE_SLOWNESS).await;
    world.simulator.obey("delay=2s").await;
    let request = Request::ask(Protocol::Chat);
    let ask = || world.ask(&request);
    tokio::join!(ask(), ask(), ask(), ask(), ask(), ask());
    SLOW_UPSTREAM.assert_shown(&world.gateway).await;
}

async fn show_silent_upstream() {
    let world = TestSetup::start().await;
    let silent = Request::ask_stream(Protocol::Chat).simulate("stall_after=2");
    let mut stream = world.open(&silent).await;
    stream.until("data:").await;
    sleep(Duration::from_secs(25)).await;
    SILENT_UPSTREAM.assert_shown(&world.gateway).await;
    drop(stream);
}

async fn show_slow_client() {
    let flood = Flood::start(Version::Http1).await;
    let mut config = config::standard(&flood.url());
    config["server"]["limits"] = json!({"write_timeout": "20s"});
    let gateway = Gateway::start(&config).await;
    let mut unread = gateway.open(&Request::ask_stream(Protocol::Chat)).await;
    unread.until("data:").await;
    SLOW_CLIENT.assert_shown(&gateway).await;
    drop(unread);
}

/// A body that a filter needs, and one that streams to the provider.
async fn show_slow_uploads() {
    let json = Request::ask(Protocol::Chat).with_body(vec![b' '; 100_000]);
    let file = Request::post("/v1/uploads", vec![b' '; 100_000]);
    tokio::join!(show_slow_upload(json), show_slow_upload(file));
}

async fn show_slow_upload(request: Request) {
    let world = TestSetup::with(|config| {
        config["server"]["limits"] = json!({"body_timeout": "20s"});
        config["routes"].as_array_mut().unwrap().push(json!({
            "name": "uploads",
            "match": "POST /v1/uploads",
            "request": ["authenticate", {"limit_body": "2GiB"}, "first_channel"],
        }));
    })
    .await;
    let mut connection = world.gateway.connect().await;
    connection.send(&request.bytes()[..50_000]).await.unwrap();
    SLOW_UPLOAD.assert_shown(&world.gateway).await;
}

#[tokio::test]
async fn a_dead_redis_is_shown() {
    let (mut redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let mut config = config::standard(&simulator.url());
    config["state"] = redis.url().into();
    config["callers"][0]["limits"] = json!({"requests_per_minute": 100});
    let chain = config["chains"]["body"].as_array_mut().unwrap();
    chain.push("rate_limit".into());
    let gateway = Gateway::start(&config).await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    redis.kill();
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    REDIS_DEAD.assert_shown(&gateway).await;
    redis.restart();
    let is_fine = async || {
        let overview = gateway.page("GET", "/overview").await.json();
        let findings = overview["findings"].as_array().unwrap();
        // That requests were admitted without limits stays for a while.
        let is_over = |finding: &Value| finding["code"] != "store_down";
        findings.iter().all(is_over).then_some(())
    };
    eventually("the end of the finding", is_fine).await;
}

#[tokio::test]
async fn a_full_disk_of_the_spool_folder_is_shown_until_a_body_is_stored() {
    let simulator = Simulator::start().await;
    let folder = folder_with_schemas();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut config = config::standard(&simulator.url());
    config["server"]["spool"] = json!({"threshold": "1MiB", "folder": "disk"});
    let file = folder.write("routes.yaml", format!("{config:#}"));
    let run = ["run", "--config", file.to_str().unwrap()];
    let mounted = ["-rm", "sh", "-c", MOUNTED, disk.to_str().unwrap()];
    let process = match may_mount() {
        true => Process::spawn_under("unshare", &mounted, &run),
        false => Process::spawn_under("sh", &["-c", r#"ulimit -f 8192; exec "$@""#, "sh"], &run),
    };
    let gateway = Gateway::listening(process, folder).await;
    let large = |bytes: usize| {
        let body = json!({"model": "demo-large", "messages": [{"role": "user", "content": "x".repeat(bytes)}]});
        Request::to(Protocol::Chat, body.to_string())
    };
    assert_eq!(gateway.ask(&large(6 * MIB)).await.status, 503);
    SPOOL_FULL.assert_shown(&gateway).await;
    // A smaller body proves nothing about one of this size.
    assert_eq!(gateway.ask(&large(2 * MIB)).await.status, 200);
    let findings = gateway.page("GET", "/findings").await.text();
    assert!(findings.contains("spool_failing"), "{findings}");
}

fn may_mount() -> bool {
    let probe = ["-rm", "sh", "-c", "mount -t tmpfs none /mnt"];
    let status = Command::new("unshare").args(probe).output();
    status.is_ok_and(|output| output.status.success())
}

#[tokio::test]
async fn a_refused_configuration_is_shown() {
    let world = TestSetup::start().await;
    let mut bad: Value = serde_json::from_str(&world.gateway.config()).unwrap();
    bad["routes"][0]["protocol"] = "telepathy".into();
    world
        .gateway
        .folder
        .replace("routes.yaml", format!("{bad:#}"));
    world.gateway.page("POST", "/reload").await;
    BAD_RELOAD.assert_shown(&world.gateway).await;
}

#[tokio::test]
async fn a_caller_that_occupies_a_channel_is_shown() {
    let world = TestSetup::with(|config| {
        config["channels"]["openai"]["limits"] = json!({"concurrent": 20});
    })
    .await;
    let body = json!({"model": "demo-small", "stream": true, "messages": [{"role": "user", "content": "hello"}]});
    let silent = Request::to(Protocol::Chat, body.to_string()).simulate("stall_after=2");
    let mut streams = Vec::new();
    for number in 0..20 {
        let key = if number < 18 { ANN } else { BOB };
        let mut stream = world.open(&silent.clone().key(key)).await;
        stream.until("data:").await;
        streams.push(stream);
    }
    CALLER_HOGS.assert_shown(&world.gateway).await;
    drop(streams);
}

#[tokio::test]
async fn a_certificate_that_expires_soon_is_shown() {
    let (simulator, folder) = (Simulator::start().await, folder_with_schemas());
    let mut config = config::standard(&simulator.url());
    config["server"]["tls"] = Authority::new().expiring(5).write(&folder, "server");
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    CERTIFICATE_EXPIRES.assert_shown(&gateway).await;
}

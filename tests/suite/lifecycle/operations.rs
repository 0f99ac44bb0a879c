//! Tests of operators' actions: they stop reading the log, interrupt the process, pipe its output, misconfigure it.

use crate::harness::config::{self, CREDENTIALS};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::{BINARY, Reader};
use crate::harness::{
    Gateway, PATIENCE, Request, ScriptedProvider, ScriptedResponse, Simulator, TestSetup,
    eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::time::Instant;

/// More lines than a pipe can buffer.
const FAILURES: usize = 400;

#[tokio::test]
async fn a_log_that_nobody_reads_neither_stops_nor_ends_the_process() {
    const LISTENING: &str = "headgate is listening";
    for reader in [
        Reader::LeavesAfter(LISTENING),
        Reader::StallsAfter(LISTENING),
    ] {
        for access_log in ["stderr", "stdout"] {
            let simulator = Simulator::start().await;
            let faulty = ScriptedProvider::start(vec![ScriptedResponse::Close]).await;
            let mut config = config::standard(&simulator.url());
            config["server"]["access_log"] = access_log.into();
            config["channels"]["messages"]["base_url"] = faulty.url().into();
            let text = format!("{config:#}");
            let folder = folder_with_schemas();
            let mut gateway = Gateway::start_read_by(folder, &text, reader).await;
            let mut connection = gateway.connect().await;
            for n in 0..FAILURES {
                let failed = connection.ask(&Request::ask(Protocol::Messages)).await;
                assert_eq!(failed.status, 502, "request {n}: {}", failed.text());
            }
            // Lines are written in the background.
            tokio::time::sleep(Duration::from_millis(200)).await;
            let failed = connection.ask(&Request::ask(Protocol::Messages)).await;
            assert_eq!(failed.status, 502, "{}", failed.text());
            let good = connection.ask(&Request::ask(Protocol::Chat)).await;
            assert_eq!((good.status, good.whole), (200, true), "{}", good.text());
            assert_eq!(gateway.page("GET", "/healthz").await.text(), "ok\n");
            gateway.process.signal(libc::SIGTERM);
            assert_ends_within(&mut gateway, Duration::from_secs(2)).await;
        }
    }
}

#[tokio::test]
async fn an_interrupt_ends_a_draining_process_at_once() {
    let mut world = TestSetup::start().await;
    let stream = Request::ask_stream(Protocol::Chat).simulate("pace=100ms; events=600");
    let mut reply = world.open(&stream).await;
    reply.until("data:").await;
    world.gateway.process.signal(libc::SIGTERM);
    world.gateway.process.wait_for_line("draining").await;
    assert!(
        world.gateway.process.ended().is_none(),
        "the stream is waited for"
    );
    world.gateway.process.signal(libc::SIGINT);
    assert_ends_within(&mut world.gateway, Duration::from_secs(2)).await;
    assert!(
        !reply.rest().await.whole,
        "a stream that was cut has no clean end"
    );
}

#[test]
fn systemd_is_notified_when_the_process_is_ready_and_when_it_stops() {
    let folder = folder_with_schemas();
    let config = config::standard("https://provider.test/v1");
    let config = folder.write("routes.yaml", config.to_string());
    let path = folder.path().join("supervisor");
    let supervisor = UnixDatagram::bind(&path).unwrap();
    supervisor.set_read_timeout(Some(PATIENCE)).unwrap();
    let reported = || {
        let mut text = [0; 100];
        let length = supervisor.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let mut process = Command::new(BINARY)
        .args(["run", "--config", config.to_str().unwrap()])
        .env("NOTIFY_SOCKET", &path)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(reported(), format!("READY=1\nMAINPID={}", process.id()));
    let id = libc::pid_t::try_from(process.id()).unwrap();
    // SAFETY: sends a signal to a child that was not waited for yet.
    assert_eq!(unsafe { libc::kill(id, libc::SIGTERM) }, 0);
    assert_eq!(reported(), "STOPPING=1");
    assert!(process.wait().unwrap().success());
}

#[tokio::test]
async fn a_page_in_a_browser_cannot_reload() {
    let world = TestSetup::start().await;
    let reload = world.gateway.admin_request("POST", "/reload");
    for (request, status) in [
        (reload.clone(), 200),
        (reload.clone().header("Origin", "https://evil.test"), 403),
        (reload.clone().header("origin", "null"), 403),
        (reload, 200),
    ] {
        let answer = world.gateway.ask_admin(&request).await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    let page = world.gateway.config_page().await;
    let revision = &page["revision"];
    assert!(revision["in_use"].is_string(), "{page}");
    assert_eq!(revision["in_use"], revision["on_disk"], "{page}");
    let text = page.to_string();
    assert!(
        CREDENTIALS.iter().all(|secret| !text.contains(secret)),
        "{text}"
    );
}

#[test]
fn a_configuration_that_cannot_work_is_refused() {
    let captured = |value: &str| json!({"source": "path", "match": "^/(v1)/", "value": value});
    let with_header = |value: Value| {
        changed(move |config| {
            let chain = config::route(config, "chat")["request"].as_array_mut();
            chain
                .unwrap()
                .insert(1, json!({"set_headers": {"x-version": value}}));
        })
    };
    let with_addresses = |listen: &str, admin: &str| {
        changed(|config| {
            config["server"]["listen"] = listen.into();
            config["server"]["admin"] = admin.into();
        })
    };
    for (config, good, reported) in [
        (
            with_addresses("127.0.0.1:8080", "127.0.0.1:9090"),
            true,
            "is valid",
        ),
        (
            with_addresses("127.0.0.1:8080", "127.0.0.1:8080"),
            false,
            "server.admin",
        ),
        (
            with_addresses("8080", "127.0.0.1:9090"),
            false,
            "`8080` is not `host:port`",
        ),
        (
            with_addresses("127.0.0.1:8080", "127.0.0.1:99999"),
            false,
            "`127.0.0.1:99999` is not `host:port`",
        ),
        (with_header(captured("$1")), true, "is valid"),
        (
            with_header(captured("$9")),
            false,
            "refers to capture group `9`, which `match` does not define",
        ),
        (
            with_header(captured("$name")),
            false,
            "capture group `name`",
        ),
        // Captures have another dollar sign, because `${}` is an environment variable.
        (with_header(captured("$1x")), false, "write `$${1}x`"),
        (with_header(captured("$${1}x")), true, "is valid"),
        (with_header(captured("$${9}x")), false, "capture group `9`"),
    ] {
        let (success, printed) = check(&config);
        assert_eq!(success, good, "{printed}");
        assert!(printed.contains(reported), "{reported} in:\n{printed}");
    }
}

#[test]
fn a_configuration_without_effect_gets_a_warning() {
    let twice = changed(|config| {
        let mut route = config::route(config, "chat").clone();
        route["name"] = "again".into();
        config["routes"].as_array_mut().unwrap().push(route);
    });
    let silent = changed(|config| {
        config["channels"]["messages"]["protocols"] = json!(["chat"]);
    });
    for (config, reported) in [
        (changed(|_| {}), None),
        (
            twice,
            Some("warning: unreachable: route `chat` above matches all of these requests"),
        ),
        (silent, Some("warning: no channel speaks messages")),
    ] {
        let (success, printed) = check(&config);
        assert!(success, "{printed}");
        match reported {
            Some(reported) => assert!(printed.contains(reported), "{reported} in:\n{printed}"),
            None => assert!(!printed.contains("warning"), "{printed}"),
        }
    }
}

#[test]
fn a_command_whose_output_nobody_reads_ends_without_a_panic() {
    let folder = folder_with_schemas();
    let config = config::standard("https://provider.test/v1");
    let path = folder.write("routes.yaml", format!("{config:#}"));
    let path = path.to_str().unwrap();
    for args in [
        vec!["schema"],
        vec!["check", path],
        vec!["explain", "-c", path, "/v1/models"],
        vec!["key", "new"],
        vec!["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(BINARY)
            .args(&args)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(!printed.contains("panicked"), "{args:?}: {printed}");
    }
}

/// The standard configuration with a change.
fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut config = config::standard("https://provider.test/v1");
    change(&mut config);
    config
}

/// Whether `headgate check` accepts the configuration, and its output.
fn check(config: &Value) -> (bool, String) {
    let folder = folder_with_schemas();
    let path = folder.write("routes.yaml", format!("{config:#}"));
    let args = ["check", path.to_str().unwrap()];
    let output = Command::new(BINARY).args(args).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

async fn assert_ends_within(gateway: &mut Gateway, limit: Duration) {
    let reported = Instant::now();
    let ended = async || gateway.process.ended();
    let status = eventually("the end of the process", ended).await;
    assert!(reported.elapsed() < limit, "{:?}", reported.elapsed());
    assert!(status.success(), "{status}");
}

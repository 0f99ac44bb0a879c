//! Tests of `headgate top` without a terminal: what it prints once, and its exit codes.

use super::status::run;
use crate::harness::config::{self, admin_keys, channel};
use crate::harness::request::{OPERATOR, VIEWER};
use crate::harness::{Gateway, Request, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

async fn gateway(change: impl FnOnce(&mut Value)) -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    change(&mut config);
    (Gateway::start(&config).await, simulator)
}

/// What `headgate top --once` prints about a gateway.
fn top(gateway: &Gateway) -> String {
    let url = format!("http://{}", gateway.admin);
    let (code, printed, errors) = run(&["top", "--once", "--admin", &url], &[]);
    assert_eq!((code, &*errors), (0, ""), "{printed}");
    printed
}

pub fn assert_shows(printed: &str, expected: &[&str]) {
    for words in expected {
        assert!(printed.contains(words), "{words} is not in:\n{printed}");
    }
}

#[tokio::test]
async fn one_frame_of_plain_text_shows_traffic_channels_and_requests() {
    let (gateway, _simulator) = gateway(|_| {}).await;
    assert_shows(
        &top(&gateway),
        &[
            &format!("healthy  http://{}", gateway.admin),
            "Nothing is wrong as far as the gateway can see.",
            "requests 0.0/s   errors 0 (0 upstream, 0 gateway, 0 caller)",
        ],
    );
    gateway.ask(&Request::ask(Protocol::Chat)).await;
    gateway
        .ask(&Request::ask(Protocol::Chat).key("sk-unknown"))
        .await;
    let silent = Request::ask_stream(Protocol::Chat).simulate("stall_after=2");
    let mut stream = gateway.open(&silent).await;
    stream.until("data:").await;
    let printed = eventually("both requests, and the stream", async || {
        let printed = top(&gateway);
        let is_whole = printed.contains("1 caller") && printed.contains("upstream   ");
        is_whole.then_some(printed)
    })
    .await;
    assert_shows(
        &printed,
        &[
            "errors 1 (0 upstream, 0 gateway, 1 caller)",
            "Last hour",
            "█",
            "openai    healthy",
            "In flight\nWaits for",
            "demo-large  openai   stream  chat",
            "Recent requests\n",
            "     401  ",
        ],
    );
    assert!(!printed.contains('\u{1b}'), "{printed}");
    drop(stream);
}

#[tokio::test]
async fn a_channel_that_is_down_and_a_refused_configuration_are_named() {
    let (gateway, _simulator) = gateway(|config| {
        config["channels"]["openai"]["tier"] = 1.into();
        let mut down = channel(
            "http://127.0.0.1:9/v1",
            &["chat"],
            json!({"bearer": "sk-down"}),
        );
        down["health"] = json!({"consecutive_failures": 1, "cool_down": "60s"});
        config["channels"]["down"] = down;
    })
    .await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    gateway.folder.replace("routes.yaml", "callers: 1");
    assert_eq!(gateway.page("POST", "/reload").await.status, 422);
    assert_shows(
        &top(&gateway),
        &[
            "needs attention  http://",
            "warning Channel down gets no requests for another",
            "  Check the host and port in the channel's `base_url`",
            "warning The configuration on disk was refused at",
            "down      cool-down ",
            " s: connect_error",
            "\nConfiguration refused at ",
            "(callers)",
        ],
    );
}

#[tokio::test]
async fn without_the_pages_it_ends_with_a_sentence_and_an_exit_code_of_its_own() {
    let (gateway, _simulator) = gateway(|config| {
        config["server"]["admin_keys"] = admin_keys();
    })
    .await;
    let url = format!("http://{}", gateway.admin);
    let nobody = tokio::net::TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = nobody.local_addr().unwrap().to_string();
    for (admin, key, code, words) in [
        (
            &nobody,
            VIEWER,
            2,
            "cannot reach the admin pages at http://127.0.0.1:",
        ),
        (
            &url,
            "",
            2,
            "set the environment variable HEADGATE_ADMIN_KEY",
        ),
        (&url, "sk-wrong", 2, "incorrect admin key"),
        (&url, VIEWER, 0, ""),
        (&url, OPERATOR, 0, ""),
    ] {
        // The output of tests is no terminal: a frame is printed without being asked for.
        for once in [&["--once"][..], &[]] {
            let args = [&["top", "--admin", admin], once].concat();
            let (exit, printed, errors) = run(&args, &[("HEADGATE_ADMIN_KEY", key)]);
            assert_eq!(exit, code, "{args:?}: {printed}{errors}");
            assert!(errors.contains(words), "{words} in {errors}");
            assert!(!errors.contains("sk-"), "{errors}");
        }
    }
}

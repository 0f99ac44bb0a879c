//! Tests of `headgate explain --live`: it shows what a running gateway can use now.

use super::channels_page::with_busy_channel;
use crate::harness::process::BINARY;
use crate::harness::{Request, body_of};
use headgate_protocol::Protocol;
use serde_json::Value;
use std::process::{Command, Output};

const CHAT: &str = "/v1/chat/completions";

fn explain(args: &[&str]) -> Output {
    Command::new(BINARY)
        .arg("explain")
        .args(args)
        .output()
        .unwrap()
}

#[tokio::test]
async fn explain_asks_the_running_gateway_what_is_usable_now() {
    let (gateway, _simulator) = with_busy_channel("status=429;retry_after=600", |_| {}).await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let file = gateway.folder.path().join("routes.yaml");
    let file = file.to_str().unwrap();
    let body = body_of(Protocol::Chat).to_string();
    let admin = format!("http://{}", gateway.admin);
    let printed = explain(&[CHAT, "-c", file, "-d", &body, "--live", &admin]);
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(
        printed.status.success(),
        "{}",
        String::from_utf8_lossy(&printed.stderr)
    );
    let now: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("   now      "))
        .collect();
    assert!(
        now[0].starts_with("not usable: model cooling down (rate_limited), "),
        "{text}"
    );
    assert_eq!(now[1..], ["usable"], "{text}");
    assert!(
        text.contains(&format!("gateway   {}, revision ", gateway.admin)),
        "{text}"
    );
    // Another file, in which `server.admin` is set, and a channel that the gateway does not have.
    let mut other: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    other["server"]["admin"] = gateway.admin.to_string().into();
    other["channels"]["new"] = other["channels"]["busy"].clone();
    let other = gateway.folder.write("other.yaml", other.to_string());
    let printed = explain(&[CHAT, "-c", other.to_str().unwrap(), "-d", &body, "--live"]);
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(
        text.contains("now      unknown to the running gateway"),
        "{text}"
    );
    assert!(text.contains("(this file is "), "{text}");
}

#[tokio::test]
async fn explain_reports_an_unreachable_gateway() {
    let (gateway, _simulator) = with_busy_channel("", |_| {}).await;
    let file = gateway.folder.path().join("routes.yaml");
    let (file, body) = (file.to_str().unwrap(), body_of(Protocol::Chat).to_string());
    let kept = tokio::net::TcpSocket::new_v4().unwrap();
    kept.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = format!("http://{}", kept.local_addr().unwrap());
    let another = format!("http://{}", gateway.address);
    for (live, reported) in [
        (
            vec!["--live", &nobody],
            "error: cannot reach the admin pages at ",
        ),
        (
            vec!["--live", &another],
            "HTTP/1.1 404 Not Found: it is not an admin page of this version of headgate",
        ),
        (vec!["--live"], "`server.admin` has port 0"),
        (vec!["--live", "/v1/models"], "put --live after the path"),
    ] {
        let args = [&[CHAT, "-c", file, "-d", &body], live.as_slice()].concat();
        let printed = explain(&args);
        let text = String::from_utf8(printed.stderr).unwrap();
        assert!(
            !printed.status.success() && text.contains(reported),
            "{live:?}: {text}"
        );
    }
}

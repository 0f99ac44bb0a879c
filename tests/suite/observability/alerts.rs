//! Tests of alerts: who gets which finding, signatures, attempts that are repeated, and restarts.

use super::status::run;
use crate::harness::closed_port::ClosedPort;
use crate::harness::config::{admin_keys, standard};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::receiver::{ReceivedEvent, Receiver, SECRETS, respond};
use crate::harness::state_file::{FileRecord, StateFile};
use crate::harness::{Gateway, RedisServer, ScriptedProvider, Simulator, eventually};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A configuration whose receivers have these settings beside their URLs.
fn alert_config(provider: &str, receivers: &[(&str, &Receiver, Value)]) -> Value {
    let mut config = standard(provider);
    config["server"]["admin_keys"] = admin_keys();
    for (name, receiver, settings) in receivers {
        config["alerts"][name] = settings.clone();
        config["alerts"][name]["url"] = json!(receiver.url("/hook?token=canary-7d1"));
    }
    config
}

/// Has findings appear: a notice about the channel, and models that no channel can serve.
async fn drain(gateway: &Gateway) {
    drain_channel(gateway, "messages").await;
}

async fn drain_channel(gateway: &Gateway, channel: &str) {
    let path = format!("/channels/drain?channel={channel}");
    let drained = gateway.page("POST", &path).await;
    assert_eq!(drained.status, 200, "{}", drained.text());
}

/// Waits for a look at the findings after those that were found: the one that finds another channel drained. Returns the
/// codes and subjects of all events until then.
async fn until_next_look(gateway: &Gateway, receiver: &Receiver) -> Vec<String> {
    drain_channel(gateway, "openai").await;
    let name = |event: &ReceivedEvent| {
        let data = &event.json()["data"];
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}", text("code"), text("subject"))
    };
    eventually("the next look", async || {
        let names: Vec<String> = receiver.events().iter().map(name).collect();
        let last = "channel_drained channel openai";
        names.iter().any(|name| name == last).then_some(names)
    })
    .await
}

fn codes(events: &[ReceivedEvent]) -> Vec<String> {
    let code = |event: &ReceivedEvent| event.json()["data"]["code"].as_str().unwrap().to_owned();
    let mut codes: Vec<String> = events.iter().map(code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[tokio::test]
async fn each_receiver_gets_the_findings_that_it_wants_signed_and_once() {
    let simulator = Simulator::start().await;
    let all = Receiver::responding("200 OK").await;
    let severe = Receiver::responding("204 No Content").await;
    let some = Receiver::responding("200 OK").await;
    let config = alert_config(
        &simulator.url(),
        &[
            (
                "all",
                &all,
                json!({"severity": "notice", "secret": SECRETS[0]}),
            ),
            ("severe", &severe, json!({})),
            (
                "some",
                &some,
                json!({"severity": "notice", "codes": ["channel_drained"]}),
            ),
        ],
    );
    let gateway = Gateway::start(&config).await;
    drain(&gateway).await;
    let events = all.wait_for(3).await;
    assert_eq!(codes(&events), ["channel_drained", "model_unavailable"]);
    for event in &events {
        assert!(event.is_signed_with(SECRETS[0]), "{event:?}");
        let body = event.json();
        assert_eq!(body["type"], "finding.began");
        assert_ne!(body["gateway"], "");
        let findings = gateway.page("GET", "/findings").await.json();
        let findings = findings["findings"].as_array().unwrap().clone();
        assert!(findings.contains(&body["data"]), "{body}");
        assert_eq!(body["text"], body["data"]["cause"]);
    }
    let events = severe.wait_for(2).await;
    assert_eq!(codes(&events), ["model_unavailable"]);
    assert!(events[0].signatures.is_empty());
    assert_eq!(codes(&some.wait_for(1).await), ["channel_drained"]);
    // No finding is sent twice, though the gateway looks for them every few seconds.
    let mut names = until_next_look(&gateway, &all).await;
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "{names:?}");
    let test = gateway.page("POST", "/alerts/test?receiver=some").await;
    assert_eq!(test.status, 200, "{}", test.text());
    let events = some.wait_for(3).await;
    assert_eq!(events.len(), 3);
    let tests = events.iter().filter(|event| event.json()["type"] == "test");
    let ids: Vec<&str> = tests.map(|event| &*event.id).collect();
    assert_eq!(ids, [test.json()["event_id"].as_str().unwrap()]);
}

#[tokio::test]
async fn no_log_and_no_page_has_the_url_of_a_receiver_however_it_fails() {
    let simulator = Simulator::start().await;
    let receiver = Receiver::responding("500 Internal Server Error").await;
    let redirect = "302 Found\r\nLocation: /hook?token=canary-7d1";
    let redirecting = Receiver::responding(redirect).await;
    let garbage = ScriptedProvider::answering("garbage canary\r\n\r\n").await;
    let plain = receiver.0.address;
    let secret = "services/canary-7d1?token=canary-7d1";
    let closed = ClosedPort::new();
    let urls = [
        ("fails", receiver.url(&format!("/{secret}"))),
        ("redirects", redirecting.url(&format!("/{secret}"))),
        ("garbage", format!("http://{}/{secret}", garbage.address)),
        ("closed", format!("http://{}/{secret}", closed.address())),
        ("tls", format!("https://{plain}/{secret}")),
        ("unresolved", format!("http://canary-host.invalid/{secret}")),
    ];
    let mut config = alert_config(&simulator.url(), &[]);
    for (name, url) in &urls {
        config["alerts"][name]["url"] = json!(url);
    }
    let gateway = Gateway::start(&config).await;
    for (name, _) in &urls {
        let path = format!("/alerts/test?receiver={name}");
        let test = gateway.page("POST", &path).await;
        assert_eq!(test.status, 200, "{}", test.text());
        assert!(!test.text().contains("canary-7d1"), "{}", test.text());
    }
    let failed = eventually("an attempt at each", async || {
        let lines = gateway.process.stderr.json();
        let failed = lines
            .iter()
            .filter(|line| line["message"] == "alert not delivered; trying again");
        let names = failed.map(|line| line["receiver"].as_str().unwrap().to_owned());
        let names: BTreeSet<String> = names.collect();
        (names.len() == urls.len()).then_some(names)
    })
    .await;
    assert_eq!(failed.len(), urls.len());
    let log = gateway.process.stderr.all().join("\n");
    assert!(!log.contains("canary-7d1"), "{log}");
    for path in [
        "/config",
        "/overview",
        "/findings",
        "/metrics",
        "/alerts/test?receiver=none",
    ] {
        let method = if path.contains("test") { "POST" } else { "GET" };
        let page = gateway.page(method, path).await;
        assert!(
            !page.text().contains("canary-7d1"),
            "{path}: {}",
            page.text()
        );
    }
}

#[tokio::test]
async fn the_next_process_sends_no_finding_again_that_stands() {
    let (simulator, state) = (Simulator::start().await, StateFile::new());
    let receiver = Receiver::responding("200 OK").await;
    let settings = json!({"severity": "notice", "codes": ["channel_drained"]});
    let mut config = alert_config(&simulator.url(), &[("ops", &receiver, settings)]);
    config["state"] = json!(state.url());
    let gateway = Gateway::start(&config).await;
    drain(&gateway).await;
    receiver.wait_for(1).await;
    eventually("what was sent is stored", async || {
        let records = state.records("announced_findings");
        let has = |record: &FileRecord| String::from_utf8_lossy(&record.value).contains("messages");
        records.iter().any(has).then_some(())
    })
    .await;
    gateway.process.signal(libc::SIGKILL);
    let next = Gateway::start(&config).await;
    drain(&next).await;
    let names = until_next_look(&next, &receiver).await;
    let expected = [
        "channel_drained channel messages",
        "channel_drained channel openai",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn that_the_state_store_is_unreachable_is_sent_meanwhile() {
    let (mut redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let receiver = Receiver::responding("200 OK").await;
    let settings = json!({"codes": ["store_down"]});
    let mut config = alert_config(&simulator.url(), &[("ops", &receiver, settings)]);
    config["state"] = json!(redis.url());
    let gateway = Gateway::start(&config).await;
    eventually("the store is in use", async || {
        let up = gateway.metrics().await.sum("headgate_state_up", &[]);
        (up == 1.0).then_some(())
    })
    .await;
    redis.kill();
    let events = receiver.wait_for(1).await;
    assert_eq!(codes(&events), ["store_down"]);
    redis.restart();
    let test = eventually("the store is back", async || {
        let test = gateway.page("POST", "/alerts/test?receiver=ops").await;
        (test.status == 200).then_some(test)
    })
    .await;
    let events = receiver.wait_for(2).await;
    assert_eq!(events[1].id, test.json()["event_id"]);
}

#[tokio::test]
async fn an_event_that_fails_is_sent_again_by_the_next_process() {
    let (simulator, state) = (Simulator::start().await, StateFile::new());
    let receiver = Receiver::responding("500 Internal Server Error").await;
    let settings =
        json!({"severity": "notice", "codes": ["channel_drained"], "secret": SECRETS[1]});
    let mut config = alert_config(&simulator.url(), &[("ops", &receiver, settings)]);
    config["state"] = json!(state.url());
    let mut gateway = Gateway::start(&config).await;
    drain(&gateway).await;
    let first = receiver.wait_for(1).await[0].clone();
    gateway.process.signal(libc::SIGKILL);
    eventually("the end of the process", async || gateway.process.ended()).await;
    // It may have had no time to store that the receiver has failed.
    assert_eq!(state.change("alert", |_, _| {}), 1);
    receiver.0.next(respond("200 OK"));
    let _next = Gateway::start(&config).await;
    let events = receiver.wait_for(2).await;
    assert_eq!((&events[1].id, &events[1].body), (&first.id, &first.body));
    assert!(events[1].is_signed_with(SECRETS[1]));
}

#[tokio::test]
async fn only_a_key_that_may_act_tries_a_receiver_that_there_is() {
    let simulator = Simulator::start().await;
    let receiver = Receiver::responding("200 OK").await;
    let config = alert_config(&simulator.url(), &[("ops", &receiver, json!({}))]);
    let gateway = Gateway::start(&config).await;
    let without = gateway.admin_request("POST", "/alerts/test?receiver=ops");
    assert_eq!(gateway.ask_admin(&without).await.status, 401);
    let viewer = without.key(crate::harness::request::VIEWER);
    assert_eq!(gateway.ask_admin(&viewer).await.status, 403);
    for query in ["receiver=nobody", "receiver=", "name=ops", ""] {
        let page = gateway.page("POST", &format!("/alerts/test?{query}")).await;
        assert!(
            [400, 404].contains(&page.status),
            "{query}: {}",
            page.status
        );
        assert!(page.text().contains("receiver"), "{query}: {}", page.text());
    }
    assert!(receiver.events().is_empty());
}

#[test]
fn a_receiver_that_cannot_be_called_is_refused_with_its_place() {
    for (alerts, place, expected) in [
        (
            json!({"ops": {"url": "hooks.example"}}),
            "alerts.ops.url",
            "expected an `https` or `http` URL",
        ),
        (
            json!({"ops": {"url": "https://a:b@hooks.example"}}),
            "alerts.ops.url",
            "without user information",
        ),
        (
            json!({"ops": {"url": "ftp://hooks.example"}}),
            "alerts.ops.url",
            "expected an `https` or `http` URL",
        ),
        (
            json!({"ops": {"url": "hooks.example/canary-7d1"}}),
            "alerts.ops.url",
            "expected an `https` or `http` URL",
        ),
        (
            json!({"ops": {"url": "https://hooks.example", "codes": ["unhealthy", "store_dwn"]}}),
            "alerts.ops.codes[1]",
            "did you mean `store_down`?",
        ),
        (
            json!({"ops": {}}),
            "alerts.ops",
            "missing required key `url`",
        ),
        (
            json!({"my ops": {"url": "https://hooks.example"}}),
            "alerts",
            "is no name of a receiver",
        ),
        (
            json!({"ops": {"url": "https://hooks.example", "secret": "whsec_c2hvcnQ="}}),
            "alerts.ops.secret",
            "expected 24 to 64",
        ),
        (
            json!({"ops": {"url": "https://hooks.example", "severity": "loud"}}),
            "alerts.ops.severity",
            "loud",
        ),
    ] {
        let mut config = standard("https://provider.example/v1");
        config["alerts"] = alerts;
        let folder = folder_with_schemas();
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let (code, _, errors) = run(&["check", "--config", file.to_str().unwrap()], &[]);
        assert_eq!(code, 1, "{errors}");
        assert!(
            errors.contains(place) && errors.contains(expected),
            "{errors}"
        );
        assert!(!errors.contains("a:b@"), "{errors}");
        assert!(!errors.contains("canary-7d1"), "{errors}");
    }
}

#[test]
fn codes_that_are_never_as_severe_as_what_is_sent_are_warned_of() {
    for (codes, severity, is_warned) in [
        (json!(["channel_drained"]), "warning", true),
        (json!(["channel_drained", "draining"]), "critical", true),
        (json!(["channel_drained", "store_down"]), "critical", false),
        (json!(["unhealthy"]), "critical", true),
        (json!(["channel_drained"]), "notice", false),
        (json!(["budget_used"]), "warning", false),
        (json!([]), "critical", false),
    ] {
        let mut config = standard("https://provider.example/v1");
        let url = "https://hooks.example";
        config["alerts"]["ops"] = json!({"url": url, "codes": codes, "severity": severity});
        let folder = folder_with_schemas();
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let (code, output, errors) = run(&["check", "--config", file.to_str().unwrap()], &[]);
        let all = format!("{output}{errors}");
        assert_eq!(code, 0, "{all}");
        let warning =
            format!("nothing is sent: no finding of `codes` is ever as severe as `{severity}`");
        assert_eq!(
            all.contains(&warning),
            is_warned,
            "{codes} {severity}: {all}"
        );
        assert_eq!(all.contains("alerts.ops.codes"), is_warned, "{all}");
    }
}

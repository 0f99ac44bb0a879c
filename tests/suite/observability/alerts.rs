//! Tests of alerts: who gets which finding, signatures, attempts that are repeated, and restarts.

use super::status::run;
use crate::harness::config::{admin_keys, standard};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::receiver::{ReceivedEvent, Receiver, SECRETS, respond};
use crate::harness::state_file::StateFile;
use crate::harness::{Gateway, Simulator};
use serde_json::{Value, json};

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
    let drained = gateway
        .page("POST", "/channels/drain?channel=messages")
        .await;
    assert_eq!(drained.status, 200, "{}", drained.text());
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
    let test = gateway.page("POST", "/alerts/test?receiver=some").await;
    assert_eq!(test.status, 200, "{}", test.text());
    let events = some.wait_for(2).await;
    assert_eq!(events.len(), 2);
    assert_eq!(events[1].json()["type"], "test");
    assert_eq!(events[1].id, test.json()["event_id"]);
    let log = gateway.process.stderr.all().join("\n");
    assert!(!log.contains("canary-7d1"), "the URL is a secret");
    assert!(
        !gateway
            .page("GET", "/config")
            .await
            .text()
            .contains("canary-7d1")
    );
}

#[tokio::test]
async fn an_event_that_fails_is_sent_again_by_the_next_process() {
    let (simulator, state) = (Simulator::start().await, StateFile::new());
    let receiver = Receiver::responding("500 Internal Server Error").await;
    let settings =
        json!({"severity": "notice", "codes": ["channel_drained"], "secret": SECRETS[1]});
    let mut config = alert_config(&simulator.url(), &[("ops", &receiver, settings)]);
    config["state"] = json!(state.url());
    let gateway = Gateway::start(&config).await;
    drain(&gateway).await;
    let first = receiver.wait_for(1).await[0].clone();
    gateway.process.signal(libc::SIGKILL);
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
    }
}

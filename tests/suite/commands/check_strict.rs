//! `headgate check --strict`: a line for each channel and service, and no request that costs.

use super::changed_pair::{config_of, run};
use crate::harness::Simulator;
use crate::harness::certificates::Authority;
use crate::harness::config::{CREDENTIALS, channel, route, standard};
use crate::harness::gateway::folder_with_schemas;
use serde_json::{Value, json};

#[tokio::test]
async fn each_channel_and_service_has_a_line_with_what_fails_and_what_to_do() {
    let simulator = Simulator::start().await;
    let mut config = standard(&simulator.url());
    let port = simulator.address.port();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let chat = |url: &str| channel(url, &["chat"], json!({"bearer": CREDENTIALS[0]}));
    let channels = &mut config["channels"];
    channels["refusing"] = chat(&simulator.url_obeying("status=401"));
    channels["failing"] = chat(&simulator.url_obeying("status=500"));
    channels["unknown"] = chat("http://nothing.invalid/v1");
    channels["closed"] = chat(&format!("http://127.0.0.1:{closed}/v1"));
    channels["plain"] = chat(&format!("https://127.0.0.1:{port}/v1"));
    config["services"] = json!({"guard": {"url": format!("http://127.0.0.1:{closed}/check")}});
    route(&mut config, "chat")["request"] =
        json!([{"use": "body"}, "validate", {"callout": {"service": "guard"}}]);
    let folder = folder_with_schemas();
    folder.write("routes.yaml", format!("{config:#}"));
    let printed = run(&["check", "--strict", &config_of(&folder)]);
    assert_eq!(printed.code, 1, "{}{}", printed.stdout, printed.stderr);
    assert!(
        printed
            .stderr
            .contains("6 of 8 channels and services failed"),
        "{}",
        printed.stderr
    );
    for (subject, status, words) in [
        ("channel openai", "warning", "the provider lists"),
        ("channel messages", "warning", "without `sim-large-2026-08`"),
        (
            "channel refusing",
            "failed",
            "refused the credential with 401 Unauthorized; set a valid key in `channels.refusing.credential`",
        ),
        ("channel failing", "failed", "responded with 500"),
        (
            "channel unknown",
            "failed",
            "cannot resolve nothing.invalid",
        ),
        ("channel closed", "failed", "cannot connect to 127.0.0.1"),
        ("channel plain", "failed", "no TLS with 127.0.0.1"),
        (
            "service guard",
            "failed",
            "check host and port in `services.guard.url`",
        ),
    ] {
        let line = printed
            .stdout
            .lines()
            .find(|line| line.starts_with(subject));
        let line = line.unwrap_or_else(|| panic!("{subject} in:\n{}", printed.stdout));
        assert!(line.contains(status) && line.contains(words), "{line}");
    }
    let all = printed.stdout + &printed.stderr;
    assert!(
        !all.contains('\r') && CREDENTIALS.iter().all(|secret| !all.contains(secret)),
        "{all}"
    );
    let records = simulator.records().await;
    assert!(!records.is_empty());
    for record in records {
        assert_eq!(record["method"], "GET", "{record}");
    }
}

#[tokio::test]
async fn a_configuration_whose_providers_can_be_reached_is_good() {
    let simulator = Simulator::start().await;
    let mut config = standard(&simulator.url());
    let listed = model_list(&simulator).await;
    for name in ["openai", "messages"] {
        config["channels"][name]["models"] = json!({"demo-large": listed, "demo-small": listed});
    }
    let folder = folder_with_schemas();
    folder.write("routes.yaml", format!("{config:#}"));
    let printed = run(&["check", "--strict", &config_of(&folder)]);
    assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
    for name in ["openai", "messages"] {
        let line = format!("channel {name:<8}  ok       connected to 127.0.0.1:");
        assert!(printed.stdout.contains(&line), "{}", printed.stdout);
    }
    assert_eq!(printed.stderr, "");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_reported_as_such() {
    let authority = Authority::new();
    let simulator = Simulator::start().await;
    let folder = folder_with_schemas();
    // The gateway's own listener serves as the provider with TLS.
    let mut provider = standard(&simulator.url());
    provider["server"]["tls"] = authority.server().write(&folder, "server");
    let gateway = crate::harness::Gateway::start_in(folder, &provider.to_string()).await;
    let mut config = standard(&format!("https://localhost:{}/v1", gateway.address.port()));
    let own = folder_with_schemas();
    own.write("ca.pem", authority.pem());
    for (tls, is_trusted) in [
        (Value::Null, false),
        (json!({"ca": "ca.pem", "server_name": "gate.test"}), true),
    ] {
        for name in ["openai", "messages"] {
            match &tls {
                Value::Null => {}
                tls => config["channels"][name]["tls"] = tls.clone(),
            }
        }
        own.write("routes.yaml", format!("{config:#}"));
        let printed = run(&["check", "--strict", &config_of(&own)]);
        assert_eq!(printed.code, 1, "{}", printed.stdout);
        assert_eq!(
            !printed.stdout.contains("no TLS with localhost"),
            is_trusted,
            "{}",
            printed.stdout
        );
        // The gateway does not know the credential of the channel.
        assert_eq!(
            printed.stdout.contains("refused the credential with 401"),
            is_trusted,
            "{}",
            printed.stdout
        );
    }
}

/// A model that the simulated provider lists.
async fn model_list(simulator: &Simulator) -> String {
    let mut connection = crate::harness::Connection::to(simulator.address).await;
    let answer = connection
        .ask(&crate::harness::Request::get("/v1/models"))
        .await;
    answer.json()["data"][0]["id"].as_str().unwrap().to_owned()
}

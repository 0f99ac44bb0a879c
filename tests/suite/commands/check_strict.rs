//! `headgate check --strict`: a line for each channel and service, and no request that costs.

use super::changed_pair::{config_of, run};
use crate::harness::certificates::Authority;
use crate::harness::closed_port::ClosedPort;
use crate::harness::config::{CREDENTIALS, channel, route, standard};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::outbound_proxy::{ProxyBehaviour, RecordingProxy};
use crate::harness::{ScriptedProvider, ScriptedResponse, Simulator};
use serde_json::{Value, json};

#[tokio::test]
async fn each_channel_and_service_has_a_line_with_what_fails_and_what_to_do() {
    let simulator = Simulator::start().await;
    let mut config = standard(&simulator.url());
    let port = simulator.address.port();
    let closed = ClosedPort::new();
    let chat = |url: &str| channel(url, &["chat"], json!({"bearer": CREDENTIALS[0]}));
    let channels = &mut config["channels"];
    channels["refusing"] = chat(&simulator.url_obeying("status=401"));
    channels["failing"] = chat(&simulator.url_obeying("status=500"));
    channels["unknown"] = chat("http://nothing.invalid/v1");
    channels["closed"] = chat(&closed.url());
    channels["plain"] = chat(&format!("https://127.0.0.1:{port}/v1"));
    config["services"] = json!({"guard": {"url": format!("http://{}/check", closed.address())}});
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

/// A provider that has its list of models at `/api/v1/models` alone.
const LIST_AT_ONE_PATH: fn(&str) -> Vec<u8> =
    |request| match request.starts_with("GET /api/v1/models ") {
        true => json_response(
            200,
            r#"{"object":"list","data":[{"id":"sim-large-2026-08"},{"id":"sim-small-2026-08"}]}"#,
        ),
        false => json_response(404, r#"{"error":{"message":"no such path"}}"#),
    };

// The provider responds while the test waits for the command.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_missing_or_there_twice_is_a_failure_with_the_url_to_write() {
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(LIST_AT_ONE_PATH)]).await;
    let origin = format!("http://{}", provider.address);
    for (path, code, words) in [
        ("/api/v1", 0, "lists 2 models"),
        ("/api", 1, "lacks its `/v1`"),
        ("/api/v1/v1", 1, "has a `/v1` too many"),
        // Nothing is known of these.
        ("", 0, "no list of models (404 Not Found)"),
        ("/v1", 0, "no list of models (404 Not Found)"),
    ] {
        let config = standard(&format!("{origin}{path}"));
        let folder = folder_with_schemas();
        folder.write("routes.yaml", format!("{config:#}"));
        let printed = run(&["check", "--strict", &config_of(&folder)]);
        assert_eq!(
            printed.code, code,
            "{path}: {}{}",
            printed.stdout, printed.stderr
        );
        assert!(printed.stdout.contains(words), "{path}: {}", printed.stdout);
        if code == 1 {
            let url = format!("write `{origin}/api/v1`");
            assert!(printed.stdout.contains(&url), "{path}: {}", printed.stdout);
        }
    }
}

// The proxies respond while the test waits for the command.
#[tokio::test(flavor = "multi_thread")]
async fn a_channel_with_a_proxy_is_checked_through_it() {
    let simulator = Simulator::start().await;
    let tunnel = RecordingProxy::start(ProxyBehaviour::Tunnel(simulator.address)).await;
    let refusal = ProxyBehaviour::Respond("HTTP/1.1 403 No\r\n\r\n");
    let refusing = RecordingProxy::start(refusal).await;
    let mut config = standard("http://provider.invalid:8000/v1");
    config["channels"]["openai"]["proxy"] = json!(tunnel.url("socks5", "u:pw-canary"));
    config["channels"]["messages"]["proxy"] = json!(refusing.url("http", "u:pw-canary"));
    let folder = folder_with_schemas();
    folder.write("routes.yaml", format!("{config:#}"));
    let printed = run(&["check", "--strict", &config_of(&folder)]);
    assert_eq!(printed.code, 1, "{}{}", printed.stdout, printed.stderr);
    let connected = format!(
        "connected to provider.invalid:8000 through socks5://{}; the provider lists",
        tunnel.address
    );
    for words in [
        &*connected,
        "no connection to provider.invalid through the proxy: ",
        "it refused: 403 Forbidden; check `proxy` of the channel",
    ] {
        assert!(
            printed.stdout.contains(words),
            "{words}: {}",
            printed.stdout
        );
    }
    assert!(!printed.stdout.contains("pw-canary"), "{}", printed.stdout);
}

/// A model that the simulated provider lists.
async fn model_list(simulator: &Simulator) -> String {
    let mut connection = crate::harness::Connection::to(simulator.address).await;
    let answer = connection
        .ask(&crate::harness::Request::get("/v1/models"))
        .await;
    answer.json()["data"][0]["id"].as_str().unwrap().to_owned()
}

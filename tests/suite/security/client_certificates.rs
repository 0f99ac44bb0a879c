//! Tests of client certificates that authenticate callers, beside keys.

use crate::configuration::check::{GOOD, check};
use crate::harness::certificates::{Authority, Identity};
use crate::harness::error_shape::assert_error_body;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::{Connection, Gateway, Http2, Request, Simulator, WholeResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const CAROL: &str = "sk-carol-canary-0000";
const SPIFFE: &str = "uri:spiffe://prod/ann";

/// A gateway whose listener asks for client certificates, and that authenticates by them.
struct MutualTlsGateway {
    gateway: Gateway,
    server: Authority,
    clients: Authority,
    _simulator: Simulator,
}

impl MutualTlsGateway {
    async fn start(precedence: Option<&str>) -> Self {
        let (simulator, folder) = (Simulator::start().await, folder_with_schemas());
        let (server, clients) = (Authority::new(), Authority::new());
        let mut config = config::standard(&simulator.url());
        config["server"]["tls"] = server.server().write(&folder, "server");
        folder.write("clients.pem", clients.pem());
        config["server"]["tls"]["client_ca"] = "clients.pem".into();
        config["callers"] = json!([
            {"name": "ann", "models": ["*"], "keys": [{"label": "mesh", "certificate": SPIFFE}]},
            {"name": "bob", "models": ["*"], "keys": [
                {"label": "host", "certificate": "dns:Bob.internal"},
                {"label": "old", "certificate": "cn:bob", "not_after": "2020-01-01T00:00:00Z"},
                {"label": "mail", "certificate": "email:bob@corp.example", "models": ["demo-small"]},
            ]},
            config::caller("carol", CAROL, &["*"]),
        ]);
        if let Some(precedence) = precedence {
            let body = config["chains"]["body"].as_array_mut().unwrap();
            let at = body
                .iter()
                .position(|filter| filter == "authenticate")
                .unwrap();
            body[at] = json!({"authenticate": {"client_certificate": precedence}});
        }
        Self {
            gateway: Gateway::start_in(folder, &config.to_string()).await,
            server,
            clients,
            _simulator: simulator,
        }
    }

    async fn ask(&self, offered: &str, identity: &Identity, key: Option<&str>) -> WholeResponse {
        let address = self.gateway.address;
        let stream = self
            .server
            .connect(address, &[offered], Some(identity))
            .await;
        let request = match key {
            Some(key) => Request::ask(Protocol::Chat).key(key),
            None => Request::ask(Protocol::Chat).without("authorization"),
        };
        match offered {
            "h2" => Http2::over(stream.unwrap()).await.ask(&request).await,
            _ => Connection::over(stream.unwrap()).ask(&request).await,
        }
    }
}

#[tokio::test]
async fn a_certificate_authenticates_its_caller_before_or_after_keys() {
    let first = MutualTlsGateway::start(Some("first")).await;
    let last = MutualTlsGateway::start(Some("last")).await;
    for (names, key, by_first, by_last) in [
        (&[SPIFFE][..], None, Some("ann"), Some("ann")),
        (
            &["cn:x", "dns:BOB.internal"],
            None,
            Some("bob"),
            Some("bob"),
        ),
        (&[SPIFFE], Some(CAROL), Some("ann"), Some("carol")),
        (&[SPIFFE], Some("sk-unused"), Some("ann"), None),
        (&["cn:stranger"], Some(CAROL), Some("carol"), Some("carol")),
        (&["cn:stranger"], None, None, None),
        // A name is no key, and a part of a name is no name.
        (&["cn:stranger"], Some(SPIFFE), None, None),
        (
            &["uri:spiffe://prod/ann/x", "cn:spiffe://prod/ann"],
            None,
            None,
            None,
        ),
        (
            &["dns:spiffe.prod", "email:ann@x.example"],
            None,
            None,
            None,
        ),
        // Names of two callers.
        (&[SPIFFE, "dns:bob.internal"], None, None, None),
        // A key of this name has expired.
        (&["cn:bob"], None, None, None),
        (&[], None, None, None),
    ] {
        for (world, expected) in [(&first, by_first), (&last, by_last)] {
            for offered in ["http/1.1", "h2"] {
                let identity = world.clients.client(names);
                let response = world.ask(offered, &identity, key).await;
                let line = world.gateway.log_of(&response).await;
                let case = format!("{names:?} {key:?} {offered}: {line}");
                match expected {
                    Some(caller) => assert_eq!(
                        (response.status, line["caller"].as_str()),
                        (200, Some(caller)),
                        "{case}"
                    ),
                    None => {
                        assert_eq!(response.status, 401, "{case}");
                        assert_error_body(Protocol::Chat, &response, 401);
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_certificate_has_the_restrictions_of_its_key_and_authenticates_nobody_unasked() {
    let world = MutualTlsGateway::start(Some("first")).await;
    let mail = world.clients.client(&["email:bob@corp.example"]);
    let refused = world.ask("http/1.1", &mail, None).await;
    assert_eq!(refused.status, 403, "demo-large: {}", refused.text());
    let unasked = MutualTlsGateway::start(None).await;
    let known = unasked.clients.client(&[SPIFFE]);
    let refused = unasked.ask("http/1.1", &known, None).await;
    assert_error_body(Protocol::Chat, &refused, 401);
    assert_eq!(unasked.ask("h2", &known, Some(CAROL)).await.status, 200);
}

#[test]
fn a_key_for_certificates_that_cannot_serve_is_an_error_at_its_place() {
    let with_key = |key: Value| {
        let models = "    models: [demo-small]\n";
        GOOD.replacen(models, &format!("{models}    keys: [{key}]\n"), 1)
    };
    let digest = "1".repeat(64);
    for (key, place, reason) in [
        (
            json!({"label": "a", "certificate": "cn:web"}),
            "(callers[0].keys[0].certificate)",
            "the listener asks for none",
        ),
        (
            json!({"label": "a", "certificate": "web"}),
            "(callers[0].keys[0].certificate)",
            "expected `uri:`, `dns:`, `email:` or `cn:`",
        ),
        (
            json!({"label": "a"}),
            "(callers[0].keys[0])",
            "needs one of `key_sha256` and `certificate`",
        ),
        (
            json!({"label": "a", "certificate": "cn:web", "key_sha256": digest}),
            "(callers[0].keys[0])",
            "needs one of `key_sha256` and `certificate`",
        ),
    ] {
        let printed = check(&with_key(key));
        assert!(!printed.success, "{}", printed.stdout);
        assert!(printed.stderr.contains(place), "{}", printed.stderr);
        assert!(printed.stderr.contains(reason), "{}", printed.stderr);
    }
}

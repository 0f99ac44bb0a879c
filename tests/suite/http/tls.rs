//! Tests of the gateway's TLS: both versions of HTTP, client certificates, and invalid files.

use crate::harness::certificates::{Authority, Identity};
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::Process;
use crate::harness::{
    Connection, Gateway, Http2, PROTOCOLS, Request, Simulator, config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::io::AsyncReadExt;

/// A gateway with TLS and a simulated provider.
struct TlsGateway {
    gateway: Gateway,
    simulator: Simulator,
    authority: Authority,
}

impl TlsGateway {
    async fn start(change: impl FnOnce(&mut Value, &Folder)) -> Self {
        let simulator = Simulator::start().await;
        let (folder, authority) = (folder_with_schemas(), Authority::new());
        let mut config = config::standard(&simulator.url());
        config["server"]["tls"] = authority.server().write(&folder, "server");
        change(&mut config, &folder);
        Self {
            gateway: Gateway::start_in(folder, &config.to_string()).await,
            simulator,
            authority,
        }
    }
}

#[tokio::test]
async fn a_tls_listener_speaks_the_http_version_that_was_negotiated() {
    let world = TlsGateway::start(|_, _| {}).await;
    let address = world.gateway.address;
    for offered in [&[][..], &["http/1.1"]] {
        let stream = world.authority.connect(address, offered, None).await;
        let mut connection = Connection::over(stream.unwrap());
        for protocol in PROTOCOLS {
            for request in [Request::ask(protocol), Request::ask_stream(protocol)] {
                let answer = connection.ask(&request).await;
                assert_eq!((answer.status, answer.whole), (200, true));
            }
        }
    }
    for offered in [&["h2"][..], &["http/1.1", "h2"]] {
        let stream = world.authority.connect(address, offered, None).await;
        let stream = stream.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let connection = Http2::over(stream).await;
        for protocol in PROTOCOLS {
            for request in [Request::ask(protocol), Request::ask_stream(protocol)] {
                let answer = connection.ask(&request).await;
                assert_eq!((answer.status, answer.whole), (200, true));
                assert_eq!(answer.headers.get("transfer-encoding"), None);
            }
        }
    }
    assert_eq!(world.simulator.records().await.len(), 24);
    let plain = Connection::to(address).await;
    assert!(speaks_no_http(plain).await);
}

#[tokio::test]
async fn a_client_certificate_is_asked_for_where_an_authority_is_named() {
    let clients = Authority::new();
    let world = TlsGateway::start(|config, folder| {
        folder.write("clients.pem", clients.pem());
        config["server"]["tls"]["client_ca"] = "clients.pem".into();
    })
    .await;
    let address = world.gateway.address;
    let (known, stranger) = (
        clients.issue(&["client"]),
        Authority::new().issue(&["client"]),
    );
    for offered in ["http/1.1", "h2"] {
        for identity in [None, Some(&stranger)] {
            assert!(!gets_in(&world.authority, address, offered, identity).await);
        }
        assert!(gets_in(&world.authority, address, offered, Some(&known)).await);
    }
    let stream = world
        .authority
        .connect(address, &["h2"], Some(&known))
        .await;
    let answer = Http2::over(stream.unwrap())
        .await
        .ask(&Request::ask(Protocol::Chat))
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(world.simulator.records().await.len(), 1);
}

#[tokio::test]
async fn a_tls_client_that_never_speaks_is_not_kept() {
    let world = TlsGateway::start(|config, _| {
        config["server"]["limits"] = json!({"keep_alive_timeout": "1s", "header_timeout": "1s"});
    })
    .await;
    for offered in ["http/1.1", "h2"] {
        let address = world.gateway.address;
        let stream = world.authority.connect(address, &[offered], None).await;
        let (mut stream, mut rest) = (stream.unwrap(), Vec::new());
        let ended = tokio::time::timeout(
            std::time::Duration::from_secs(10),
            stream.read_to_end(&mut rest),
        );
        assert!(ended.await.is_ok(), "{offered}");
    }
}

#[tokio::test]
async fn files_that_hold_no_certificate_are_errors_with_their_place() {
    let authority = Authority::new();
    let folder = folder_with_schemas();
    let pair = authority.server().write(&folder, "good");
    authority.server().write(&folder, "other");
    folder.write("ca.pem", authority.pem());
    folder.write("garbage.pem", "this is no PEM");
    folder.write("empty.pem", "");
    folder.write("binary.pem", [0xff, 0x00, 0x80]);
    for (name, label) in [("hollow", "CERTIFICATE"), ("key", "PRIVATE KEY")] {
        let text = format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
        folder.write(&format!("{name}.pem"), text);
    }
    let good = |key: &str, value: &str| {
        let mut pair = pair.clone();
        pair[key] = value.into();
        pair
    };
    let mut cases = Vec::new();
    for name in [
        "garbage.pem",
        "empty.pem",
        "binary.pem",
        "hollow.pem",
        "missing.pem",
    ] {
        for (server, channel) in [
            ("client_ca", "ca"),
            ("certificate", "certificate"),
            ("key", "key"),
        ] {
            cases.push(("server", server, good(server, name)));
            cases.push(("channels", channel, good(channel, name)));
        }
    }
    for section in ["server", "channels"] {
        cases.push((section, "key", good("key", "key.pem")));
        cases.push((section, "key", good("key", "other.key")));
    }
    for (section, member, tls) in cases {
        let output = check(&folder, section, &tls).await;
        assert!(
            output.contains("routes.yaml:") && output.contains("tls"),
            "{member} {tls}: {output}"
        );
        assert!(output.contains(member), "{member} {tls}: {output}");
        assert!(!output.contains("panicked"), "{tls}: {output}");
    }
    assert_eq!(
        check(&folder, "server", &good("client_ca", "ca.pem")).await,
        ""
    );
    assert_eq!(check(&folder, "channels", &good("ca", "ca.pem")).await, "");
}

#[tokio::test]
async fn a_server_name_that_no_certificate_can_have_is_an_error() {
    let folder = folder_with_schemas();
    for name in ["", "a b", "-", "a..b", "https://gate.test"] {
        let output = check(&folder, "channels", &json!({"server_name": name})).await;
        assert!(output.contains("server_name"), "{name}: {output}");
    }
    for name in ["gate.test", "127.0.0.1", "::1"] {
        assert_eq!(
            check(&folder, "channels", &json!({"server_name": name})).await,
            ""
        );
    }
}

/// The problems that `headgate check` finds in a configuration with `tls` in this section.
async fn check(folder: &Folder, section: &str, tls: &Value) -> String {
    let mut config = config::standard("https://127.0.0.1:1/v1");
    match section {
        "server" => config["server"]["tls"] = tls.clone(),
        _ => config["channels"]["openai"]["tls"] = tls.clone(),
    }
    let file = folder.write("routes.yaml", format!("{config:#}"));
    let mut process = Process::spawn(&["check", file.to_str().unwrap()]);
    let ended = eventually("the end of the check", async || process.ended()).await;
    if ended.success() {
        return String::new();
    }
    assert_eq!(ended.code(), Some(1));
    let output = async || {
        let output = process.stderr.all().join("\n");
        (!output.is_empty()).then_some(output)
    };
    eventually("what is wrong", output).await
}

/// Whether a request on a new connection gets a response.
async fn gets_in(
    authority: &Authority,
    address: SocketAddr,
    offered: &str,
    identity: Option<&Identity>,
) -> bool {
    let Ok(mut stream) = authority.connect(address, &[offered], identity).await else {
        return false;
    };
    if offered == "h2" {
        // The listener sends its SETTINGS without a request.
        return stream.read_u8().await.is_ok();
    }
    let mut connection = Connection::over(stream);
    let sent = connection.send(&Request::get("/v1/models").bytes()).await;
    sent.is_ok()
        && connection
            .answer()
            .await
            .is_some_and(|answer| answer.status == 200)
}

async fn speaks_no_http(mut connection: Connection) -> bool {
    let sent = connection.send(&Request::get("/v1/models").bytes()).await;
    sent.is_err() || connection.answer().await.is_none()
}

//! Tests that no credential is logged, whatever `RUST_LOG` and the input are.

use crate::harness::certificates::Authority;
use crate::harness::config::CREDENTIALS;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::request::{ANN, BOB};
use crate::harness::{
    Connection, Gateway, Http2, PROTOCOLS, Request, ScriptedProvider, Simulator, config, eventually,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

/// A key that is not one of this gateway.
const STRANGER: &str = "sk-stranger-canary-0f3e77";
/// The value of headers that do not carry credentials.
const VALUE: &str = "value-of-a-header-canary-6b1d";
/// The value of a channel's `header` credential.
const BASIC: &str = "Basic Y2FuYXJ5LXVzZXI6Y2FuYXJ5LXBhc3M=";

/// Values of `RUST_LOG` that ask for more than the gateway allows.
const DIRECTIVES: [&str; 6] = [
    "trace",
    "debug",
    "headgate=trace,h2=trace,pingora_core=trace,pingora_http=trace,rustls=trace,tokio_rustls=trace,redis=trace,log=trace",
    "warn,[{}]=trace,h2::codec=trace,h2::hpack::decoder=trace",
    "info,pingora_core::protocols::http=trace,[Connection]=trace,[FramedRead::next]=trace",
    "off,h2[poll]=trace,pingora=trace,headgate=debug",
];

fn canaries() -> Vec<&'static str> {
    vec![
        ANN,
        BOB,
        STRANGER,
        VALUE,
        BASIC,
        BASIC.strip_prefix("Basic ").unwrap(),
        CREDENTIALS[0],
        CREDENTIALS[1],
    ]
}

/// A text in the formats of all kinds of debug output.
fn forms(canary: &str) -> Vec<String> {
    let bytes = canary.as_bytes();
    let joined = |format: fn(&u8) -> String, between: &str| {
        bytes.iter().map(format).collect::<Vec<_>>().join(between)
    };
    let mut forms = vec![
        canary.to_string(),
        canary.escape_debug().to_string(),
        bytes.escape_ascii().to_string(),
        joined(|byte| format!("{byte:02x}"), ""),
        joined(|byte| format!("{byte:02X}"), ""),
        joined(|byte| format!("{byte:02x}"), " "),
        joined(|byte| format!("{byte:02x}"), ":"),
        joined(|byte| format!("0x{byte:02x}"), ", "),
        joined(|byte| format!("\\x{byte:02x}"), ""),
        joined(|byte| byte.to_string(), ", "),
        joined(|byte| byte.to_string(), ","),
    ];
    // In other bytes, its base64 has one of three alignments.
    for before in 0..3 {
        let text = STANDARD.encode([&vec![b' '; before], bytes].concat());
        let (from, to) = (if before == 0 { 0 } else { 4 }, text.len() - 4);
        forms.push(text[from..to].to_string());
    }
    forms
}

/// All output of the process, once it has ended.
async fn ended(mut gateway: Gateway) -> String {
    gateway.process.signal(libc::SIGTERM);
    let over = async || gateway.process.ended();
    eventually("the end of the process", over).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let process = &gateway.process;
    [process.stderr.all(), process.stdout.all()]
        .concat()
        .join("\n")
}

fn assert_clean(directives: &str, output: &str) {
    for canary in canaries() {
        for form in forms(canary) {
            if let Some(at) = output.find(&form) {
                let line = output[..at].rfind('\n').map_or(0, |start| start + 1);
                let end = output[line..]
                    .find('\n')
                    .map_or(output.len(), |end| line + end);
                let shown: String = output[line..end].chars().take(600).collect();
                panic!("`{canary}` is printed with RUST_LOG={directives} as `{form}`: {shown}");
            }
        }
    }
}

/// Requests with keys and other secrets in every place where a caller may put them.
fn requests() -> Vec<Request> {
    let mut requests = Vec::new();
    for protocol in PROTOCOLS {
        for request in [Request::ask(protocol), Request::ask_stream(protocol)] {
            requests.push(request.clone().header("x-custom", VALUE));
            requests.push(request.clone().key(BOB).header("x-api-key", BOB));
            requests.push(
                request
                    .without("authorization")
                    .header("x-api-key", STRANGER),
            );
        }
    }
    requests.push(Request::get("/nowhere").key(STRANGER));
    requests.push(Request::get(&format!("/v1/models?api_key={STRANGER}")));
    requests.push(Request::get("/v1/models").header("cookie", &format!("session={VALUE}")));
    requests.push(Request::ask(Protocol::Chat).simulate("status=401"));
    requests.push(Request::ask(Protocol::Chat).simulate("status=500"));
    requests.push(Request::ask_stream(Protocol::Messages).simulate("cut_after=2"));
    requests
}

/// Bytes that are not HTTP and contain a key.
fn malformed() -> Vec<String> {
    vec![
        format!(
            "GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {STRANGER}\r\nbad line\r\n\r\n"
        ),
        format!("GET /v1/models HTTP/1.1\r\nHost: a\r\nx: {VALUE}\u{1}\r\n\r\n"),
        format!("GET /v1/models HTTP/1.1\r\nHost: a\r\nContent-Length: {VALUE}\r\n\r\n"),
        format!(
            "GET /v1/models HTTP/1.1\r\nHost: a\r\nContent-Length: -{VALUE}\r\nAccept-Encoding: {VALUE}\r\n\r\n"
        ),
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {ANN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{VALUE}\r\n"
        ),
        format!("{STRANGER}\r\n\r\n"),
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {ANN}\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{{}}   {VALUE} {STRANGER}\r\n\r\n"
        ),
    ]
}

async fn send_malformed(gateway: &Gateway) {
    for bytes in malformed() {
        let mut connection = gateway.connect().await;
        connection.send(bytes.as_bytes()).await.unwrap();
        connection.answer().await;
    }
}

#[tokio::test]
async fn no_level_prints_a_credential_over_plain_http1() {
    for directives in DIRECTIVES {
        let simulator = Simulator::start().await;
        let mut config = config::standard(&simulator.url());
        config["server"]["access_log"] = "stderr".into();
        config["channels"]["messages"]["credential"] =
            json!({"header": {"name": "authorization", "value": BASIC}});
        config::without_cool_downs(&mut config);
        let gateway = Gateway::start_logging(folder_with_schemas(), &config, directives).await;
        let mut connection = gateway.connect().await;
        for request in requests() {
            let mut next = Connection::to(gateway.address).await;
            std::mem::swap(&mut connection, &mut next);
            connection.ask(&request).await;
        }
        send_malformed(&gateway).await;
        assert!(!simulator.records().await.is_empty());
        assert_clean(directives, &ended(gateway).await);
    }
}

#[tokio::test]
async fn no_level_prints_a_credential_over_tls_and_http2_on_both_sides() {
    for directives in DIRECTIVES {
        let simulator = Simulator::start().await;
        let (folder, authority) = (folder_with_schemas(), Authority::new());
        // The provider is a gateway with TLS, whose callers' keys are the channels' credentials.
        let mut provider = config::standard(&simulator.url());
        provider["server"]["tls"] = authority.server().write(&folder, "server");
        provider["callers"] = json!([
            config::caller("one", CREDENTIALS[0], &["*"]),
            config::caller("two", CREDENTIALS[1], &["*"]),
        ]);
        for name in ["openai", "messages"] {
            provider["channels"][name]["credential"] = json!({"bearer": "sk-behind"});
        }
        let provider = Gateway::start_in(folder, &provider.to_string()).await;
        let folder = folder_with_schemas();
        folder.write("ca.pem", authority.pem());
        let mut config = config::standard(&format!("https://{}/v1", provider.address));
        config["server"]["tls"] = authority.server().write(&folder, "server");
        for (name, http) in [("openai", "http2"), ("messages", "auto")] {
            let channel = &mut config["channels"][name];
            channel["tls"] = json!({"ca": "ca.pem", "server_name": "gate.test"});
            channel["http"] = http.into();
            for model in ["demo-large", "demo-small"] {
                channel["models"][model] = model.into();
            }
        }
        config::without_cool_downs(&mut config);
        let gateway = Gateway::start_logging(folder, &config, directives).await;
        let stream = authority.connect(gateway.address, &["h2"], None).await;
        let http2 = Http2::over(stream.unwrap()).await;
        let mut answered = 0;
        for request in requests() {
            let stream = authority
                .connect(gateway.address, &["http/1.1"], None)
                .await;
            Connection::over(stream.unwrap()).ask(&request).await;
            answered += u32::from(http2.ask(&request).await.status == 200);
        }
        assert!(answered >= 8, "{answered}");
        assert_clean(directives, &ended(gateway).await);
    }
}

#[tokio::test]
async fn no_level_prints_a_credential_that_a_provider_repeats_in_a_broken_answer() {
    let echoes: [fn(&str) -> Vec<u8>; 4] = [
        |asked| {
            format!(
                "HTTP/1.1 200 OK\r\nx-echo {}\r\nbad line\r\n\r\n",
                shown(asked)
            )
            .into()
        },
        |asked| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                shown(asked)
            )
            .into()
        },
        |asked| format!("{}\r\n\r\n", shown(asked)).into(),
        |asked| {
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{}\r\n", shown(asked)).into()
        },
    ];
    for directives in &DIRECTIVES[..3] {
        for echo in echoes {
            let provider = ScriptedProvider::start(vec![
                crate::harness::ScriptedResponse::Answer(echo),
                crate::harness::ScriptedResponse::Close,
            ])
            .await;
            let mut config = config::standard(&provider.url());
            config::without_cool_downs(&mut config);
            let gateway = Gateway::start_logging(folder_with_schemas(), &config, directives).await;
            for protocol in PROTOCOLS {
                gateway.ask(&Request::ask(protocol)).await;
            }
            assert!(!provider.requests().is_empty());
            assert_clean(directives, &ended(gateway).await);
        }
    }
}

/// The credential of a request.
fn shown(asked: &str) -> String {
    let lines = asked.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(name, _)| {
            name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("x-api-key")
        })
        .map(|(_, value)| value.trim().to_string())
        .collect()
}

#[tokio::test]
async fn own_events_are_logged_at_every_level_and_the_cap_on_libraries_is_reported() {
    for (directives, has_debug, is_capped) in [
        ("headgate=debug", true, false),
        ("trace", true, true),
        ("info", false, false),
        ("headgate=info,h2=debug", false, true),
        ("warn,pingora_core=error,headgate=info", false, false),
    ] {
        let simulator = Simulator::start().await;
        // The resolution of a name is a debug event.
        let config = config::standard(&simulator.url().replace("127.0.0.1", "localhost"));
        let folder = folder_with_schemas();
        let mut gateway = Gateway::start_logging(folder, &config, directives).await;
        gateway.ask(&Request::ask(Protocol::Chat)).await;
        // Lines are written in batches, the last ones when the process ends.
        gateway.process.signal(libc::SIGTERM);
        let over = async || gateway.process.ended();
        eventually("the end of the process", over).await;
        let lines = gateway.process.stderr.json();
        let ours = |line: &&Value| line["target"].as_str().unwrap().starts_with("headgate");
        assert!(lines.iter().all(|line| ours(&line)), "{lines:?}");
        let has = lines.iter().any(|line| line["level"] == "DEBUG");
        assert_eq!(has, has_debug, "{directives}: {lines:?}");
        let reported = lines.iter().any(|line| {
            line["message"]
                .as_str()
                .is_some_and(|message| message.contains("RUST_LOG"))
        });
        assert_eq!(reported, is_capped, "{directives}: {lines:?}");
    }
}

//! Tests of the request to the provider: the caller's bytes with only the model renamed, and without its secrets.

use crate::harness::config::{self, CREDENTIALS};
use crate::harness::request::ANN;
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, TestSetup, path_of};
use headgate_protocol::Protocol;
use serde_json::json;

/// Bodies with every kind of byte that re-encoding would change; MODEL is the model's value.
const CHAT: [&str; 2] = [
    "{\"model\":\"MODEL\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}",
    "\r\n {\t\"mod\\u0065l\" : \"MODEL\" ,\n\"messages\":[ {\"role\":\"user\",\"content\":\"caf\\u00e9 caf\u{e9} \
     \\ud83d\\ude00 \\/ / \\\"model\\\":\"} ],\"x_vendor\":{\"model\":\"demo-large\",\"Model\":1,\
     \"id\":12345678901234567890123,\"z\":-0,\"big\":1e400,\"e\":1E+2,\"f\":0.10,\"a\":[ ],\"o\":{ }},\
     \"seed\" : 7 }\n ",
];
const MESSAGES: [&str; 2] = [
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":9,\"model\":\"MODEL\"}",
    "{ \"\\u006dodel\":\t\"MODEL\",\"max_tokens\" : 9 ,\"messages\":[{\"content\":[{\"type\":\"text\",\
     \"text\":\"\\u2028\u{1f600}\"}],\"role\":\"user\"}],\"metadata\":{\"user_id\":\"model\"},\
     \"x_vendor\":[{\"model\":\"MODEL \",\"n\":-0.0,\"id\":99999999999999999999999}]}\r\n",
];
const RESPONSES: [&str; 2] = [
    "{\"model\":\"MODEL\",\"input\":\"Hi\"}",
    "{\"input\":[{\"role\":\"user\",\"content\":\"\\n\"}] ,  \"demo-large\":null,\"metadata\":{\"model\":\"x\"},\
     \"x_vendor\":1e-400,\"model\"\n:\n\"MODEL\"  }",
];

#[tokio::test]
async fn a_provider_receives_the_callers_bytes_with_only_the_model_renamed() {
    let world = TestSetup::start().await;
    for (protocol, bodies) in PROTOCOLS.into_iter().zip([CHAT, MESSAGES, RESPONSES]) {
        for body in bodies {
            let sent = body.replace("\"MODEL\"", "\"demo-large\"");
            let expected = body.replace("\"MODEL\"", "\"sim-large-2026-08\"");
            for chunk in [None, Some(1), Some(13), Some(4096)] {
                // The HTML page is returned without parsing the body, whose 1e400 few parsers accept; the caller
                // receives an error for the page.
                let request = Request::to(protocol, sent.clone()).simulate("html");
                let request = match chunk {
                    Some(size) => request.chunked(size),
                    None => request,
                };
                let answer = world.ask(&request).await;
                assert_eq!(answer.status, 502, "{sent}: {}", answer.text());
                let received = String::from_utf8(world.simulator.last_body().await).unwrap();
                assert_eq!(received, expected, "chunks of {chunk:?}");
                let record = world.simulator.last().await;
                let length = expected.len().to_string();
                assert_eq!(record["headers"]["content-length"], length);
                assert_eq!(record["headers"]["transfer-encoding"], json!(null));
                assert_eq!(record["path"], path_of(protocol));
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_trickles_in_arrives_like_any_other() {
    let world = TestSetup::start().await;
    let request = Request::ask(Protocol::Chat);
    let mut connection = world.gateway.connect().await;
    connection.send(&request.head()).await.unwrap();
    for byte in request.framed_body() {
        connection.send(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(connection.answer().await.unwrap().status, 200);
    let received = String::from_utf8(world.simulator.last_body().await).unwrap();
    let sent = String::from_utf8(request.body.unwrap()).unwrap();
    assert_eq!(received, sent.replace("demo-large", "sim-large-2026-08"));
}

#[tokio::test]
async fn a_provider_sees_the_channels_credential_and_nothing_of_the_callers() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        let request = Request::ask(protocol)
            .header("Cookie", "session=cookie-canary")
            .header("Connection", "keep-alive, X-Nominated, anthropic-version-x")
            .header("X-Nominated", "nominated-canary")
            .header("Keep-Alive", "timeout=5")
            .header("TE", "trailers")
            .header("Proxy-Authorization", "Basic proxy-canary")
            .header("X-Forwarded-For", "203.0.113.9")
            .header("X-Forwarded-Host", "evil.test")
            .header("Forwarded", "for=203.0.113.9")
            .header("X-Real-IP", "203.0.113.9")
            .header("Via", "1.1 before")
            .header("OpenAI-Organization", "org-canary")
            .header("Accept-Encoding", "gzip, br")
            .header("X-Request-Id", "id-canary")
            .header("Anthropic-Beta", "tools-2026-01-01")
            .header("X-Stainless-Lang", "python")
            .header("User-Agent", "sdk/1.0");
        let answer = world.ask(&request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let record = world.simulator.last().await;
        let headers = &record["headers"];
        let text = record.to_string();
        let own =
            ["cookie", "nominated", "proxy", "org", "id"].map(|name| format!("{name}-canary"));
        let places = [ANN, "203.0.113.9", "evil.test", "gate.test"].map(String::from);
        for canary in own.iter().chain(&places) {
            assert!(!text.contains(canary), "{canary} in {text}");
        }
        let (own, other) = match protocol {
            Protocol::Messages => ("x-api-key", "authorization"),
            _ => ("authorization", "x-api-key"),
        };
        let credential = match protocol {
            Protocol::Messages => CREDENTIALS[1].to_string(),
            _ => format!("Bearer {}", CREDENTIALS[0]),
        };
        assert_eq!(headers[own], credential.as_str());
        assert_eq!(headers["accept-encoding"], "identity");
        assert_eq!(headers["anthropic-beta"], "tools-2026-01-01");
        assert_eq!(headers["x-stainless-lang"], "python");
        assert_eq!(headers["user-agent"], "sdk/1.0");
        assert_eq!(headers["host"], world.simulator.address.to_string());
        assert_eq!(
            headers["x-request-id"],
            answer.headers.get("x-request-id").unwrap()
        );
        let gone = [
            other,
            "cookie",
            "x-nominated",
            "keep-alive",
            "te",
            "connection",
            "forwarded",
            "via",
        ];
        for name in gone {
            assert_eq!(headers[name], json!(null), "{name} in {headers}");
        }
    }
}

#[tokio::test]
async fn a_caller_that_brings_its_key_as_x_api_key_does_not_show_it_either() {
    let world = TestSetup::start().await;
    let request = Request::ask(Protocol::Messages)
        .without("authorization")
        .header("x-api-key", ANN);
    assert_eq!(world.ask(&request).await.status, 200);
    let record = world.simulator.last().await;
    assert_eq!(record["headers"]["x-api-key"], CREDENTIALS[1]);
    assert!(!record.to_string().contains(ANN));
}

#[tokio::test]
async fn a_request_on_the_wire_has_one_framing_one_host_and_no_header_twice() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let provider = ScriptedProvider::answering(answer).await;
    let gateway = Gateway::start(&config::standard(&provider.url())).await;
    for protocol in PROTOCOLS {
        let request = Request::ask(protocol).header("Anthropic-Beta", "a");
        for request in [request.clone(), request.chunked(3)] {
            assert_eq!(gateway.ask(&request).await.status, 200);
        }
    }
    let requests = provider.requests();
    assert_eq!(requests.len(), 6);
    for request in requests {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let (line, fields) = head.split_once("\r\n").unwrap();
        assert!(
            line.starts_with("POST /v1/") && line.ends_with(" HTTP/1.1"),
            "{line}"
        );
        let fields = fields.lines().map(|field| field.split_once(": ").unwrap());
        let mut names: Vec<_> = fields
            .clone()
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "{head}");
        assert!(!names.contains(&"transfer-encoding".to_string()), "{head}");
        let value = |wanted: &str| {
            let mut found = fields
                .clone()
                .filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.next().map(|(_, value)| value.to_string())
        };
        assert_eq!(value("content-length"), Some(body.len().to_string()));
        assert_eq!(value("host"), Some(provider.address.to_string()));
    }
}

#[tokio::test]
async fn a_name_with_underscores_is_no_way_around_what_is_kept_back() {
    let world = TestSetup::start().await;
    let request = Request::ask(Protocol::Chat)
        .header("X_Api_Key", "underscore-canary")
        .header("OpenAI_Organization", "underscore-canary")
        .header("X_Forwarded_For", "underscore-canary")
        .header("Proxy_Authorization", "underscore-canary")
        .header("X_Own", "1");
    assert_eq!(world.ask(&request).await.status, 200);
    let headers = world.simulator.last().await["headers"].clone();
    assert!(
        !headers.to_string().contains("underscore-canary"),
        "{headers}"
    );
    assert_eq!(headers["x_own"], "1");
}

#[tokio::test]
async fn ten_megabytes_of_image_arrive_unchanged_and_are_not_held_three_times() {
    for chunked in [false, true] {
        // Spooled bytes count towards the peak, too, though the system may reclaim them at any time.
        let in_memory = json!({"threshold": "64MiB"});
        let world = TestSetup::with(|config| {
            config["server"]["spool"] = in_memory;
            config["server"]["workers"] = 1.into();
        })
        .await;
        assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
        let before = world.gateway.process.memory_peak();
        let body = body_with_image(10 << 20);
        let bytes = body.len() as u64;
        let request = Request::to(Protocol::Chat, body.replace("MODEL", "demo-large"));
        let request = match chunked {
            true => request.chunked(60_000),
            false => request,
        };
        let answer = world.ask(&request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let grown = world.gateway.process.memory_peak() - before;
        let received = world.simulator.last_body().await;
        // Not `assert_eq`, which would print ten megabytes.
        assert!(received == body.replace("MODEL", "sim-large-2026-08").as_bytes());
        assert!(
            grown < 3 * bytes,
            "{grown} bytes for a body of {bytes}, chunked: {chunked}"
        );
    }
}

fn body_with_image(bytes: usize) -> String {
    let image = "iVBORw0KGgo"
        .chars()
        .cycle()
        .take(bytes)
        .collect::<String>();
    format!(
        "{{\"model\":\"MODEL\",\"messages\":[{{\"role\":\"user\",\"content\":[{{\"type\":\"image_url\",\
         \"image_url\":{{\"url\":\"data:image/png;base64,{image}\"}}}}]}}]}}"
    )
}

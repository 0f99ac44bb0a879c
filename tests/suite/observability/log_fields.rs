//! Tests of access-log fields: names, counts, and maximum lengths.

use crate::harness::certificates::Authority;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::http_response;
use crate::harness::request::ANN;
use crate::harness::video::{FAMILY_B, GENERIC, ask, create, id_of, video_config};
use crate::harness::{
    Connection, Gateway, Http2, Request, ScriptedProvider, TestSetup, config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// The documented maximum length of a field, in bytes before JSON escapes.
const FIELD_BYTES_MAX: usize = 1024;
/// The maximum length of a field with short values.
const SHORT_BYTES_MAX: usize = 256;

/// A provider's JSON response with these header lines.
fn response(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let headers = format!("Content-Type: application/json\r\n{headers}");
    http_response(status, &headers, body)
}

async fn before(provider: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    Gateway::start(&config).await
}

/// The only access-log line so far, as text and as JSON.
async fn only_line(gateway: &Gateway) -> (String, Value) {
    let line = eventually("an access-log line", async || {
        gateway.process.stdout.all().into_iter().next()
    })
    .await;
    let parsed = serde_json::from_str(&line).unwrap();
    (line, parsed)
}

#[tokio::test]
async fn no_field_of_a_line_is_longer_than_its_bound() {
    let long = "x".repeat(60_000);
    let key = format!("Authorization: Bearer {ANN}\r\n");
    let head = |line: String, headers: &str| format!("{line}\r\nHost: gate.test\r\n{headers}\r\n");
    let cases = [
        (
            "a path without a route",
            "path",
            head(format!("GET /{long} HTTP/1.1"), ""),
        ),
        (
            "a path of a route",
            "path",
            head(format!("GET /v1/models/{long} HTTP/1.1"), &key),
        ),
        (
            "a path of a route, no key",
            "path",
            head(format!("GET /v1/models/{long} HTTP/1.1"), ""),
        ),
        (
            "a path of escapes",
            "path",
            head(format!("GET /{} HTTP/1.1", "%22%C3%A9".repeat(5_000)), ""),
        ),
        (
            "a user agent",
            "user_agent",
            head(
                "GET /v1/models HTTP/1.1".into(),
                &format!("{key}User-Agent: {}\r\n", &long[..40_000]),
            ),
        ),
        (
            "a user agent with wide characters",
            "user_agent",
            head(
                "GET /v1/models HTTP/1.1".into(),
                &format!("{key}User-Agent: {}\r\n", "a\u{1f600}".repeat(5_000)),
            ),
        ),
        (
            "a user agent that is no UTF-8",
            "user_agent",
            head(
                "GET /v1/models HTTP/1.1".into(),
                &format!("{key}User-Agent: {}\r\n", "\u{e9}".repeat(900)),
            ),
        ),
        (
            "a method",
            "method",
            head(format!("{} /v1/models HTTP/1.1", &long[..2_000]), &key),
        ),
        (
            "a file's id",
            "path",
            head(format!("GET /v1/files/{long} HTTP/1.1"), &key),
        ),
    ];
    for (what, field, request) in cases {
        let world = TestSetup::start().await;
        let mut connection = world.gateway.connect().await;
        let mut bytes = request.into_bytes();
        if what.ends_with("no UTF-8") {
            // Removes the second byte of all characters but the first.
            let mut is_head = true;
            bytes.retain(|byte| *byte != 0xa9 || std::mem::take(&mut is_head));
        }
        connection.send(&bytes).await.unwrap();
        connection.answer().await.expect("an answer");
        let (line, parsed) = only_line(&world.gateway).await;
        assert!(line.len() < 8 << 10, "{what}: {} bytes", line.len());
        for (name, value) in parsed.as_object().unwrap() {
            let length = value.as_str().map_or(0, str::len);
            let is_short = matches!(
                name.as_str(),
                "method" | "user_agent" | "response_id" | "upstream_request_id"
            );
            let most = if is_short {
                SHORT_BYTES_MAX
            } else {
                FIELD_BYTES_MAX
            };
            assert!(length <= most, "{what}: {name} has {length} bytes");
        }
        let cut = parsed[field].as_str().unwrap_or_default();
        assert!(
            cut.contains("…(") && cut.ends_with(" bytes)"),
            "{what}: {line}"
        );
    }
}

#[tokio::test]
async fn what_a_provider_supplies_is_bounded_too() {
    let long = "r".repeat(20_000);
    let ok = response(
        200,
        &format!("x-request-id: {long}\r\n"),
        &format!("{{\"id\":\"resp_{long}\",\"object\":\"response\"}}"),
    );
    let headers = format!("Content-Type: text/html\r\nx-request-id: {long}\r\n");
    let foreign = http_response(502, &headers, &long);
    for answer in [ok, foreign] {
        let gateway = before(&ScriptedProvider::answering(answer).await).await;
        gateway.ask(&Request::ask(Protocol::Responses)).await;
        let (line, parsed) = only_line(&gateway).await;
        assert!(line.len() < 4 << 10, "{} bytes", line.len());
        let id = parsed["upstream_request_id"].as_str().unwrap_or_default();
        assert!(
            id.len() <= SHORT_BYTES_MAX && id.ends_with("…(20000 bytes)"),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_line_names_the_client_and_its_user_agent_on_every_way_in() {
    let simulator = crate::harness::Simulator::start().await;
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let mut config = config::standard(&simulator.url());
    config["server"]["tls"] = authority.server().write(&folder, "server");
    let secured = Gateway::start_in(folder, &config.to_string()).await;
    let plain = Gateway::start(&config::standard(&simulator.url())).await;
    let mut count = 0;
    for keyless in [false, true] {
        for path in ["/v1/models", "/nowhere"] {
            count += 1;
            let mut request = Request::get(path).header("User-Agent", "agent/1.0 (a \"quote\")");
            if keyless {
                request = request.without("authorization");
            }
            plain.ask(&request).await;
            let stream = authority
                .connect(secured.address, &["http/1.1"], None)
                .await;
            Connection::over(stream.unwrap()).ask(&request).await;
            let stream = authority.connect(secured.address, &["h2"], None).await;
            Http2::over(stream.unwrap()).await.ask(&request).await;
        }
    }
    for (gateway, wanted) in [(&plain, count), (&secured, 2 * count)] {
        let lines = eventually("all lines", async || {
            Some(gateway.log()).filter(|lines| lines.len() == wanted)
        })
        .await;
        for line in lines {
            assert_eq!(line["client_address"], "127.0.0.1", "{line}");
            assert!(line["client_port"].as_u64() > Some(0), "{line}");
            assert_eq!(line["user_agent"], "agent/1.0 (a \"quote\")", "{line}");
        }
    }
    // A request without a user agent, or with an invalid head, has no such field.
    plain
        .ask(&Request::get("/v1/models").header("x-mark", "1"))
        .await;
    let mut connection = plain.connect().await;
    connection
        .send(b"GET /v1/models HTTP/1.1\r\nbad line\r\n\r\n")
        .await
        .unwrap();
    connection.answer().await;
    let lines = eventually("all lines", async || {
        Some(plain.log()).filter(|lines| lines.len() == count + 2)
    })
    .await;
    for line in &lines[count..] {
        assert_eq!(
            (&line["client_address"], &line["user_agent"]),
            (&json!("127.0.0.1"), &Value::Null),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_key_in_the_user_agent_is_not_logged() {
    let world = TestSetup::start().await;
    let request = Request::get("/v1/models").header("User-Agent", &format!("curl {ANN}"));
    let line = world.gateway.log_of(&world.ask(&request).await).await;
    assert_eq!(line["user_agent"], "curl [redacted]");
}

#[tokio::test]
async fn a_providers_request_id_is_logged_whatever_its_header_and_outcome() {
    let chat = json!({"id": "c", "object": "chat.completion", "choices": []}).to_string();
    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}, "request_id": "req_body"}).to_string();
    let refused = json!({"error": {"message": "no", "type": "invalid_request_error"}}).to_string();
    for (status, headers, body, expected) in [
        (200, "x-request-id: req_1\r\n", &chat, json!("req_1")),
        (200, "request-id: req_2\r\n", &chat, json!("req_2")),
        (200, "x-amzn-requestid: aws-3\r\n", &chat, json!("aws-3")),
        (200, "apim-request-id: az-4\r\n", &chat, json!("az-4")),
        (200, "x-tt-logid: tt-5\r\n", &chat, json!("tt-5")),
        (200, "cf-ray: ray-6\r\n", &chat, json!("ray-6")),
        (
            200,
            "cf-ray: ray-7\r\nx-request-id: req_7\r\n",
            &chat,
            json!("req_7"),
        ),
        (
            200,
            "x-request-id: \r\ncf-ray: ray-8\r\n",
            &chat,
            json!("ray-8"),
        ),
        (200, "", &chat, Value::Null),
        (400, "x-request-id: req_9\r\n", &refused, json!("req_9")),
        (400, "", &error, json!("req_body")),
        (401, "x-request-id: req_10\r\n", &refused, json!("req_10")),
        (503, "x-request-id: req_11\r\n", &refused, json!("req_11")),
    ] {
        let gateway =
            before(&ScriptedProvider::answering(response(status, headers, body)).await).await;
        let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
        let line = gateway.log_of(&answer).await;
        assert_eq!(
            line["upstream_request_id"], expected,
            "{status} {headers}: {line}"
        );
    }
}

#[tokio::test]
async fn an_attempt_that_failed_is_logged_with_the_providers_request_id() {
    let refused = json!({"error": {"message": "no", "type": "server_error"}}).to_string();
    let provider =
        ScriptedProvider::answering(response(503, "x-request-id: req_failed\r\n", &refused)).await;
    let gateway = before(&provider).await;
    gateway.ask(&Request::ask(Protocol::Chat)).await;
    let line = eventually("the attempt", async || {
        gateway
            .process
            .stderr
            .find_json("message", "attempt failed")
    })
    .await;
    assert_eq!(line["upstream_request_id"], "req_failed", "{line}");
}

#[tokio::test]
async fn a_video_tasks_provider_is_logged_with_its_request_id_when_it_is_asked() {
    let simulator = crate::harness::Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "")).await;
    for (path, model) in [(GENERIC, "demo-video-b"), (FAMILY_B, "demo-video-b")] {
        let made = create(&gateway, path, model).await;
        let asked = ask(&gateway, path, &id_of(path, &made)).await;
        for answer in [made, asked] {
            let line = gateway.log_of(&answer).await;
            let id = line["upstream_request_id"].as_str().unwrap_or_default();
            assert!(!id.is_empty() && line["id"] != id, "{path}: {line}");
        }
    }
}

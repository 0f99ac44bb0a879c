//! Tests of providers that repeat a credential: no caller and no log sees it, in any form or place.

use crate::harness::http_response::http_response;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, WholeResponse, config};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

const TOKEN: &str = "canary/of+a~long:token.0123456789";
const POOLED: [&str; 3] = [
    "canary/pooled-0123456789-a",
    "canary/pooled-0123456789-b",
    "canary-other/c",
];

/// The kinds of credentials of a channel, and the secrets that no caller may see.
fn kinds() -> Vec<(&'static str, Value, Vec<String>)> {
    let basic = STANDARD.encode("user:canary/pass?>~word");
    let header =
        |value: &str| json!({"credential": {"header": {"name": "x-auth", "value": value}}});
    vec![
        (
            "bearer",
            json!({"credential": {"bearer": TOKEN}}),
            vec![TOKEN.into()],
        ),
        (
            "api_key",
            json!({"credential": {"api_key": TOKEN}}),
            vec![TOKEN.into()],
        ),
        ("header", header(TOKEN), vec![TOKEN.into()]),
        (
            "header with a scheme",
            header(&format!("ApiKey {TOKEN}")),
            vec![TOKEN.into()],
        ),
        (
            "basic",
            header(&format!("Basic {basic}")),
            vec![basic, "user:canary/pass?>~word".into()],
        ),
        (
            "pooled",
            json!({"credentials": POOLED.map(|key| json!({"bearer": key}))}),
            POOLED.map(String::from).to_vec(),
        ),
        (
            "headers",
            json!({"credential": {"bearer": "not-this-one"}, "headers": {"x-second-key": TOKEN}}),
            vec![TOKEN.into()],
        ),
    ]
}

/// The secret unescaped, and in JSON's spellings.
fn json_forms(secret: &str) -> Vec<String> {
    let lower = |c: char| format!("\\u{:04x}", u32::from(c));
    let each = |form: &dyn Fn(usize, char) -> String| {
        let characters = secret.chars().enumerate();
        characters.map(|(at, c)| form(at, c)).collect::<String>()
    };
    vec![
        secret.into(),
        secret.replace('/', "\\/"),
        each(&|_, c| lower(c)),
        each(&|at, c| {
            if at % 2 == 0 {
                lower(c).replace('a', "A")
            } else {
                c.to_string()
            }
        }),
        secret.replacen('c', "\\u0063", 1),
        secret.replace('/', "\\\\\\/"),
    ]
}

/// More forms of the secret in headers.
fn header_forms(secret: &str) -> Vec<String> {
    let percent = |all: bool, upper: bool| -> String {
        let escaped = |byte: u8| match (all || !byte.is_ascii_alphanumeric(), upper) {
            (false, _) => char::from(byte).to_string(),
            (true, true) => format!("%{byte:02X}"),
            (true, false) => format!("%{byte:02x}"),
        };
        secret.bytes().map(escaped).collect()
    };
    let mut forms = vec![
        secret.to_string(),
        percent(false, true),
        percent(false, false),
        percent(true, true),
    ];
    for before in ["", "a", "ab", "Bearer "] {
        forms.push(STANDARD.encode(format!("{before}{secret}")));
        forms.push(URL_SAFE_NO_PAD.encode(format!("{before}{secret}z")));
    }
    forms
}

/// Whether `text` contains the secret in any form that a caller could decode.
fn reveals(text: &str, secret: &str) -> bool {
    let mut plain = text.to_string();
    for byte in secret.bytes() {
        for form in [format!("\\u{byte:04x}"), format!("\\u{byte:04X}")] {
            plain = plain.replace(&form, &char::from(byte).to_string());
        }
    }
    let plain = plain.replace("\\", "");
    text.contains(secret) || plain.contains(secret)
}

struct Echo {
    provider: ScriptedProvider,
    gateway: Gateway,
}

impl Echo {
    async fn start(credentials: &Value) -> Self {
        let provider = ScriptedProvider::start(vec![]).await;
        let mut config = config::standard(&provider.url());
        let channel = config["channels"]["openai"].as_object_mut().unwrap();
        channel.remove("credential");
        channel.extend(credentials.as_object().unwrap().clone());
        config::without_cool_downs(&mut config);
        let gateway = Gateway::start(&config).await;
        Self { provider, gateway }
    }

    async fn ask(&self, acts: Vec<ScriptedResponse>) -> WholeResponse {
        self.provider.next(acts);
        self.gateway.ask(&Request::ask_stream(Protocol::Chat)).await
    }
}

fn response(status: u16, headers: &str, body: &str) -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(http_response(status, headers, body))]
}

#[tokio::test]
async fn a_credential_comes_back_in_no_form_and_no_place() {
    const JSON: &str = "Content-Type: application/json\r\n";
    const EVENTS: &str = "Content-Type: text/event-stream\r\n";
    for (kind, credentials, secrets) in kinds() {
        let echo = Echo::start(&credentials).await;
        for secret in &secrets {
            for form in json_forms(secret) {
                let body = format!("{{\"id\":\"x\",\"said\":\"the key {form} is it\"}}");
                let error = format!(
                    "{{\"error\":{{\"message\":\"wrong key: {form}.\",\"type\":\"a\",\"code\":null,\"param\":null}}}}"
                );
                let event = |data: &str| format!("data: {data}\n\ndata: [DONE]\n\n");
                let places = [
                    ("body", response(200, JSON, &body)),
                    ("error", response(400, JSON, &error)),
                    ("event", response(200, EVENTS, &event(&body))),
                    ("error event", response(200, EVENTS, &event(&error))),
                    (
                        "end without a blank line",
                        response(200, EVENTS, &format!("data: [DONE]\n\ndata: {form}")),
                    ),
                    (
                        "page",
                        response(
                            200,
                            "Content-Type: text/html\r\n",
                            &format!("<p>{form}</p>"),
                        ),
                    ),
                    (
                        "page of an error",
                        response(
                            502,
                            "Content-Type: text/html\r\n",
                            &format!("<p>{form}</p>"),
                        ),
                    ),
                ];
                for (place, acts) in places {
                    let answer = echo.ask(acts).await;
                    let text = answer.text();
                    assert!(!reveals(&text, secret), "{kind}, {place}, {form}: {text}");
                    if !place.starts_with("page") {
                        assert!(text.contains("****"), "{kind}, {place}, {form}: {text}");
                    }
                }
            }
            for form in header_forms(secret) {
                let headers = format!(
                    "{JSON}ETag: \"{form}\"\r\nx-request-id: {form}\r\nContent-Language: x, {form}\r\n"
                );
                let answer = echo.ask(response(200, &headers, "{}")).await;
                assert_eq!(answer.status, 200);
                let shown: Vec<_> = ["etag", "content-language"]
                    .into_iter()
                    .filter(|name| answer.headers.get(name).is_some())
                    .collect();
                assert!(shown.is_empty(), "{kind}, {form}: {shown:?}");
            }
            let process = &echo.gateway.process;
            let output = [process.stdout.all(), process.stderr.all()]
                .concat()
                .join("\n");
            assert!(!reveals(&output, secret), "{kind}: {output}");
            let mut forms = header_forms(secret).into_iter();
            assert!(
                !forms.any(|form| output.contains(&form)),
                "{kind}: {output}"
            );
        }
    }
}

#[tokio::test]
async fn a_credential_is_masked_across_pieces_that_come_one_by_one() {
    let echo = Echo::start(&json!({"credential": {"bearer": TOKEN}})).await;
    let form = TOKEN.replace('/', "\\/").replacen('c', "\\u0063", 1);
    let chunk = |bytes: &str| format!("{:x}\r\n{bytes}\r\n", bytes.len());
    for cut in 1..form.len() {
        let (one, other) = form.split_at(cut);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        let acts = vec![
            ScriptedResponse::Send(
                format!("{head}{}", chunk(&format!("data: {{\"a\":\"{one}"))).into(),
            ),
            ScriptedResponse::Wait(Duration::from_millis(3)),
            ScriptedResponse::Send(
                format!(
                    "{}0\r\n\r\n",
                    chunk(&format!("{other}\"}}\n\ndata: [DONE]\n\n"))
                )
                .into(),
            ),
        ];
        let answer = echo.ask(acts).await;
        let masked = "*".repeat(form.len());
        assert_eq!(
            answer.text(),
            format!("data: {{\"a\":\"{masked}\"}}\n\ndata: [DONE]\n\n"),
            "{cut}"
        );
        assert!(answer.whole);
    }
}

#[tokio::test]
async fn a_secret_that_is_too_short_to_be_searched_for_is_warned_of() {
    let provider = ScriptedProvider::start(vec![]).await;
    let mut config = config::standard(&provider.url());
    config["channels"]["openai"]["credential"] = json!({"bearer": "short"});
    let gateway = Gateway::start(&config).await;
    let output = gateway.process.stderr.all().join("\n");
    assert!(
        output.contains("the secret is too short to be masked in responses that repeat it"),
        "{output}"
    );
    assert!(!output.contains("\"short\""), "{output}");
}

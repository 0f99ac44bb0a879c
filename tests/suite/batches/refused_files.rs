//! Tests of files whose lines cannot be a batch: each gets 400 with the line, and nothing is sent.

use crate::harness::batches::{batch_config, batch_gateway, line, received, upload};
use crate::harness::request::BOB;
use crate::harness::{Gateway, Request, Simulator};
use serde_json::json;

/// A file with `from` replaced in its third line, of four.
fn file(from: &str, to: &str) -> Vec<u8> {
    let third = line("c", "demo-large").replacen(from, to, 1);
    assert!(from.is_empty() || third.contains(to), "{from}");
    let lines = [
        line("a", "demo-large"),
        line("b", "demo-small"),
        third,
        line("d", "demo-small"),
    ];
    lines.join("\n").into_bytes()
}

/// What is replaced in the third line, and what the error has.
const BAD_LINES: &[(&str, &str, &str)] = &[
    ("\"body\"", "body", "not valid JSON"),
    ("}]", "}", "not valid JSON"),
    (
        "\"method\":\"POST\",",
        "\"method\":\"POST\",\"method\":\"POST\",",
        "not valid JSON: duplicate",
    ),
    (
        "\"model\":\"demo-large\"",
        "\"model\":\"demo-large\",\"model\":\"demo-small\"",
        "not valid JSON: duplicate",
    ),
    ("Hello", "He\tllo", "control character"),
    (
        "\"Hello\",",
        "\"Hello\",\"x\":\r{\"y\":1}\r,",
        "a carriage return within the line",
    ),
    (
        "\"custom_id\":\"c\",",
        "",
        "missing required field `custom_id`",
    ),
    (
        "\"custom_id\":\"c\"",
        "\"custom_id\":\"a\"",
        "`custom_id` is that of line 1, too",
    ),
    (
        "\"custom_id\":\"c\"",
        "\"custom_id\":\"\\u0061\"",
        "`custom_id` is that of line 1, too",
    ),
    (
        "\"custom_id\":\"c\"",
        "\"custom_id\":3",
        "`custom_id` must be a string",
    ),
    ("\"POST\"", "\"DELETE\"", "`method` must be `POST`"),
    (
        "/v1/chat/completions",
        "/v1/responses",
        "`url` is not that of line 1",
    ),
    (
        "/v1/chat/completions",
        "/v1/chat/completions/",
        "`url` is not that of line 1",
    ),
    ("\"body\":{", "\"body\":[{", "not valid JSON"),
    (
        "\"body\":{",
        "\"BODY\":{},\"body\":{",
        "unknown field `BODY`",
    ),
    (
        "\"model\":\"demo-large\"",
        "\"x\":1",
        "missing required field `model`",
    ),
    (
        "\"model\":\"demo-large\"",
        "\"Model\":\"demo-large\"",
        "unknown field `Model`",
    ),
    (
        "\"demo-large\"",
        "[\"demo-large\"]",
        "`model` must be a string, received an array",
    ),
    (
        "demo-large",
        "demo-larg",
        "model `demo-larg` does not exist; did you mean `demo-large`",
    ),
    (
        "demo-large",
        "sim-large-2026-08",
        "model `sim-large-2026-08` does not exist",
    ),
    (
        "demo-large",
        "demo-apart",
        "no provider account serves both model `demo-apart` and model `demo-large` of line 1",
    ),
    (
        "demo-large",
        "demo-plain",
        "model `demo-plain` is on no provider account that takes batches",
    ),
    (
        "\"model\":",
        "\"stream\":true,\"model\":",
        "a batch has no streams",
    ),
    (
        "\"messages\":",
        "\"temperature\":9,\"messages\":",
        "`body.temperature` must",
    ),
    (
        "\"role\":\"user\"",
        "\"role\":\"nobody\"",
        "`body.messages[0].role` must",
    ),
    (
        "\"Hello\"",
        "[{\"type\":\"file\",\"file\":{\"file_id\":\"file-x\"}}]",
        "no file with the id in `body.messages.0.content.0.file.file_id` exists",
    ),
    ("{", "\u{feff}{", "begins with a byte order mark"),
    ("\"Hello\"", "\"\\ud800\"", "not valid JSON"),
];

#[tokio::test]
async fn a_bad_line_gets_400_with_its_number_and_nothing_is_sent() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    for (from, to, expected) in BAD_LINES {
        let refused = gateway.ask(&upload(file(from, to))).await;
        assert_eq!(refused.status, 400, "{to}: {}", refused.text());
        let error = &refused.json()["error"];
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with("line 3: ") && message.contains(expected),
            "{to}: {message}"
        );
        assert_eq!(error["param"], "file", "{to}");
    }
    let mut latin = file("", "");
    let hello = latin
        .windows(5)
        .rposition(|window| window == b"Hello")
        .unwrap();
    latin[hello] = 0xE4;
    let refused = gateway.ask(&upload(latin)).await;
    let message = refused.json()["error"]["message"].to_string();
    assert!(
        message.contains("line 4: not valid JSON: invalid UTF-8"),
        "{message}"
    );
    assert_eq!(received(&simulator).await, 0);
    assert_eq!(gateway.ask(&upload(file("", ""))).await.status, 200);
}

#[tokio::test]
async fn a_file_without_requests_or_for_no_endpoint_is_refused() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let other = |url: &str| line("a", "demo-large").replace("/v1/chat/completions", url);
    for (file, expected) in [
        (String::new(), "the file has no requests"),
        ("\n \r\n".into(), "the file has no requests"),
        (
            "\u{feff}".to_owned() + &line("a", "demo-large"),
            "line 1: the line begins with a byte order mark",
        ),
        (
            format!("[{}]", line("a", "demo-large")),
            "line 1: the line must be a JSON object",
        ),
        (
            other("/v1/embeddings"),
            "line 1: `url` must be `/v1/chat/completions` or",
        ),
        (
            other("https://api.provider.example/v1/chat/completions"),
            "line 1: `url` must be",
        ),
        (other("/v1/chat/../files"), "line 1: `url` must be"),
    ] {
        let refused = gateway.ask(&upload(&file)).await;
        assert_eq!(refused.status, 400, "{file}: {}", refused.text());
        let message = refused.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.starts_with(expected), "{file}: {message}");
    }
    assert_eq!(received(&simulator).await, 0);
}

#[tokio::test]
async fn a_caller_uploads_no_line_for_a_model_it_may_not_use() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let lines = [line("a", "demo-small"), line("b", "demo-large")].join("\n");
    let refused = gateway.ask(&upload(lines).key(BOB)).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let message = refused.json()["error"]["message"].to_string();
    assert!(
        message.contains("line 2: this API key has no access to model `demo-large`"),
        "{message}"
    );
    assert_eq!(received(&simulator).await, 0);
    assert_eq!(
        gateway
            .ask(&upload(line("a", "demo-small")).key(BOB))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn the_number_and_the_size_of_requests_are_limited() {
    let simulator = Simulator::start().await;
    let mut config = batch_config(&simulator.url(), &simulator.url());
    for route in config["routes"].as_array_mut().unwrap() {
        if route["name"] == "files" {
            route["request"][3] = json!({"check_batch": {
                "input": "file", "requests_max": 2, "request_bytes_max": 300}});
        }
    }
    let gateway = Gateway::start(&config).await;
    let lines: Vec<String> = ["a", "b", "c"].map(|id| line(id, "demo-small")).into();
    for (file, expected) in [
        (lines[..2].join("\n\n"), None),
        (
            lines.join("\n"),
            Some("line 3: the batch has more than 2 requests"),
        ),
        (
            lines[0].replace("Hello", &"x".repeat(300)),
            Some("line 1: the request has"),
        ),
    ] {
        let reply = gateway.ask(&upload(&file)).await;
        let message = reply.json()["error"]["message"].as_str().map(str::to_owned);
        match expected {
            None => assert_eq!(reply.status, 200, "{}", reply.text()),
            Some(expected) => assert!(message.unwrap().starts_with(expected), "{}", reply.text()),
        }
    }
}

/// Forms of which some parser could read another file or another purpose.
#[tokio::test]
async fn a_form_that_parsers_read_differently_is_refused() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    let part = |head: &str, value: &str| format!("--gate-7f\r\n{head}\r\n\r\n{value}\r\n");
    let field = |name: &str| format!("Content-Disposition: form-data; name=\"{name}\"");
    let batch = part(&field("purpose"), "batch");
    let file = part(
        &(field("file") + "; filename=\"a\""),
        &line("a", "demo-small"),
    );
    // What may be an id of a file to some parser is one that nobody uploaded.
    for (parts, status) in [
        ([&*batch, &*file, ""], 200),
        ([&*batch, &*file, &*file], 400),
        (
            [&*batch, &*part(&field("purpose"), "user_data"), &*file],
            400,
        ),
        ([&*batch, "", ""], 400),
        ([&*batch, &*part(&field("File"), "x"), ""], 400),
        (
            [
                &*part(
                    "Content-Disposition: form-data; name*=utf-8''purpose",
                    "batch",
                ),
                &*file,
                "",
            ],
            404,
        ),
    ] {
        let before = received(&simulator).await;
        let form = parts.concat() + "--gate-7f--\r\n";
        let request = Request::new("POST", "/v1/files")
            .header("Content-Type", "multipart/form-data; boundary=gate-7f")
            .with_body(form.clone().into_bytes());
        let reply = gateway.ask(&request).await;
        assert_eq!(reply.status, status, "{form}: {}", reply.text());
        let sent = received(&simulator).await - before;
        assert_eq!(sent, usize::from(status == 200), "{form}");
    }
}

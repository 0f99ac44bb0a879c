//! Tests of responses to image edits: completed, streamed, and never charged twice.

use crate::harness::http_response::{http_response, json_response, typed_response};
use crate::harness::images::{FIELDS, PATH, form, image_config, json_body};
use crate::harness::{
    Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, WholeResponse, eventually,
};
use serde_json::{Value, json};

#[tokio::test]
async fn an_answer_has_what_the_protocol_promises() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "no_usage", json!({}))).await;
    let answer = gateway.ask(&form(FIELDS)).await;
    let zeros = json!({"image_tokens": 0, "text_tokens": 0});
    assert_eq!(
        answer.json()["usage"],
        json!({"input_tokens": 0, "output_tokens": 0, "total_tokens": 0,
            "input_tokens_details": zeros, "output_tokens_details": zeros})
    );
    // Fields that the gateway added are not counted as usage.
    assert_eq!(gateway.log_of(&answer).await.get("input_tokens"), None);

    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    let answer = gateway.ask(&form(FIELDS)).await;
    let usage = &answer.json()["usage"];
    assert_eq!(usage["output_tokens_details"], zeros);
    assert_eq!(usage["input_tokens_details"]["image_tokens"], 646);
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["input_tokens"], usage["input_tokens"], "{line}");

    let bare = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 31\r\n\r\n\
        {\"data\":[{\"b64_json\":\"aW1n\"}] }";
    let provider = ScriptedProvider::answering(bare).await;
    let mut config = image_config(&simulator, "", json!({}));
    config["channels"]["images"]["base_url"] = json!(provider.url());
    let gateway = Gateway::start(&config).await;
    let mut body = json_body();
    for (name, value) in [
        ("size", "1024x1536"),
        ("quality", "low"),
        ("background", "opaque"),
        ("output_format", "webp"),
    ] {
        body[name] = json!(value);
    }
    let answer = gateway.ask(&Request::post(PATH, body.to_string())).await;
    let shown = answer.json();
    for name in ["size", "quality", "background", "output_format"] {
        assert_eq!(shown[name], body[name], "{shown}");
    }
    assert!(shown["created"].as_u64() > Some(1_700_000_000), "{shown}");
    assert_eq!(shown["data"], json!([{"b64_json": "aW1n"}]));
}

#[tokio::test]
async fn large_answers_are_completed_too() {
    let simulator = Simulator::start().await;
    let config = image_config(&simulator, "no_usage;body_bytes=4000000", json!({}));
    let gateway = Gateway::start(&config).await;
    let mut body = json_body();
    body["n"] = json!(10);
    let before = gateway.process.memory_peak();
    let answer = gateway.ask(&Request::post(PATH, body.to_string())).await;
    let bytes = answer.body.len() as u64;
    assert!(bytes > 50_000_000, "{bytes}");
    let grown = gateway.process.memory_peak() - before;
    assert!(grown < 3 * bytes, "{grown} bytes for an answer of {bytes}");
    let shown = answer.json();
    assert_eq!(shown["data"].as_array().unwrap().len(), 10);
    assert_eq!(shown["usage"]["total_tokens"], 0);
}

#[tokio::test]
async fn partial_images_of_any_size_stream_straight_through_and_are_metered() {
    let simulator = Simulator::start().await;
    for (directives, partial) in [
        ("", 3_usize),
        ("body_bytes=7000000", 1),
        ("body_bytes=14000000", 1),
    ] {
        let gateway = Gateway::start(&image_config(&simulator, directives, json!({}))).await;
        let count = partial.to_string();
        let mut fields: Vec<(&str, &[u8])> = FIELDS
            .iter()
            .copied()
            .filter(|(name, _)| *name != "n")
            .collect();
        fields.push(("stream", b"true"));
        fields.push(("partial_images", count.as_bytes()));
        let answer = gateway.ask(&form(&fields)).await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer
                .headers
                .get("content-type")
                .map(|value| value.starts_with("text/event-stream")),
            Some(true)
        );
        let names: Vec<String> = answer
            .text()
            .lines()
            .filter_map(|line| line.strip_prefix("event: ").map(str::to_owned))
            .collect();
        let mut expected = vec!["image_edit.partial_image"; partial];
        expected.push("image_edit.completed");
        assert_eq!(names, expected, "{directives}");
        let line = gateway.log_of(&answer).await;
        // An event above 16 MiB is forwarded without being parsed; its usage is read at its end.
        assert_eq!(line["settlement"], "complete", "{line}");
        assert!(line["output_tokens"].as_u64() > Some(0), "{line}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_ends_with_the_error_event_of_its_protocol() {
    let simulator = Simulator::start().await;
    for (directives, code) in [
        ("cut_after=1", "upstream_error"),
        ("stall_after=1", "upstream_timeout"),
    ] {
        let mut config = image_config(&simulator, directives, json!({}));
        config["channels"]["images"]["timeouts"] = json!({"idle": "300ms"});
        let gateway = Gateway::start(&config).await;
        let mut body = json_body();
        body["stream"] = json!(true);
        body["partial_images"] = json!(2);
        let reply = gateway.open(&Request::post(PATH, body.to_string())).await;
        let answer = reply.rest().await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let (_, last) = text
            .rsplit_once("event: error\ndata: ")
            .unwrap_or_else(|| panic!("{text}"));
        let error: Value = serde_json::from_str(last.trim()).unwrap();
        assert_eq!(error["error"]["code"], code, "{error}");
        assert!(!error.to_string().contains("try again"), "{error}");
        assert!(
            text.starts_with("event: image_edit.partial_image"),
            "{text}"
        );
    }
}

/// The number of edits that the provider has received.
async fn edits(simulator: &Simulator) -> usize {
    let records = simulator.records().await;
    records
        .iter()
        .filter(|record| record["endpoint"] == "images.edit")
        .count()
}

#[tokio::test]
async fn a_paid_edit_is_never_sent_twice_in_either_form() {
    for (directives, status, code, sent) in [
        ("status=429", 429, None, 2),
        ("status=400", 400, None, 1),
        ("status=500", 502, Some("upstream_error"), 1),
        ("status=503", 502, Some("upstream_error"), 1),
        ("cut", 504, Some("outcome_unknown"), 1),
        ("stall", 504, Some("outcome_unknown"), 1),
    ] {
        for request in [form(FIELDS), Request::post(PATH, json_body().to_string())] {
            let simulator = Simulator::start().await;
            let mut config = image_config(&simulator, directives, json!({}));
            config["channels"]["images"]["timeouts"] =
                json!({"first_byte": "300ms", "idle": "300ms"});
            config["channels"]["second"] = config["channels"]["images"].clone();
            let gateway = Gateway::start(&config).await;
            let answer = gateway.ask(&request).await;
            assert_eq!(answer.status, status, "{directives}: {}", answer.text());
            if let Some(code) = code {
                assert_eq!(answer.json()["error"]["code"], code, "{}", answer.text());
            }
            assert_eq!(edits(&simulator).await, sent, "{directives}");
            // SDKs repeat a request after a status of 500 or above, unless `x-should-retry` is `false`.
            let resent = answer.headers.get("x-should-retry");
            assert_eq!(resent == Some("false"), code.is_some(), "{directives}");
        }
    }
}

#[tokio::test]
async fn a_response_without_images_is_an_error_and_is_not_requested_again() {
    let simulator = Simulator::start().await;
    for (content_type, body, code) in [
        ("application/json", "", "invalid_upstream_response"),
        ("application/json", "null", "invalid_upstream_response"),
        ("application/json", "[]", "invalid_upstream_response"),
        (
            "application/json",
            "{\"data\":[{\"b64_json\":\"aa",
            "invalid_upstream_response",
        ),
        (
            "application/json",
            "{\"error\":{\"message\":\"no\"}}",
            "invalid_upstream_response",
        ),
        ("text/html", "<p>", "invalid_upstream_response"),
    ] {
        let response = typed_response(200, content_type, body);
        let provider = ScriptedProvider::answering(response).await;
        let mut config = image_config(&simulator, "", json!({}));
        config["channels"]["images"]["base_url"] = json!(provider.url());
        let gateway = Gateway::start(&config).await;
        let request = Request::post(PATH, json_body().to_string());
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, 502, "{body}: {}", answer.text());
        assert_eq!(answer.json()["error"]["code"], code, "{body}");
        assert!(!answer.text().contains("try again"), "{}", answer.text());
        let resent = answer.headers.get("x-should-retry");
        assert_eq!(resent, Some("false"), "{body}");
        assert_eq!(provider.requests().len(), 1, "{body}");
    }
    // A response that callers can parse is forwarded, even if it is not strict JSON: it was paid for.
    let twice = "{\"created\":1,\"created\":2,\"data\":[{\"b64_json\":\"aW1n\"}]}";
    let provider = ScriptedProvider::answering(json_response(200, twice)).await;
    let mut config = image_config(&simulator, "", json!({}));
    config["channels"]["images"]["base_url"] = json!(provider.url());
    let gateway = Gateway::start(&config).await;
    let answer = gateway
        .ask(&Request::post(PATH, json_body().to_string()))
        .await;
    assert_eq!((answer.status, answer.text()), (200, twice.into()));
}

/// A response with images at these URLs.
fn naming(urls: &[String]) -> Vec<u8> {
    let data: Vec<Value> = urls.iter().map(|url| json!({"url": url})).collect();
    json_response(200, json!({"created": 1, "data": data}))
}

const IMAGE: &str = "content-type: image/webp\r\n";

/// The response for a caller who wants `format` from a provider whose images are at `urls`.
async fn asked_for(format: &str, urls: &[String], allow: Value) -> (Gateway, WholeResponse) {
    let simulator = Simulator::start().await;
    let provider = ScriptedProvider::answering(naming(urls)).await;
    let mut config = image_config(&simulator, "", json!({}));
    config["channels"]["images"]["base_url"] = json!(provider.url());
    config["egress"] = json!({"allow": allow});
    let gateway = Gateway::start(&config).await;
    let mut body = json_body();
    body["response_format"] = json!(format);
    let answer = gateway.ask(&Request::post(PATH, body.to_string())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    (gateway, answer)
}

#[tokio::test]
async fn images_that_a_provider_only_names_are_fetched_for_callers_who_want_them_in_the_answer() {
    let media = ScriptedProvider::answering(http_response(200, IMAGE, "first")).await;
    let redirecting = ScriptedProvider::answering(http_response(
        302,
        &format!("location: http://{}/b?c\r\n", media.address),
        "",
    ))
    .await;
    let urls = [
        format!("http://{}/a.png?sig=1", media.address),
        format!("http://{}/a", redirecting.address),
    ];
    let (_gateway, answer) = asked_for("b64_json", &urls, json!(["127.0.0.0/8"])).await;
    let shown = answer.json();
    assert_eq!(
        shown["data"],
        json!([{"b64_json": "Zmlyc3Q="}, {"b64_json": "Zmlyc3Q="}])
    );
    assert_eq!(shown["usage"]["total_tokens"], 0);
    assert_eq!(answer.headers.get("x-headgate-ignored"), None);
    let mut requests = media.requests();
    requests.sort();
    assert!(
        requests[0].starts_with("GET /a.png?sig=1 HTTP/1.1\r\n"),
        "{requests:?}"
    );
    assert!(
        requests[1].starts_with("GET /b?c HTTP/1.1\r\n"),
        "{requests:?}"
    );
    for request in requests {
        assert!(
            !request.to_lowercase().contains("authorization"),
            "{request}"
        );
    }
    let (_gateway, answer) = asked_for("url", &urls, json!([])).await;
    assert_eq!(answer.json()["data"][0], json!({"url": urls[0]}));
    assert_eq!(answer.headers.get("x-headgate-ignored"), None);
}

#[tokio::test]
async fn an_image_that_may_not_or_cannot_be_fetched_stays_where_it_is_and_the_answer_goes_out() {
    let media = ScriptedProvider::answering(http_response(200, IMAGE, "image")).await;
    let page = ScriptedProvider::answering(typed_response(200, "text/html", "<p>")).await;
    let missing = ScriptedProvider::answering(http_response(404, IMAGE, "")).await;
    let large = ScriptedProvider::answering(format!(
        "HTTP/1.1 200 OK\r\n{IMAGE}content-length: 60000000\r\n\r\n"
    ))
    .await;
    let cut = ScriptedProvider::start(vec![
        ScriptedResponse::Send(
            format!("HTTP/1.1 200 OK\r\n{IMAGE}content-length: 60\r\n\r\n").into(),
        ),
        ScriptedResponse::Close,
    ])
    .await;
    let inside = format!("location: http://{}/\r\n", media.address);
    let redirecting = ScriptedProvider::answering(http_response(302, &inside, "")).await;
    let circle = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to_itself = format!("location: http://{}/\r\n", circle.local_addr().unwrap());
    let circle = ScriptedProvider::on(
        circle,
        vec![ScriptedResponse::Send(http_response(302, &to_itself, ""))],
    );
    let at = |server: &ScriptedProvider| server.address.to_string();
    for (server, allow, reason) in [
        (
            &media,
            json!([]),
            "`egress` does not allow http to 127.0.0.1",
        ),
        (&media, json!(["127.0.0.1:1"]), "`egress` does not allow"),
        (
            &redirecting,
            json!([at(&redirecting)]),
            "`egress` does not allow",
        ),
        (
            &page,
            json!([at(&page)]),
            "expected an image, received text/html",
        ),
        (&missing, json!([at(&missing)]), "status 404"),
        (&large, json!([at(&large)]), "larger than 52428800 bytes"),
        (&circle, json!([at(&circle)]), "too many redirects"),
        (&cut, json!([at(&cut)]), ""),
    ] {
        let urls = [format!("http://{}/secret-signature", server.address)];
        let (gateway, answer) = asked_for("b64_json", &urls, allow).await;
        assert_eq!(answer.json()["data"], json!([{"url": urls[0]}]), "{reason}");
        assert_eq!(
            answer.headers.get("x-headgate-ignored"),
            Some("response_format")
        );
        let output = eventually("a warning", async || {
            let lines = gateway.process.stderr.json();
            lines
                .into_iter()
                .find(|line| line.to_string().contains("cannot fetch an edited image"))
        })
        .await;
        assert!(output.to_string().contains(reason), "{reason}: {output}");
        assert!(!output.to_string().contains("secret-signature"), "{output}");
    }
    assert_eq!(media.requests().len(), 0);
}

#[tokio::test]
async fn base64_in_place_of_a_requested_url_is_reported_in_a_header() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    for (format, ignored) in [("url", Some("response_format")), ("b64_json", None)] {
        let mut body = json_body();
        body["response_format"] = json!(format);
        let answer = gateway.ask(&Request::post(PATH, body.to_string())).await;
        assert_eq!(
            answer.headers.get("x-headgate-ignored"),
            ignored,
            "{format}"
        );
        assert!(answer.json()["data"][0]["b64_json"].is_string());
        body["stream"] = json!(true);
        let stream = gateway.ask(&Request::post(PATH, body.to_string())).await;
        assert_eq!(
            stream.headers.get("x-headgate-ignored"),
            ignored,
            "{format}"
        );
    }
}

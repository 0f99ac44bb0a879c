//! End-to-end tests of the file of a video, which the gateway passes on to callers of OpenAI's format.

use crate::harness::connection::Headers;
use crate::harness::error_shape::assert_error_body;
use crate::harness::hostile_urls::Decoy;
use crate::harness::http_response::{http_response, json_response, typed_response};
use crate::harness::request::{ANN, BOB};
use crate::harness::video::{OPENAI, ask, cancel, openai_config};
use crate::harness::{
    Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, WholeResponse,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Creates a video of family A's model, and polls it once.
async fn made(gateway: &Gateway, model: &str) -> String {
    let body = json!({"model": model, "prompt": "a gate"}).to_string();
    let created = gateway.ask(&Request::post(OPENAI, body)).await;
    assert_eq!(created.status, 200, "{}", created.text());
    let id = created.json()["id"].as_str().unwrap().to_owned();
    ask(gateway, OPENAI, &id).await;
    id
}

fn content_request(id: &str) -> Request {
    Request::get(&format!("{OPENAI}/{id}/content"))
}

/// Status and headers of a HEAD, after which nothing but the next response follows.
async fn head(gateway: &Gateway, id: &str, headers: &[(&str, &str)]) -> (u16, Headers) {
    let mut request = Request::new("HEAD", &format!("{OPENAI}/{id}/content"));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let mut connection = gateway.connect().await;
    connection.send(&request.bytes()).await.unwrap();
    let head = connection.head().await.unwrap();
    let video = connection.ask(&content_request(id)).await;
    assert_eq!((video.status, video.whole), (200, true));
    head
}

fn with_egress(mut config: Value) -> Value {
    config["egress"] = json!({"allow": ["127.0.0.1"]});
    config
}

/// A gateway whose family A says that each task has the file at `url`.
async fn gateway_with_file_at(url: &str, allows: bool) -> (ScriptedProvider, Gateway) {
    let status = json!({
        "id": "cgt-12345678", "status": "succeeded", "content": {"video_url": url},
    });
    let provider = ScriptedProvider::answering(json_response(200, status)).await;
    let simulator = Simulator::start().await;
    let mut config = openai_config(&simulator, "");
    config["channels"]["a"]["base_url"] = json!(provider.url());
    config["egress"] = match allows {
        true => json!({"allow": ["127.0.0.1"]}),
        false => json!({"allow": []}),
    };
    let gateway = Gateway::start(&config).await;
    (provider, gateway)
}

#[tokio::test]
async fn the_file_of_a_video_is_passed_on_for_models_of_every_family() {
    let simulator = Simulator::start().await;
    let config = with_egress(openai_config(
        &simulator,
        "queue=0ms;run=0ms;body_bytes=3000000",
    ));
    let gateway = Gateway::start(&config).await;
    for model in ["demo-video-a", "demo-video-b"] {
        let id = made(&gateway, model).await;
        let video = gateway.ask(&content_request(&id)).await;
        assert_eq!(video.status, 200, "{}", video.text());
        assert_eq!(video.headers.get("content-type"), Some("video/mp4"));
        let length = video.headers.get("content-length").unwrap();
        assert_eq!(length, video.body.len().to_string());
        assert!(video.body.windows(4).take(16).any(|part| part == b"ftyp"));
        assert!(video.headers.get("location").is_none());
        let named = Request::get(&format!("{OPENAI}/{id}/content?variant=video"));
        assert_eq!(gateway.ask(&named).await.body, video.body);
        for (request, status) in [
            (content_request(&id).key(BOB), 404),
            (content_request("task_forged"), 404),
            (
                Request::get(&format!("{OPENAI}/{id}/content?variant=thumbnail")),
                400,
            ),
            (
                Request::get(&format!(
                    "{OPENAI}/{id}/content?variant=video&variant=spritesheet"
                )),
                400,
            ),
        ] {
            assert_error_body(Protocol::Videos, &gateway.ask(&request).await, status);
        }
        assert_eq!(cancel(&gateway, OPENAI, &id).await.status, 200);
        assert_eq!(gateway.ask(&content_request(&id)).await.status, 404);
    }
}

#[tokio::test]
async fn a_range_is_the_providers_and_no_header_of_the_caller_reaches_its_host() {
    let headers = "content-type: video/mp4\r\ncontent-range: bytes 2-4/10\r\netag: \"a\"\r\nset-cookie: a=b\r\n";
    let host = ScriptedProvider::answering(http_response(206, headers, "cde")).await;
    let url = format!("http://{}/video.mp4?signature=s", host.address);
    let (_provider, gateway) = gateway_with_file_at(&url, true).await;
    let id = made(&gateway, "demo-video-a").await;
    let request = content_request(&id)
        .header("Range", "bytes=2-4")
        .header("Cookie", "caller=1");
    let answer = gateway.ask(&request).await;
    assert_eq!((answer.status, &answer.body[..]), (206, &b"cde"[..]));
    assert_eq!(answer.headers.get("content-range"), Some("bytes 2-4/10"));
    assert_eq!(answer.headers.get("etag"), Some("\"a\""));
    assert!(answer.headers.get("set-cookie").is_none());
    let [received] = &host.requests()[..] else {
        panic!("{:?}", host.requests());
    };
    let received = received.to_lowercase();
    assert!(
        received.starts_with("get /video.mp4?signature=s "),
        "{received}"
    );
    assert!(received.contains("range: bytes=2-4"), "{received}");
    for secret in [ANN, "authorization", "cookie", "sk-family-a"] {
        assert!(!received.contains(secret), "{received}");
    }
}

#[tokio::test]
async fn a_file_whose_host_does_not_know_its_length_is_passed_on() {
    let chunked = b"HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
    let until_closed =
        b"HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\nconnection: close\r\n\r\nabcdefg";
    for (sent, range) in [(&chunked[..], None), (&until_closed[..], Some("bytes=0-6"))] {
        let script = [
            ScriptedResponse::Send(sent.to_vec()),
            ScriptedResponse::Close,
        ];
        let host = ScriptedProvider::start(script.into()).await;
        let (_provider, gateway) = gateway_with_file_at(&host.url(), true).await;
        let id = made(&gateway, "demo-video-a").await;
        let mut request = content_request(&id);
        if let Some(range) = range {
            request = request.header("Range", range);
        }
        let answer = gateway.ask(&request).await;
        let content = (answer.status, &answer.body[..], answer.whole);
        assert_eq!(content, (200, &b"abcdefg"[..], true));
        assert_eq!(answer.headers.get("content-length"), None);
        let (status, headers) = head(&gateway, &id, &[]).await;
        assert_eq!(status, 200);
        assert_eq!(headers.get("content-type"), Some("video/mp4"));
        assert_eq!(headers.get("content-length"), None);
    }
}

#[tokio::test]
async fn a_file_that_breaks_off_ends_without_the_end_of_a_whole_one() {
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n".to_vec();
    let script = [ScriptedResponse::Send(chunked), ScriptedResponse::Close];
    let host = ScriptedProvider::start(script.into()).await;
    let (_provider, gateway) = gateway_with_file_at(&host.url(), true).await;
    let id = made(&gateway, "demo-video-a").await;
    let answer = gateway.ask(&content_request(&id)).await;
    assert_eq!((answer.status, answer.whole), (200, false));
}

#[tokio::test]
async fn every_form_of_a_range_and_head_are_answered_as_by_the_host() {
    let simulator = Simulator::start().await;
    let directives = "queue=0ms;run=0ms;body_bytes=5000";
    let mut config = with_egress(openai_config(&simulator, ""));
    config["channels"]["runway"] = json!({
        "base_url": format!("http://{}/~{directives}/vendor/runway", simulator.address),
        "protocols": ["video"], "family": "runway", "credential": {"bearer": "vendor-key"},
        "models": {"of-runway": "gen4.5"},
    });
    let gateway = Gateway::start(&config).await;
    let id = made(&gateway, "of-runway").await;
    let whole = gateway.ask(&content_request(&id)).await;
    assert_eq!(whole.status, 200, "{}", whole.text());
    let length = whole.body.len();
    for (range, status, first, count) in [
        ("bytes=0-9", 206, 0, 10),
        ("bytes=10-", 206, 10, length - 10),
        ("bytes=-7", 206, length - 7, 7),
        ("bytes=0-999999999", 206, 0, length),
        ("bytes=0-1,5-6", 200, 0, length),
        ("lines=0-1", 200, 0, length),
    ] {
        let answer = gateway
            .ask(&content_request(&id).header("Range", range))
            .await;
        assert_eq!(answer.status, status, "{range}");
        assert_eq!(answer.body, whole.body[first..first + count], "{range}");
        let expected = format!("bytes {first}-{}/{length}", first + count - 1);
        let expected = (status == 206).then_some(&*expected);
        assert_eq!(answer.headers.get("content-range"), expected, "{range}");
    }
    let beyond = format!("bytes={length}-");
    let answer = gateway
        .ask(&content_request(&id).header("Range", &beyond))
        .await;
    assert_eq!((answer.status, answer.body.len()), (416, 0));
    let range = format!("bytes */{length}");
    assert_eq!(answer.headers.get("content-range"), Some(&*range));
    for range in [&[][..], &[("Range", "bytes=1-9")]] {
        let (status, headers) = head(&gateway, &id, range).await;
        let expected = length.to_string();
        assert_eq!(
            (status, headers.get("content-length")),
            (200, Some(&*expected))
        );
    }
}

#[tokio::test]
async fn no_url_inside_is_opened_nor_a_redirect_to_one() {
    let decoy = Decoy::start().await;
    for url in decoy.urls().into_iter().take(40).step_by(3) {
        let (_provider, gateway) = gateway_with_file_at(&url, false).await;
        let id = made(&gateway, "demo-video-a").await;
        let answer = gateway.ask(&content_request(&id)).await;
        assert_error_body(Protocol::Videos, &answer, 502);
        assert!(!answer.text().contains(&url), "{}", answer.text());
    }
    for location in [
        "http://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/x",
        "ftp://127.0.0.1/x",
    ] {
        let moved = http_response(302, &format!("location: {location}\r\n"), "");
        let host = ScriptedProvider::answering(moved).await;
        let (_provider, gateway) = gateway_with_file_at(&host.url(), true).await;
        let id = made(&gateway, "demo-video-a").await;
        let answer = gateway.ask(&content_request(&id)).await;
        assert_error_body(Protocol::Videos, &answer, 502);
        assert!(answer.headers.get("location").is_none());
        assert_eq!(host.requests().len(), 1);
    }
    assert_eq!(decoy.connections(), 0);
}

#[tokio::test]
async fn a_file_that_the_host_does_not_have_or_breaks_off_is_an_error() {
    for status in [403, 404, 500, 302] {
        let host = ScriptedProvider::answering(http_response(status, "", "<secret>")).await;
        let (_provider, gateway) = gateway_with_file_at(&host.url(), true).await;
        let id = made(&gateway, "demo-video-a").await;
        let answer: WholeResponse = gateway.ask(&content_request(&id)).await;
        assert_error_body(Protocol::Videos, &answer, 502);
        assert!(!answer.text().contains("secret"), "{}", answer.text());
    }
    for content_type in ["video/mp4", "text/html"] {
        for body in ["", "<html>secret", "{\"error\": \"secret\"}"] {
            let host = ScriptedProvider::answering(typed_response(200, content_type, body)).await;
            let (_provider, gateway) = gateway_with_file_at(&host.url(), true).await;
            let id = made(&gateway, "demo-video-a").await;
            let answer = gateway.ask(&content_request(&id)).await;
            assert_error_body(Protocol::Videos, &answer, 502);
            assert!(!answer.text().contains("secret"), "{}", answer.text());
        }
    }
    let broken = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n".to_vec();
    let host = ScriptedProvider::start(vec![
        ScriptedResponse::Send(broken),
        ScriptedResponse::Close,
    ])
    .await;
    let (_provider, gateway) = gateway_with_file_at(&host.url(), true).await;
    let id = made(&gateway, "demo-video-a").await;
    let answer = gateway.ask(&content_request(&id)).await;
    assert_error_body(Protocol::Videos, &answer, 502);
}

#[tokio::test]
async fn a_task_without_a_file_has_the_reason() {
    for (course, code) in [
        ("queue=60m", Some("video_not_ready")),
        ("queue=0ms;run=60m", Some("video_not_ready")),
        ("queue=0ms;run=0ms;ends=failed", None),
        ("queue=0ms;run=0ms;ends=expired", Some("expired")),
    ] {
        let simulator = Simulator::start().await;
        let gateway = Gateway::start(&with_egress(openai_config(&simulator, course))).await;
        let id = made(&gateway, "demo-video-a").await;
        let answer = gateway.ask(&content_request(&id)).await;
        assert_error_body(Protocol::Videos, &answer, 400);
        if let Some(code) = code {
            assert_eq!(answer.json()["error"]["code"], code, "{course}");
        }
    }
}

//! Tests of the directives that apply to any response.

use super::{get, ordinary, post, request, send, simulator, streams, wholes, with};
use crate::http_response::SimulatedBody;
use crate::known_directives::KNOWN;
use serde_json::json;

#[tokio::test]
async fn a_status_is_answered_in_the_shape_of_the_protocol() {
    let simulator = simulator();
    let kinds = [
        ("/error/code", "rate_limit_exceeded"),
        ("/error/type", "rate_limit_error"),
        ("/error/code", "rate_limit_exceeded"),
    ];
    for ((path, body), (at, kind)) in wholes("status=429;retry_after=7;message=slow%20down")
        .into_iter()
        .zip(kinds)
    {
        let seen = post(&simulator, &path, &body).await;
        assert_eq!(
            (seen.status, &seen.headers["retry-after"]),
            (429, &"7".parse().unwrap())
        );
        assert_eq!(seen.json().pointer(at).unwrap(), kind, "{path}");
        assert_eq!(seen.json()["error"]["message"], "slow down");
    }
    let [(chat, body), ..] = wholes("status=400;code=context_length_exceeded");
    assert_eq!(
        post(&simulator, &chat, &body).await.json()["error"]["code"],
        "context_length_exceeded"
    );
}

#[tokio::test]
async fn an_unknown_directive_is_refused_by_name() {
    let simulator = simulator();
    for (path, body) in wholes("stauts=429") {
        let seen = post(&simulator, &path, &body).await;
        assert_eq!(seen.status, 400);
        assert!(
            seen.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains("`stauts`")
        );
    }
    let put = send(
        &simulator,
        request("PUT", "/_simulate/directives", "nonsense"),
    )
    .await;
    assert_eq!(put.status, 400);
}

#[tokio::test]
async fn header_and_default_directives_apply() {
    let simulator = simulator();
    let [(path, body), ..] = ordinary();
    let mut with_header = request("POST", path, body.to_string());
    with_header
        .headers_mut()
        .insert("x-simulate", "status=418".parse().unwrap());
    assert_eq!(send(&simulator, with_header).await.status, 418);
    let reported = send(
        &simulator,
        request("PUT", "/_simulate/directives", "status=503"),
    )
    .await
    .json();
    assert_eq!(reported["directives"], "status=503");
    assert_eq!(reported["known"].as_array().unwrap().len(), KNOWN.len());
    assert_eq!(post(&simulator, path, &body).await.status, 503);
    send(&simulator, request("DELETE", "/_simulate/directives", "")).await;
    assert_eq!(post(&simulator, path, &body).await.status, 200);
}

#[tokio::test]
async fn times_lets_later_requests_through() {
    let simulator = simulator();
    let [(path, body), ..] = wholes("status=503;times=2");
    for status in [503, 503, 200, 200] {
        assert_eq!(post(&simulator, &path, &body).await.status, status);
    }
}

#[tokio::test]
async fn cut_leaves_nothing_of_a_stream_and_half_of_a_body() {
    let simulator = simulator();
    for (path, body) in streams("cut") {
        let seen = post(&simulator, &path, &body).await;
        assert_eq!(
            (seen.status, seen.was_cut, seen.body.len()),
            (200, true, 0),
            "{path}"
        );
    }
    for (path, body) in wholes("cut") {
        let seen = post(&simulator, &path, &body).await;
        assert!(seen.was_cut && seen.body.starts_with(b"{\"id\"") && !seen.body.ends_with(b"}"));
    }
}

#[tokio::test]
async fn malformed_responses_are_html_or_truncated_json() {
    let simulator = simulator();
    for (path, body) in wholes("html") {
        let seen = post(&simulator, &path, &body).await;
        assert_eq!(
            (seen.status, &seen.headers["content-type"]),
            (200, &"text/html".parse().unwrap())
        );
    }
    for (path, body) in wholes("malformed") {
        let seen = post(&simulator, &path, &body).await;
        assert_eq!((seen.status, seen.was_cut), (200, false));
        assert!(serde_json::from_slice::<serde_json::Value>(&seen.body).is_err());
    }
    for (path, body) in streams("malformed") {
        let events = post(&simulator, &path, &body).await.events();
        assert!(
            matches!(&events[..], [(_, data)] if data.is_string()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn usage_can_be_left_out() {
    let simulator = simulator();
    let requested = json!({"stream_options": {"include_usage": true}});
    for (path, body) in wholes("no_usage").into_iter().chain(streams("no_usage")) {
        let seen = post(&simulator, &path, &with(&body, &requested)).await;
        let text = String::from_utf8_lossy(&seen.body);
        for member in [
            "\"prompt_tokens",
            "\"input_tokens",
            "\"output_tokens",
            "\"total_tokens",
        ] {
            assert!(!text.contains(member), "{path} {member}");
        }
    }
}

#[tokio::test]
async fn the_credential_is_echoed_in_body_header_and_event() {
    const SECRET: &str = "sk-test-credential";
    let simulator = simulator();
    for (path, body) in wholes("echo_credential") {
        let seen = post(&simulator, &path, &body).await;
        assert_eq!(
            (seen.status, &seen.headers["x-simulated-credential"]),
            (401, &SECRET.parse().unwrap())
        );
        assert!(
            seen.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains(SECRET),
            "{path}"
        );
    }
    for (path, body) in streams("echo_credential;error_event_first") {
        let seen = post(&simulator, &path, &body).await;
        assert_eq!(seen.status, 200);
        assert!(
            String::from_utf8_lossy(&seen.body).contains(SECRET),
            "{path}"
        );
    }
}

#[tokio::test]
async fn models_fail_as_directed_too() {
    assert_eq!(
        get(&simulator(), "/~status=500/v1/models").await.status,
        500
    );
    let response = simulator()
        .respond(request("GET", "/~cut/v1/models", ""))
        .await;
    assert!(matches!(response.body, SimulatedBody::Stream(_)));
}

//! HTTP calls of plugins, and streams that wait for them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::environment::{CallScript, TestEnvironment, response};
use super::fixture::{header_map, request, started_with, until};
use crate::{Plugin, PluginBodyAction, PluginFailure, PluginSettings, PluginStreamAction};

/// Asks the upstream `auth`, and goes on as its response says: the status is in `x-auth`, and 403 is passed on. As SDKs
/// do, it takes the response as the root context, and finds the stream by the id of the call: at 512, four bytes each.
const AUTHORISE: &str = r#"
    (func $call (param $context i32)
        (call $ok (call $http {"auth"}
        {"\03\00\00\00\07\00\00\00\04\00\00\00\05\00\00\00\06\00\00\00\03\00\00\00\01\00\00\00:method\00POST\00:path\00/check\00x-a\001\00"}
        {"question"} {""} (i32.const TIMEOUT) (i32.const 0)))
        (i32.store offset=512 (i32.mul (i32.load (i32.const 0)) (i32.const 4)) (local.get $context)))
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (call $call (local.get 0))
        (i32.const 1))
    (func (export "proxy_on_http_call_response") (param $context i32) (param $call i32)
            (param $headers i32) (param $body i32) (param $trailers i32)
        (call $is (local.get $context) (i32.const 1))
        (call $ok (call $effective
            (i32.load offset=512 (i32.mul (local.get $call) (i32.const 4)))))
        (if (i32.eqz (local.get $headers)) (then
            (call $is (call $value (i32.const 6) {":status"} (i32.const 8) (i32.const 12))
                (i32.const 1))
            (call $ok (call $reply (i32.const 503) {""} {"no answer"} {""} (i32.const -1)))
            return))
        (call $is (local.get $headers) (i32.const 2))
        (call $ok (call $value (i32.const 6) {":status"} (i32.const 8) (i32.const 12)))
        (call $ok (call $add (i32.const 0) {"x-auth"}
            (i32.load (i32.const 8)) (i32.load (i32.const 12))))
        (call $ok (call $buffer (i32.const 4) (i32.const 0) (local.get $body)
            (i32.const 8) (i32.const 12)))
        (call $ok (call $add (i32.const 0) {"x-answer"}
            (i32.load (i32.const 8)) (i32.load (i32.const 12))))
        (call $ok (call $resume (i32.const 0))))
"#;

async fn authorising(change: impl FnOnce(&mut PluginSettings)) -> (Plugin, Arc<TestEnvironment>) {
    started_with(&AUTHORISE.replace("TIMEOUT", "5000"), |settings| {
        settings.grants.http_call = vec!["auth".to_owned()];
        change(settings);
    })
    .await
}

fn scripted_response(status: u16, body: &str) -> crate::PluginHttpResponse {
    let mut scripted_response = response(status, body);
    scripted_response.headers = header_map(&[("x-b", "2")]);
    scripted_response
}

#[tokio::test]
async fn a_stream_waits_for_the_response_and_sees_it() {
    let (plugin, environment) = authorising(|_| {}).await;
    environment.script(CallScript::Response(scripted_response(200, "yes")));
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert_eq!(exchange.request.headers["x-auth"], "200");
    assert_eq!(exchange.request.headers["x-answer"], "yes");
    let calls = environment.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].upstream, "auth");
    assert_eq!(calls[0].method, "POST");
    assert_eq!(calls[0].path, "/check");
    assert_eq!(calls[0].headers, header_map(&[("x-a", "1")]));
    assert_eq!(calls[0].body, "question");
    assert_eq!(calls[0].timeout, Duration::from_secs(5));
    assert_eq!(plugin.status().http_calls, 0);
}

#[tokio::test]
async fn a_call_without_a_response_is_reported_to_the_plugin() {
    let slow = |settings: &mut PluginSettings| {
        settings.limits.http_call_time = Duration::from_millis(20);
        settings.limits.body = 100;
    };
    for (script, expected) in [
        (
            CallScript::Error("connection refused"),
            "connection refused",
        ),
        (CallScript::Never, "no response within 20ms"),
        (
            CallScript::Response(scripted_response(200, &"a".repeat(101))),
            "the body exceeds 100 bytes",
        ),
    ] {
        let (plugin, environment) = authorising(slow).await;
        environment.script(script);
        let mut stream = plugin.open_stream().await.unwrap();
        let step = stream.on_request_headers(&mut request(&[]), true).await;
        let Ok(PluginStreamAction::Reply(reply)) = step else {
            panic!("{expected}: {step:?}");
        };
        assert_eq!(reply.body, "no answer");
        let logged = environment.messages().join("\n");
        assert!(logged.contains(expected), "{logged}");
    }
}

#[tokio::test]
async fn a_plugin_that_does_not_continue_fails_at_the_limit() {
    let (plugin, _) = authorising(|settings| {
        settings.limits.pause = Duration::from_millis(20);
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[("x-a", "1")]);
    let step = stream.on_request_headers(&mut exchange, false).await;
    let limit = Duration::from_millis(20);
    assert_eq!(step, Err(PluginFailure::Pause { limit }));
    assert_eq!(exchange.request, request(&[("x-a", "1")]).request);
    stream.finish(&mut exchange).await.unwrap();
    // The end of the stream ends its call.
    until("the call ends", || plugin.status().http_calls == 0).await;
    assert_eq!(plugin.status().traps, 0);
}

#[tokio::test]
async fn only_granted_upstreams_are_called_and_no_more_at_a_time_than_allowed() {
    const STATUS: &str = r#"
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (call $is (call $http {"auth"}
                {"\02\00\00\00\07\00\00\00\04\00\00\00\05\00\00\00\06\00\00\00:method\00POST\00:path\00/check\00"}
                {""} {""} (i32.const 0) (i32.const 0)) (i32.const EXPECTED))
            (i32.const 0))"#;
    let grant = |settings: &mut PluginSettings| settings.grants.http_call.push("auth".to_owned());
    let none = |_: &mut PluginSettings| {};
    let full = |settings: &mut PluginSettings| {
        settings.grants.http_call.push("auth".to_owned());
        settings.limits.http_calls = 0;
    };
    type Change = fn(&mut PluginSettings);
    let cases: [(&str, Change, usize); 3] = [("0", grant, 1), ("2", none, 0), ("10", full, 0)];
    for (status, settings, calls) in cases {
        let (plugin, environment) =
            started_with(&STATUS.replace("EXPECTED", status), settings).await;
        let mut stream = plugin.open_stream().await.unwrap();
        let step = stream.on_request_headers(&mut request(&[]), true).await;
        assert_eq!(step, Ok(PluginStreamAction::Continue), "{status}");
        tokio::task::yield_now().await;
        assert_eq!(environment.calls().len(), calls);
    }
}

#[tokio::test]
async fn calls_that_lack_a_method_or_a_path_are_refused() {
    let body = r#"
        (func $try (param i32 i32) (call $is (call $http {"auth"}
            (local.get 0) (local.get 1) {""} {""} (i32.const 0) (i32.const 0)) (i32.const 2)))
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (call $try {""})
            (call $try {"\01\00\00\00\05\00\00\00\01\00\00\00:path\00/\00"})
            (call $try {"\02\00\00\00\07\00\00\00\03\00\00\00\05\00\00\00\01\00\00\00:method\00GET\00:path\00x\00"})
            (call $try {"\02\00\00\00\07\00\00\00\03\00\00\00\05\00\00\00\03\00\00\00:method\00GET\00:path\00/ x\00"})
            (i32.const 0))"#;
    let (plugin, environment) = started_with(body, |settings| {
        settings.grants.http_call.push("auth".to_owned());
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(&mut request(&[]), true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert!(environment.calls().is_empty());
}

#[tokio::test]
async fn a_response_that_comes_between_callbacks_is_delivered_with_the_next() {
    let body = AUTHORISE.replace("TIMEOUT", "5000").replace(
        "(call $call (local.get 0))\n        (i32.const 1))",
        r#"(call $call (local.get 0))
        (i32.const 0))
        (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.const 0))"#,
    );
    let (plugin, environment) = started_with(&body, |settings| {
        settings.grants.http_call.push("auth".to_owned());
    })
    .await;
    environment.script(CallScript::Response(scripted_response(204, "")));
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert!(!exchange.request.headers.contains_key("x-auth"));
    until("the call ends", || plugin.status().http_calls == 0).await;
    let step = stream
        .on_request_body(&mut exchange, "text".into(), true)
        .await;
    assert_eq!(step, Ok(PluginBodyAction::Continue("text".into())));
    assert_eq!(exchange.request.headers["x-auth"], "204");
}

#[tokio::test]
async fn a_body_waits_for_a_call_of_its_stream() {
    let body = AUTHORISE.replace("TIMEOUT", "5000").replace(
        r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)"#,
        r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)"#,
    );
    let (plugin, environment) = started_with(&body, |settings| {
        settings.grants.http_call.push("auth".to_owned());
    })
    .await;
    environment.script(CallScript::Response(scripted_response(200, "")));
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream
        .on_request_body(&mut exchange, "text".into(), false)
        .await;
    assert_eq!(step, Ok(PluginBodyAction::Continue("text".into())));
    assert_eq!(exchange.request.headers["x-auth"], "200");
}

/// Sends a call for the headers of a request, and holds its body without waiting for the response.
const REPORT: &str = r#"
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (call $ok (call $http {"auth"}
            {"\02\00\00\00\07\00\00\00\04\00\00\00\05\00\00\00\06\00\00\00:method\00POST\00:path\00/check\00"}
            {""} {""} (i32.const 0) (i32.const 0)))
        (i32.const 0))
    (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (i32.eqz (local.get 2)))
    (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
        (drop (call $log (i32.const 2) {"response"})))"#;

#[tokio::test]
async fn a_call_for_which_the_plugin_does_not_wait_delays_a_held_body_at_most_until_its_end() {
    let (plugin, environment) = started_with(REPORT, |settings| {
        settings.grants.http_call = vec!["auth".to_owned()];
    })
    .await;
    let release = Arc::new(Notify::new());
    environment.script(CallScript::After(release.clone(), response(200, "")));
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[("x-a", "1")]);
    let step = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    release.notify_one();
    let step = stream.on_request_body(&mut exchange, "one ".into(), false);
    assert_eq!(step.await, Ok(PluginBodyAction::Hold));
    assert_eq!(exchange.request.headers["x-a"], "1");
    assert_eq!(environment.messages(), ["response"]);
    let step = stream
        .on_request_body(&mut exchange, "two".into(), true)
        .await;
    assert_eq!(step, Ok(PluginBodyAction::Continue("one two".into())));
}

#[tokio::test]
async fn a_body_that_is_paused_goes_on_with_the_response_to_a_call_of_the_headers() {
    let body = AUTHORISE.replace("TIMEOUT", "5000").replace(
        "(call $call (local.get 0))\n        (i32.const 1))",
        r#"(call $call (local.get 0))
        (i32.const 0))
        (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.const 1))"#,
    );
    let (plugin, environment) = started_with(&body, |settings| {
        settings.grants.http_call = vec!["auth".to_owned()];
        settings.limits.pause = Duration::from_secs(10);
    })
    .await;
    let release = Arc::new(Notify::new());
    environment.script(CallScript::After(
        release.clone(),
        scripted_response(200, ""),
    ));
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    stream
        .on_request_headers(&mut exchange, false)
        .await
        .unwrap();
    let waiting = stream.on_request_body(&mut exchange, "text".into(), false);
    let responding = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        release.notify_one();
    };
    let (step, ()) = tokio::join!(waiting, responding);
    assert_eq!(step, Ok(PluginBodyAction::Continue("text".into())));
    assert_eq!(exchange.request.headers["x-auth"], "200");
}

#[tokio::test]
async fn a_paused_stream_does_not_stop_others_of_its_instance() {
    let body = AUTHORISE.replace("TIMEOUT", "5000");
    let (plugin, environment) = started_with(&body, |settings| {
        settings.grants.http_call = vec!["auth".to_owned()];
        settings.instances = 1;
    })
    .await;
    let release = Arc::new(Notify::new());
    environment.script(CallScript::After(
        release.clone(),
        scripted_response(200, "first"),
    ));
    environment.script(CallScript::Response(scripted_response(200, "second")));
    let mut first = plugin.open_stream().await.unwrap();
    let mut second = plugin.open_stream().await.unwrap();
    let (mut one, mut two) = (request(&[]), request(&[]));
    let waiting = async {
        let step = first.on_request_headers(&mut one, false).await;
        assert_eq!(step, Ok(PluginStreamAction::Continue));
    };
    let passing = async {
        tokio::task::yield_now().await;
        let step = second.on_request_headers(&mut two, false).await;
        assert_eq!(step, Ok(PluginStreamAction::Continue));
        release.notify_one();
    };
    tokio::join!(waiting, passing);
    assert_eq!(plugin.status().instances, 1);
    assert_eq!(one.request.headers["x-answer"], "first");
    assert_eq!(two.request.headers["x-answer"], "second");
}

#[tokio::test]
async fn a_timer_of_the_plugin_continues_a_stream() {
    let body = r#"
        (global $stream (mut i32) (i32.const 0))
        (func (export "proxy_on_configure") (param i32 i32) (result i32)
            (call $ok (call $tick (i32.const 10))) (i32.const 1))
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (global.set $stream (local.get 0)) (i32.const 1))
        (func (export "proxy_on_tick") (param i32)
            (if (global.get $stream) (then
                (call $ok (call $effective (global.get $stream)))
                (call $ok (call $add (i32.const 0) {"x-by"} {"tick"}))
                (call $ok (call $resume (i32.const 0)))
                (global.set $stream (i32.const 0)))))"#;
    let (plugin, _) = started_with(body, |_| {}).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert_eq!(exchange.request.headers["x-by"], "tick");
}

#[tokio::test]
async fn a_stream_on_hold_is_resumed_or_fails_at_the_limit() {
    let body = r#"
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 1))"#;
    let (plugin, _) = started_with(body, |settings| {
        settings.limits.pause = Duration::from_millis(20);
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[("x-a", "1")]);
    let step = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Hold));
    let step = stream.resumed(&mut exchange).await;
    let limit = Duration::from_millis(20);
    assert_eq!(step, Err(PluginFailure::Pause { limit }));
    assert_eq!(exchange.request, request(&[("x-a", "1")]).request);
}

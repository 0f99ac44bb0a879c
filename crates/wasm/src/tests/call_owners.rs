//! Which context an HTTP call belongs to: the stream that made it, the one that its response is for, or the root context.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::environment::{CallScript, TestEnvironment, response};
use super::fixture::{request, started_with, until};
use crate::{Plugin, PluginFailure, PluginSettings, PluginStreamAction};

/// A function that sends a request to `auth`, and returns the status.
const SEND: &str = r#"
    (func $send (result i32) (call $http {"auth"}
        {"\02\00\00\00\07\00\00\00\04\00\00\00\05\00\00\00\06\00\00\00:method\00POST\00:path\00/check\00"}
        {""} {""} (i32.const 0) (i32.const 0)))"#;

/// Answers the response to its first call with a second call, and continues with the response to that. The second call is
/// made in the root context, as a plugin in C++ makes it. The stream is at 512.
const CHAINED: &str = r#"
    (func $call (call $ok (call $send)))
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (i32.store (i32.const 512) (local.get 0))
        (call $call)
        (i32.const 1))
    (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
        (call $is (local.get 0) (i32.const 1))
        ;; Nothing of the stream is there in the root context.
        (call $is (call $value (i32.const 0) {":path"} (i32.const 8) (i32.const 12)) (i32.const 1))
        (if (i32.eq (local.get 1) (i32.const 1)) (then (call $call) return))
        (call $ok (call $effective (i32.load (i32.const 512))))
        (call $ok (call $add (i32.const 0) {"x-by"} {"second"}))
        (call $ok (call $resume (i32.const 0))))"#;

#[tokio::test]
async fn a_stream_waits_for_the_calls_that_follow_the_response_to_its_own() {
    let (plugin, environment) = started_with_calls(CHAINED, |_| {}).await;
    environment.script(CallScript::Response(response(200, "")));
    environment.script(CallScript::Response(response(200, "")));
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert_eq!(exchange.request.headers["x-by"], "second");
    assert_eq!(environment.calls().len(), 2);
}

#[tokio::test]
async fn a_call_that_a_stream_makes_at_its_end_outlives_it() {
    const REPORT: &str = r#"
        (func (export "proxy_on_log") (param i32) (call $ok (call $send)))
        (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
            (call $is (local.get 0) (i32.const 1))
            (drop (call $log (i32.const 2) {"reported"})))"#;
    let (plugin, environment) = started_with_calls(REPORT, |_| {}).await;
    let release = Arc::new(Notify::new());
    environment.script(CallScript::After(release.clone(), response(200, "")));
    run_stream(&plugin).await;
    release.notify_one();
    let is_reported = || environment.messages() == ["reported"];
    until("the plugin gets the response", is_reported).await;
}

#[tokio::test]
async fn calls_that_follow_each_other_without_end_end_with_the_plugin() {
    const CALLS: usize = 5_000;
    // Each response takes a few milliseconds, in which others arrive.
    const ENDLESS: &str = r#"
        (func $call (drop (call $send)))
        (func (export "proxy_on_log") (param i32) (call $call) (call $call))
        (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
            (local $count i32)
            (loop $more
                (local.set $count (i32.add (local.get $count) (i32.const 1)))
                (br_if $more (i32.lt_u (local.get $count) (i32.const 10000000))))
            (call $call))"#;
    let (plugin, environment) = started_with_calls(ENDLESS, |_| {}).await;
    for _ in 0..CALLS {
        environment.script(CallScript::Error("connection refused"));
    }
    run_stream(&plugin).await;
    until("both calls are repeated", || environment.calls().len() > 4).await;
    drop(plugin);
    until("the instance ends", || Arc::strong_count(&environment) == 1).await;
    assert!(environment.calls().len() < CALLS);
}

#[tokio::test]
async fn a_paused_stream_whose_responses_lead_to_other_calls_waits_no_longer_than_others() {
    const REPEATED: &str = r#"
        (func $call (call $ok (call $send)))
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (call $call)
            (i32.const 1))
        (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32) (call $call))"#;
    const CALLS: usize = 20_000;
    let pause = Duration::from_millis(20);
    let (plugin, environment) = started_with_calls(REPEATED, |settings| {
        settings.limits.pause = pause;
    })
    .await;
    for _ in 0..CALLS {
        environment.script(CallScript::Error("connection refused"));
    }
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let paused = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(paused, Err(PluginFailure::Pause { limit: pause }));
    assert!(environment.calls().len() < CALLS);
}

#[tokio::test]
async fn a_call_counts_as_concurrent_until_the_plugin_takes_its_response() {
    const MAX: usize = 4;
    const RESPONSES: usize = 50;
    // Each response leads to two calls.
    const DOUBLING: &str = r#"
        (func $call (drop (call $send)))
        (func (export "proxy_on_log") (param i32) (call $call))
        (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
            (drop (call $log (i32.const 2) {"response"})) (call $call) (call $call))"#;
    let (plugin, environment) = started_with_calls(DOUBLING, |settings| {
        settings.limits.http_calls = MAX;
    })
    .await;
    for _ in 0..RESPONSES * 10 {
        environment.script(CallScript::Response(response(200, "")));
    }
    run_stream(&plugin).await;
    until("responses are taken", || {
        environment.messages().len() >= RESPONSES
    })
    .await;
    let (calls, responses) = (environment.calls().len(), environment.messages().len());
    assert!(
        calls <= responses + MAX,
        "{calls} calls, {responses} responses"
    );
}

/// A started plugin with the functions of `body` and [`SEND`], which it may call.
async fn started_with_calls(
    body: &str,
    change: impl FnOnce(&mut PluginSettings),
) -> (Plugin, Arc<TestEnvironment>) {
    started_with(&format!("{SEND}{body}"), |settings| {
        settings.grants.http_call = vec!["auth".to_owned()];
        change(settings);
    })
    .await
}

/// A stream from its head, which has no body, to its end.
async fn run_stream(plugin: &Plugin) {
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_headers(&mut exchange, true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    stream.finish(&mut exchange).await.unwrap();
}

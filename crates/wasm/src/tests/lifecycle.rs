//! The callbacks of a plugin: their order, their arguments, and what follows from their results.

use bytes::Bytes;
use http::HeaderMap;

use super::fixture::{answered, request, started, started_with, try_start, until};
use crate::{PluginBodyAction, PluginCallback, PluginStartError, PluginStreamAction};

/// Logs the name of each callback.
const EVERY_CALLBACK: &str = r#"
    (func $say (param i32 i32) (call $ok (call $log (i32.const 2) (local.get 0) (local.get 1))))
    (func (export "_initialize") (call $say {"initialize"}))
    (func (export "proxy_on_context_create") (param i32 i32) (call $say {"create"}))
    (func (export "proxy_on_vm_start") (param i32 i32) (result i32)
        (call $say {"vm_start"}) (i32.const 1))
    (func (export "proxy_on_configure") (param i32 i32) (result i32)
        (call $say {"configure"}) (i32.const 1))
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (call $is (local.get 1) (i32.const 5))
        (call $say {"request headers"}) (i32.const 0))
    (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (call $is (local.get 1) (i32.const 4))
        (call $say {"request body"}) (i32.const 0))
    (func (export "proxy_on_request_trailers") (param i32 i32) (result i32)
        (call $is (local.get 1) (i32.const 0))
        (call $say {"request trailers"}) (i32.const 0))
    (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
        (call $is (local.get 1) (i32.const 1))
        (call $say {"response headers"}) (i32.const 0))
    (func (export "proxy_on_response_body") (param i32 i32 i32) (result i32)
        (call $say {"response body"}) (i32.const 0))
    (func (export "proxy_on_response_trailers") (param i32 i32) (result i32)
        (call $say {"response trailers"}) (i32.const 0))
    (func (export "proxy_on_done") (param i32) (result i32) (call $say {"done"}) (i32.const 1))
    (func (export "proxy_on_log") (param i32) (call $say {"log"}))
    (func (export "proxy_on_delete") (param i32) (call $say {"delete"}))
"#;

#[tokio::test]
async fn a_stream_has_its_callbacks_in_order() {
    let (plugin, environment) = started(EVERY_CALLBACK).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = answered(&[("accept", "*/*")]);
    exchange.request_trailers = Some(Box::new(HeaderMap::new()));
    let step = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    let body = Bytes::from_static(b"text");
    let step = stream.on_request_body(&mut exchange, body.clone(), false);
    assert_eq!(step.await, Ok(PluginBodyAction::Continue(body.clone())));
    let step = stream.on_request_trailers(&mut exchange).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    let step = stream.on_response_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    let step = stream.on_response_event(&mut exchange, body.clone());
    assert_eq!(step.await, Ok(PluginBodyAction::Continue(body.clone())));
    let step = stream.on_response_body(&mut exchange, body.clone(), true);
    assert_eq!(step.await, Ok(PluginBodyAction::Continue(body)));
    let step = stream.on_response_trailers(&mut exchange).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    stream.finish(&mut exchange).await.unwrap();
    assert_eq!(
        environment.messages(),
        [
            "initialize",
            "create",
            "vm_start",
            "configure",
            "create",
            "request headers",
            "request body",
            "request trailers",
            "response headers",
            "response body",
            "response body",
            "response trailers",
            "done",
            "log",
            "delete",
        ]
    );
    assert_eq!(exchange.request.path, "/v1/chat?trace=1");
    assert_eq!(plugin.status().streams, 0);
}

#[tokio::test]
async fn a_stream_that_is_dropped_ends_for_the_plugin_too() {
    let (plugin, environment) = started(EVERY_CALLBACK).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[("accept", "*/*")]);
    stream
        .on_request_headers(&mut exchange, true)
        .await
        .unwrap();
    drop(stream);
    until("the stream ends", || plugin.status().streams == 0).await;
    assert!(environment.messages().ends_with(&["delete".to_owned()]));
}

#[tokio::test]
async fn a_stream_without_callbacks_is_logged_when_it_is_finished_only() {
    let (plugin, environment) = started(EVERY_CALLBACK).await;
    let before = environment.messages();
    drop(plugin.open_stream().await.unwrap());
    assert_eq!(environment.messages(), before);
    let stream = plugin.open_stream().await.unwrap();
    stream.finish(&mut request(&[])).await.unwrap();
    let messages = environment.messages().split_off(before.len());
    assert_eq!(messages, ["create", "done", "log", "delete"]);
    assert_eq!(plugin.status().streams, 0);
}

#[tokio::test]
async fn callbacks_that_the_module_lacks_let_everything_pass() {
    let (plugin, _) = started("").await;
    assert!(plugin.exports(PluginCallback::ContextCreate));
    assert!(!plugin.exports(PluginCallback::RequestHeaders));
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    let body = Bytes::from_static(b"text");
    let step = stream
        .on_request_body(&mut exchange, body.clone(), true)
        .await;
    assert_eq!(step, Ok(PluginBodyAction::Continue(body)));
}

#[tokio::test]
async fn a_plugin_that_refuses_or_traps_at_its_start_is_an_error() {
    let configure = |code: &str| {
        format!(r#"(func (export "proxy_on_configure") (param i32 i32) (result i32) {code})"#)
    };
    let vm_start =
        r#"(func (export "proxy_on_vm_start") (param i32 i32) (result i32) i32.const 0)"#;
    let create = r#"(func (export "proxy_on_context_create") (param i32 i32) unreachable)"#;
    let cases: &[(String, &str)] = &[
        (vm_start.to_owned(), "`proxy_on_vm_start` returned false"),
        (
            configure("i32.const 0"),
            "`proxy_on_configure` returned false",
        ),
        (
            configure("unreachable"),
            "trap in proxy_on_configure: wasm `unreachable`",
        ),
        (
            configure("(loop (br 0)) unreachable"),
            "proxy_on_configure exceeded its 30ms",
        ),
        (create.to_owned(), "trap in proxy_on_context_create"),
        (
            r#"(func (export "_initialize") unreachable)"#.to_owned(),
            "trap in _initialize",
        ),
        (
            "(func $f unreachable) (start $f)".to_owned(),
            "trap in _initialize",
        ),
    ];
    for (body, expected) in cases {
        let (result, _) = try_start(body, |settings| {
            settings.limits.time.start = std::time::Duration::from_millis(30);
        })
        .await;
        let error = result.map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{body}: {error}");
    }
}

#[tokio::test]
async fn a_plugin_reads_its_configuration() {
    let body = r#"
        (func (export "proxy_on_configure") (param i32 i32) (result i32)
            (call $is (local.get 1) (i32.const 4))
            (call $ok (call $buffer (i32.const 7) (i32.const 1) (i32.const 99)
                (i32.const 0) (i32.const 4)))
            (call $ok (call $log (i32.const 2) (i32.load (i32.const 0)) (i32.load (i32.const 4))))
            (i32.const 1))
        (func (export "proxy_on_vm_start") (param i32 i32) (result i32)
            (call $is (local.get 1) (i32.const 2))
            (i32.const 1))"#;
    let (_plugin, environment) = started_with(body, |settings| {
        settings.configuration = "text".into();
        settings.vm_configuration = "vm".into();
    })
    .await;
    assert_eq!(environment.messages(), ["ext"]);
}

#[tokio::test]
async fn limits_that_cannot_be_kept_are_refused() {
    for (expected, change) in [
        (
            "memory",
            (|s| s.limits.memory = 2 << 30) as fn(&mut crate::PluginSettings),
        ),
        ("recycle", |s| s.limits.recycle = 0),
        ("headers", |s| s.limits.headers = 5000),
        ("instances", |s| s.instances = 0),
    ] {
        let (result, _) = try_start("", change).await;
        let error = result.map(drop).unwrap_err();
        let PluginStartError::Limit { limit, .. } = error else {
            panic!("{expected}: {error}");
        };
        assert_eq!(limit, expected);
    }
    let (result, _) = try_start("", |settings| {
        settings.limits.memory = 64 << 10;
        settings.limits.recycle = 64 << 10;
    })
    .await;
    let error = result.map(drop).unwrap_err().to_string();
    assert!(error.contains("memory"), "{error}");
}

#[tokio::test]
async fn a_plugin_may_end_a_stream_later() {
    let body = r#"
        (global $stream (mut i32) (i32.const 0))
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 0))
        (func (export "proxy_on_done") (param i32) (result i32)
            (global.set $stream (local.get 0))
            (drop (call $tick (i32.const 10)))
            (i32.const 0))
        (func (export "proxy_on_tick") (param i32)
            (drop (call $tick (i32.const 0)))
            (call $ok (call $effective (global.get $stream)))
            (call $ok (call $done)))
        (func (export "proxy_on_log") (param i32) (drop (call $log (i32.const 2) {"log"})))
        (func (export "proxy_on_delete") (param i32) (drop (call $log (i32.const 2) {"delete"})))"#;
    let (plugin, environment) = started(body).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    stream
        .on_request_headers(&mut exchange, true)
        .await
        .unwrap();
    stream.finish(&mut exchange).await.unwrap();
    assert!(environment.messages().is_empty());
    let lines = || environment.messages().len();
    until("the stream is deleted", || lines() == 2).await;
    assert_eq!(environment.messages(), ["log", "delete"]);
}

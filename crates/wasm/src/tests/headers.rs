//! What plugins read and change of headers and properties.

use std::sync::Arc;

use http::{HeaderName, StatusCode};

use super::fixture::{answered, header_lines, header_map, request, started, started_with};
use crate::{LentExchange, PluginStreamAction, PropertySource, PropertyValue};

#[tokio::test]
async fn a_plugin_edits_request_headers() {
    // Each case: the code, and the headers of the request after it.
    let cases: &[(&str, &[&str])] = &[
        (
            r#"(call $ok (call $add (i32.const 0) {"x-a"} {"2"}))"#,
            &["x-a: 1", "x-a: 2", "x-b: 1"],
        ),
        (
            r#"(call $ok (call $replace (i32.const 0) {"X-A"} {"2"}))"#,
            &["x-a: 2", "x-b: 1"],
        ),
        (
            r#"(call $ok (call $remove (i32.const 0) {"x-a"}))
               (call $ok (call $remove (i32.const 0) {"x-missing"}))"#,
            &["x-b: 1"],
        ),
        (
            r#"(call $ok (call $set_pairs (i32.const 0)
                {"\01\00\00\00\03\00\00\00\01\00\00\00x-c\009\00"}))"#,
            &["x-c: 9"],
        ),
        (
            r#"(call $is (call $add (i32.const 0) {"x a"} {"2"}) (i32.const 2))
               (call $is (call $add (i32.const 0) {"x-a"} {"2\0a"}) (i32.const 2))
               (call $is (call $add (i32.const 0) {""} {"2"}) (i32.const 2))
               (call $is (call $remove (i32.const 0) {":path"}) (i32.const 2))
               (call $is (call $add (i32.const 9) {"x-a"} {"2"}) (i32.const 2))
               (call $is (call $add (i32.const 2) {"x-a"} {"2"}) (i32.const 2))
               (call $is (call $replace (i32.const 0) {":path"} {"no-slash"}) (i32.const 2))
               (call $is (call $replace (i32.const 0) {":method"} {"A B"}) (i32.const 2))
               (call $is (call $replace (i32.const 0) {":status"} {"200"}) (i32.const 2))"#,
            &["x-a: 1", "x-b: 1"],
        ),
    ];
    for (code, expected) in cases {
        let mut exchange = request(&[("x-a", "1"), ("x-b", "1")]);
        run(code, &mut exchange).await;
        assert_eq!(header_lines(&exchange.request.headers), *expected, "{code}");
        assert_eq!(exchange.request.path, "/v1/chat?trace=1");
    }
}

#[tokio::test]
async fn pseudo_headers_are_read_and_changed() {
    let code = r#"
        (call $expect {":method"} {"GET"})
        (call $expect {":scheme"} {"https"})
        (call $expect {":authority"} {"gate.example"})
        (call $ok (call $replace (i32.const 0) {":path"} {"/other?x=2"}))
        (call $expect {":path"} {"/other?x=2"})
        (call $ok (call $replace (i32.const 0) {":method"} {"POST"}))
        (call $ok (call $replace (i32.const 0) {":authority"} {"b.example"}))"#;
    let mut exchange = request(&[]);
    run(code, &mut exchange).await;
    let head = &exchange.request;
    assert_eq!(head.path, "/other?x=2");
    assert_eq!(head.method, "POST");
    assert_eq!(head.authority, "b.example");
}

#[tokio::test]
async fn response_headers_and_the_status_are_changed() {
    let body = r#"
        (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
            (call $ok (call $replace (i32.const 2) {":status"} {"418"}))
            (call $is (call $replace (i32.const 2) {":status"} {"9000"}) (i32.const 2))
            (call $ok (call $add (i32.const 2) {"x-a"} {"1"}))
            (call $ok (call $add (i32.const 3) {"x-trailer"} {"1"}))
            (i32.const 0))"#;
    let (plugin, _) = started(body).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = answered(&[]);
    stream
        .on_response_headers(&mut exchange, false)
        .await
        .unwrap();
    let response = exchange.response.unwrap();
    assert_eq!(response.status, StatusCode::IM_A_TEAPOT);
    assert_eq!(header_lines(&response.headers), ["x-a: 1"]);
    let trailers = exchange.response_trailers.unwrap();
    assert_eq!(header_lines(&trailers), ["x-trailer: 1"]);
}

#[tokio::test]
async fn hidden_headers_are_neither_seen_nor_changed() {
    let body = r#"
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (call $is (local.get 1) (i32.const 5))
            (call $is (call $value (i32.const 0) {"authorization"} (i32.const 0) (i32.const 4))
                (i32.const 1))
            (call $is (call $property {"request\00headers\00authorization"}
                (i32.const 0) (i32.const 4)) (i32.const 1))
            (call $is (call $add (i32.const 0) {"authorization"} {"mine"}) (i32.const 2))
            (call $is (call $replace (i32.const 0) {"Authorization"} {"mine"}) (i32.const 2))
            (call $ok (call $remove (i32.const 0) {"authorization"}))
            (call $ok (call $pairs (i32.const 0) (i32.const 0) (i32.const 4)))
            (call $ok (call $set_pairs (i32.const 0)
                (i32.load (i32.const 0)) (i32.load (i32.const 4))))
            (i32.const 0))"#;
    let (plugin, _) = started_with(body, |settings| {
        settings.grants.hidden_headers = vec![HeaderName::from_static("authorization")];
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[("authorization", "secret"), ("x-a", "1")]);
    let step = stream.on_request_headers(&mut exchange, true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    let mut headers = header_lines(&exchange.request.headers);
    headers.sort_unstable();
    assert_eq!(headers, ["authorization: secret", "x-a: 1"]);
}

#[tokio::test]
async fn edits_of_a_callback_that_traps_are_undone() {
    let edits = [
        r#"(call $ok (call $add (i32.const 0) {"x-a"} {"2"}))"#,
        r#"(call $ok (call $replace (i32.const 0) {"x-a"} {"2"}))"#,
        r#"(call $ok (call $remove (i32.const 0) {"x-a"}))"#,
        r#"(call $ok (call $set_pairs (i32.const 0) {"\00\00\00\00"}))"#,
        r#"(call $ok (call $replace (i32.const 0) {":path"} {"/other"}))"#,
        r#"(call $ok (call $add (i32.const 1) {"x-trailer"} {"2"}))"#,
        r#"(call $ok (call $replace (i32.const 2) {":status"} {"500"}))"#,
        r#"(call $ok (call $add (i32.const 2) {"x-a"} {"2"}))"#,
    ];
    for code in edits
        .iter()
        .map(|edit| (*edit).to_owned())
        .chain([edits.join("")])
    {
        let body = format!(
            r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
                {code} unreachable)"#
        );
        let (plugin, _) = started(&body).await;
        let mut stream = plugin.open_stream().await.unwrap();
        let mut exchange = answered(&[("x-a", "1"), ("x-b", "1")]);
        stream
            .on_request_headers(&mut exchange, true)
            .await
            .unwrap_err();
        let expected = answered(&[("x-a", "1"), ("x-b", "1")]);
        assert_eq!(exchange.request, expected.request, "{code}");
        assert_eq!(exchange.response, expected.response, "{code}");
        assert!(exchange.request_trailers.is_none_or(|map| map.is_empty()));
    }
}

#[tokio::test]
async fn maps_beyond_the_limits_are_refused() {
    let code = r#"
        (local $count i32)
        (block $full
            (loop $more
                (br_if $full (call $add (i32.const 0) {"x-a"} {"0123456789"}))
                (local.set $count (i32.add (local.get $count) (i32.const 1)))
                (br $more)))
        (call $is (local.get $count) (i32.const LIMIT))"#;
    for (headers, bytes, limit) in [(10, 10_000, 10), (1_000, 65, 5)] {
        let code = code.replace("LIMIT", &limit.to_string());
        let body = on_request_headers(&code);
        let (plugin, _) = started_with(&body, |settings| {
            settings.limits.headers = headers;
            settings.limits.header_bytes = bytes;
        })
        .await;
        let mut stream = plugin.open_stream().await.unwrap();
        let mut exchange = request(&[]);
        stream
            .on_request_headers(&mut exchange, true)
            .await
            .unwrap();
        assert_eq!(exchange.request.headers.len(), limit);
    }
}

#[derive(Debug)]
struct FixedProperties;

impl PropertySource for FixedProperties {
    fn property(&self, path: &[&str]) -> Option<PropertyValue> {
        Some(match path {
            ["route_name"] => PropertyValue::Text("chat".to_owned()),
            ["number"] => PropertyValue::Int(-2),
            ["flag"] => PropertyValue::Bool(true),
            ["map"] => PropertyValue::Map(vec![("a".to_owned(), "b".to_owned())]),
            ["request", "id"] => PropertyValue::Text("own".to_owned()),
            _ => return None,
        })
    }
}

#[tokio::test]
async fn properties_come_from_the_program_the_exchange_and_plugins() {
    let code = r#"
        (call $holds {"route_name"} {"chat"})
        (call $holds {"number\00"} {"\fe\ff\ff\ff\ff\ff\ff\ff"})
        (call $holds {"flag"} {"\01"})
        (call $holds {"map"} {"\01\00\00\00\01\00\00\00\01\00\00\00a\00b\00"})
        (call $holds {"request\00id"} {"own"})
        (call $holds {"request\00path"} {"/v1/chat?trace=1"})
        (call $holds {"request\00url_path"} {"/v1/chat"})
        (call $holds {"request\00query"} {"trace=1"})
        (call $holds {"request\00host"} {"gate.example"})
        (call $holds {"request\00method"} {"GET"})
        (call $holds {"request\00scheme"} {"https"})
        (call $holds {"request\00useragent"} {"curl"})
        (call $holds {"request\00headers\00user-agent"} {"curl"})
        (call $holds {"response\00code"} {"\c8\00\00\00\00\00\00\00"})
        (call $holds {"plugin_name"} {"test"})
        (call $holds {"plugin_root_id"} {"root"})
        (call $is (call $property {"unknown"} (i32.const 0) (i32.const 4)) (i32.const 1))
        (call $is (call $property {"request\00unknown"} (i32.const 0) (i32.const 4)) (i32.const 1))
        (call $is (call $property {"\ff"} (i32.const 0) (i32.const 4)) (i32.const 2))
        (call $ok (call $set_property {"own\00value"} {"1"}))
        (call $holds {"own\00value"} {"1"})
        (call $is (call $set_property {""} {"1"}) (i32.const 2))"#;
    let body = on_request_headers(code);
    let (plugin, _) = started_with(&body, |settings| settings.root_id = "root".to_owned()).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = answered(&[("user-agent", "curl")]);
    exchange.properties = Some(Arc::new(FixedProperties));
    let step = stream.on_request_headers(&mut exchange, true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert_eq!(exchange.plugin_properties["own.value"], "1");
}

#[tokio::test]
async fn several_values_of_a_name_are_one_value_to_a_plugin() {
    let mut exchange = request(&[]);
    exchange.request.headers = header_map(&[("x-a", "1"), ("x-a", "2")]);
    run(r#"(call $expect {"x-a"} {"1,2"})"#, &mut exchange).await;
}

async fn run(code: &str, exchange: &mut LentExchange) {
    let (plugin, _) = started(&on_request_headers(code)).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(exchange, true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue), "{code}");
}

/// A plugin that runs `code` for the headers of a request. There, `$expect` compares a header with a text, and `$holds`
/// a property.
fn on_request_headers(code: &str) -> String {
    format!(
        r#"
        (func $same (param $at i32) (param $length i32)
            (local $i i32)
            (call $is (i32.load (i32.const 4)) (local.get $length))
            (loop $next
                (if (i32.lt_u (local.get $i) (local.get $length)) (then
                    (call $is
                        (i32.load8_u (i32.add (i32.load (i32.const 0)) (local.get $i)))
                        (i32.load8_u (i32.add (local.get $at) (local.get $i))))
                    (local.set $i (i32.add (local.get $i) (i32.const 1)))
                    (br $next)))))
        (func $expect (param i32 i32 i32 i32)
            (call $ok (call $value (i32.const 0) (local.get 0) (local.get 1)
                (i32.const 0) (i32.const 4)))
            (call $same (local.get 2) (local.get 3)))
        (func $holds (param i32 i32 i32 i32)
            (call $ok (call $property (local.get 0) (local.get 1) (i32.const 0) (i32.const 4)))
            (call $same (local.get 2) (local.get 3)))
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            {code}
            (i32.const 0))"#
    )
}

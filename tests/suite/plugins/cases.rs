//! Tests of `headgate plugin test`: the rules of a route, cases with a fixed time, and cases without an exchange.

use super::author::headgate;
use super::exposure::MIRROR;
use crate::harness::plugins::folder_with_plugin;

/// Replaces the body of requests by `no`.
const TEXT_BODY: &str = r#"
  (data (i32.const 0) "no")
  (func (export "proxy_on_request_body") (param $context i32) (param $size i32) (param $end i32) (result i32)
    (drop (call $set_buffer (i32.const 0) (i32.const 0) (local.get $size) (i32.const 0) (i32.const 2)))
    (i32.const 0))"#;

/// Logs `noon` at the start if it is noon of 31 January 2026, and asks `guard` once by its timer.
const START: &str = r#"
  (data (i32.const 0) "guard")
  (data (i32.const 16) "\02\00\00\00\07\00\00\00\03\00\00\00\05\00\00\00\06\00\00\00:method\00GET\00:path\00/check\00")
  (data (i32.const 80) "noon")
  (global $has_called (mut i32) (i32.const 0))
  (func (export "proxy_on_configure") (param i32 i32) (result i32)
    (drop (call $time (i32.const 4000)))
    (if (i64.eq (i64.load (i32.const 4000)) (i64.const 1769860800000000000))
      (then (drop (call $log (i32.const 2) (i32.const 80) (i32.const 4)))))
    (drop (call $tick (i32.const 10)))
    (i32.const 1))
  (func (export "proxy_on_tick") (param i32)
    (if (global.get $has_called) (then return))
    (global.set $has_called (i32.const 1))
    (drop (call $http_call (i32.const 0) (i32.const 5) (i32.const 16) (i32.const 45) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1000) (i32.const 4000))))
  (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
    (if (i32.ne (local.get 0) (i32.const 1)) (then unreachable))
    (drop (call $log (i32.const 2) (i32.const 0) (i32.const 5))))"#;

/// Runs the cases of a plugin, and compares which passed.
fn run(callbacks: &str, cases: &str, expected: &[&str]) {
    let folder = folder_with_plugin("tested", callbacks);
    folder.write("cases.yaml", cases);
    let output = headgate(folder.path(), &["test", "plugins/tested.wasm"]);
    let outcomes: Vec<&str> = output
        .stdout
        .lines()
        .filter(|line| line.starts_with("ok ") || line.starts_with("FAILED "))
        .collect();
    assert_eq!(outcomes, expected, "{}{}", output.stdout, output.stderr);
}

#[test]
fn a_case_that_does_nothing_in_the_gateway_fails() {
    let cases = r#"
cases:
  - name: a withheld header
    request: {headers: {cookie: a=b}}
    response: {headers: {set-cookie: c=d}}
    expect: {response: {headers: {x-saw-cookie: a=b}}}
  - name: a header that callers do not get
    request: {}
    response: {headers: {x-region: eu}}
    expect: {response: {headers: {x-saw-region: eu}}}
  - name: a member of the query that carries a credential
    request: {headers: {":path": "/v1?token=t&a=1"}}
    response: {}
    expect: {response: {headers: {x-saw-path: "/v1?token=t&a=1"}}}
  - name: what the gateway does with them
    request: {headers: {cookie: a=b, ":path": "/v1?token=t&a=1"}}
    response: {headers: {set-cookie: c=d, x-region: eu, content-type: application/json}, body: "{}"}
    expect:
      request: {absent: [cookie]}
      response: {absent: [x-saw-cookie, set-cookie, x-saw-region], headers: {x-saw-path: /v1?a=1, content-length: "2"}}
"#;
    let withheld = [
        "FAILED  a withheld header",
        "FAILED  a header that callers do not get",
        "FAILED  a member of the query that carries a credential",
        "ok      what the gateway does with them",
    ];
    run(MIRROR, cases, &withheld);
    let shown = [
        "ok      a withheld header",
        "ok      a header that callers do not get",
        "ok      a member of the query that carries a credential",
        "FAILED  what the gateway does with them",
    ];
    let grants = "grants: {request_headers: [cookie], query: [token], response_headers: [set-cookie, x-region]}";
    run(MIRROR, &format!("{grants}{cases}"), &shown);
    run(MIRROR, &format!("rules: none{cases}"), &shown);
}

#[test]
fn a_changed_body_must_be_json_and_bodies_are_whole_as_in_the_gateway() {
    let cases = r#"
cases:
  - name: a body that is no longer JSON
    request: {json: {a: 1}}
    expect: {request: {body: "no"}}
  - name: a body that was not JSON
    request: {body: text}
    expect: {request: {body: "no"}}
  - name: pieces
    rules: none
    request: {chunks: [a, b]}
    expect: {request: {body: nono}}
"#;
    let expected = [
        "FAILED  a body that is no longer JSON",
        "FAILED  a body that was not JSON",
        "ok      pieces",
    ];
    run(TEXT_BODY, cases, &expected);
}

#[test]
fn a_case_has_a_fixed_time_and_may_be_without_an_exchange() {
    let cases = r#"
time: 2026-01-31T12:00:00Z
cases:
  - name: at noon
    exchange: false
    calls: [{channel: guard, response: {body: keys}}]
    expect: {log: [info noon, info guard]}
  - name: elsewhere
    exchange: false
    time: 2026-01-31T12:00:00+01:00
    calls: [{channel: guard}]
    expect: {log: [{not_regex: noon}]}
  - name: a call that is not made
    exchange: false
    calls: [{channel: guard}, {channel: guard}]
    expect: {}
"#;
    let expected = [
        "ok      at noon",
        "ok      elsewhere",
        "FAILED  a call that is not made",
    ];
    run(START, cases, &expected);
}

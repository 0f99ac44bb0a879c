//! Host functions with arguments that do not fit, and those that this host does not have.

use super::fixture::{END_OF_IMPORTS, request, started, started_with};
use crate::{PluginLogLevel, PluginStreamAction};

/// Runs code for the headers of a request.
fn on_request_headers(code: &str) -> String {
    format!(
        r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            {code} (i32.const 0))"#
    )
}

#[tokio::test]
async fn pointers_and_lengths_that_lie_are_refused_by_every_function() {
    let cases = lies();
    let code: String = cases
        .iter()
        .enumerate()
        .map(|(number, (expected, call))| {
            // The number of the first case that fails is the status of a reply.
            format!(
                "(if (i32.ne (call {call}) (i32.const {expected})) (then
                    (call $ok (call $reply (i32.const {}) {{\"\"}} {{\"\"}} {{\"\"}} (i32.const -1)))
                    (return (i32.const 0))))",
                300 + number
            )
        })
        .collect();
    let (plugin, _) = started_with(&on_request_headers(&code), |settings| {
        settings.configuration = "text".into();
        settings.grants.shared_data = true;
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(&mut request(&[]), true).await;
    if let Ok(PluginStreamAction::Reply(reply)) = &step {
        let case = &cases[usize::from(reply.status.as_u16()) - 300];
        panic!("not {}: {}", case.0, case.1);
    }
    assert_eq!(step, Ok(PluginStreamAction::Continue));
}

/// Calls with arguments that do not fit, and the status of each.
fn lies() -> Vec<(u32, String)> {
    const OK: u32 = 0;
    const BAD_ARGUMENT: u32 = 2;
    const PARSE_FAILURE: u32 = 4;
    const NO_MEMORY: u32 = 6;
    let outside = "(i32.const -8) (i32.const 64)";
    let last = "(i32.const 131070)";
    vec![
        (NO_MEMORY, format!("$log (i32.const 2) {outside}")),
        (
            NO_MEMORY,
            "$log (i32.const 2) (i32.const 0) (i32.const -1)".to_owned(),
        ),
        (
            BAD_ARGUMENT,
            "$log (i32.const 99) (i32.const 0) (i32.const 1)".to_owned(),
        ),
        (
            OK,
            "$log (i32.const 0) (i32.const 131072) (i32.const 0)".to_owned(),
        ),
        (NO_MEMORY, format!("$level {last}")),
        (NO_MEMORY, "$time (i32.const 131068)".to_owned()),
        (OK, "$time (i32.const 131064)".to_owned()),
        (
            NO_MEMORY,
            format!("$pairs (i32.const 0) {last} (i32.const 0)"),
        ),
        (
            NO_MEMORY,
            "$pairs (i32.const 0) (i32.const 0) (i32.const -4)".to_owned(),
        ),
        (
            BAD_ARGUMENT,
            "$pairs (i32.const 55) (i32.const 0) (i32.const 4)".to_owned(),
        ),
        (
            1,
            "$pairs (i32.const 2) (i32.const 0) (i32.const 4)".to_owned(),
        ),
        (NO_MEMORY, format!("$map_size (i32.const 0) {last}")),
        (
            NO_MEMORY,
            format!("$value (i32.const 0) {outside} (i32.const 0) (i32.const 4)"),
        ),
        (
            NO_MEMORY,
            format!("$value (i32.const 0) {{\":path\"}} {last} (i32.const 4)"),
        ),
        (NO_MEMORY, format!("$add (i32.const 0) {outside} {{\"1\"}}")),
        (
            NO_MEMORY,
            format!("$replace (i32.const 0) {{\"x\"}} {outside}"),
        ),
        (NO_MEMORY, format!("$remove (i32.const 0) {outside}")),
        (NO_MEMORY, format!("$set_pairs (i32.const 0) {outside}")),
        (
            PARSE_FAILURE,
            "$set_pairs (i32.const 0) {\"\\01\"}".to_owned(),
        ),
        (
            PARSE_FAILURE,
            "$set_pairs (i32.const 0) {\"\\ff\\ff\\ff\\7f\"}".to_owned(),
        ),
        (
            PARSE_FAILURE,
            "$set_pairs (i32.const 0) {\"\\01\\00\\00\\00\\ff\\ff\\ff\\ff\\01\\00\\00\\00a\"}"
                .to_owned(),
        ),
        (
            PARSE_FAILURE,
            "$set_pairs (i32.const 0) {\"\\01\\00\\00\\00\\01\\00\\00\\00\\01\\00\\00\\00abc\"}"
                .to_owned(),
        ),
        (
            NO_MEMORY,
            format!("$buffer (i32.const 7) (i32.const 0) (i32.const 9) {last} (i32.const 4)"),
        ),
        (
            NO_MEMORY,
            format!("$buffer_status (i32.const 7) (i32.const 0) {last}"),
        ),
        (
            NO_MEMORY,
            format!("$set_buffer (i32.const 0) (i32.const 0) (i32.const 0) {outside}"),
        ),
        (
            BAD_ARGUMENT,
            "$set_buffer (i32.const 7) (i32.const 0) (i32.const 0) {\"a\"}".to_owned(),
        ),
        (
            NO_MEMORY,
            format!("$property {outside} (i32.const 0) (i32.const 4)"),
        ),
        (NO_MEMORY, format!("$set_property {{\"a\"}} {outside}")),
        (
            NO_MEMORY,
            format!("$reply (i32.const 200) {outside} {{\"\"}} {{\"\"}} (i32.const -1)"),
        ),
        (
            NO_MEMORY,
            format!("$reply (i32.const 200) {{\"\"}} {outside} {{\"\"}} (i32.const -1)"),
        ),
        (
            NO_MEMORY,
            format!("$reply (i32.const 200) {{\"\"}} {{\"\"}} {outside} (i32.const -1)"),
        ),
        (
            BAD_ARGUMENT,
            "$reply (i32.const 99) {\"\"} {\"\"} {\"\"} (i32.const -1)".to_owned(),
        ),
        (
            BAD_ARGUMENT,
            "$reply (i32.const 101) {\"\"} {\"\"} {\"\"} (i32.const -1)".to_owned(),
        ),
        (
            BAD_ARGUMENT,
            "$reply (i32.const 70000) {\"\"} {\"\"} {\"\"} (i32.const -1)".to_owned(),
        ),
        (
            NO_MEMORY,
            format!("$get_shared {outside} (i32.const 0) (i32.const 4) (i32.const 8)"),
        ),
        (
            NO_MEMORY,
            format!("$set_shared {{\"a\"}} {outside} (i32.const 0)"),
        ),
        (NO_MEMORY, format!("$register {{\"q\"}} {last}")),
        (
            NO_MEMORY,
            format!("$http {outside} {{\"\"}} {{\"\"}} {{\"\"}} (i32.const 0) (i32.const 0)"),
        ),
        (
            NO_MEMORY,
            format!("$define (i32.const 0) {outside} (i32.const 0)"),
        ),
        (
            BAD_ARGUMENT,
            "$define (i32.const 3) {\"a\"} (i32.const 0)".to_owned(),
        ),
        (1, "$record (i32.const 77) (i64.const 1)".to_owned()),
        (BAD_ARGUMENT, "$effective (i32.const 77)".to_owned()),
        (BAD_ARGUMENT, "$resume (i32.const 9)".to_owned()),
        (12, "$resume (i32.const 2)".to_owned()),
        (BAD_ARGUMENT, "$close (i32.const -1)".to_owned()),
        (1, "$done".to_owned()),
        (
            1,
            "$foreign {\"f\"} {\"\"} (i32.const 0) (i32.const 4)".to_owned(),
        ),
        (12, "$grpc_close (i32.const 1)".to_owned()),
    ]
}

#[tokio::test]
async fn a_plugin_replies_or_closes_the_stream() {
    let reply = r#"
        (call $ok (call $reply (i32.const 429) {"too many"} {"later"}
            {"\01\00\00\00\0b\00\00\00\01\00\00\00retry-after\009\00"} (i32.const -1)))
        (call $ok (call $reply (i32.const 200) {""} {"second"} {""} (i32.const -1)))
        (return (i32.const 1))"#;
    let (plugin, _) = started(&on_request_headers(reply)).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(&mut request(&[]), false).await;
    let Ok(PluginStreamAction::Reply(reply)) = step else {
        panic!("{step:?}");
    };
    assert_eq!(reply.status, 429);
    assert_eq!(reply.headers["retry-after"], "9");
    assert_eq!(reply.body, "later");
    assert_eq!(reply.details, "too many");

    let close = "(call $ok (call $close (i32.const 0)))";
    let (plugin, _) = started(&on_request_headers(close)).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(&mut request(&[]), false).await;
    assert_eq!(step, Ok(PluginStreamAction::Close));
}

#[tokio::test]
async fn logs_have_levels_and_printable_characters() {
    let code = r#"
        (call $ok (call $log (i32.const 0) {"too fine"}))
        (call $ok (call $level (i32.const 0)))
        (call $is (i32.load (i32.const 0)) (i32.const 3))
        (call $ok (call $log (i32.const 3) {"a\0ab\07c\ff"}))
        (call $ok (call $log (i32.const 5) {"end"}))"#;
    let (plugin, environment) = started_with(&on_request_headers(code), |settings| {
        settings.log_level = PluginLogLevel::Warn;
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(&mut request(&[]), true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert_eq!(
        environment.lines(),
        [
            (PluginLogLevel::Warn, "a b\u{fffd}c\u{fffd}".to_owned()),
            (PluginLogLevel::Critical, "end".to_owned()),
        ]
    );
}

#[tokio::test]
async fn a_line_keeps_its_limit_whatever_its_bytes_are_printed_as() {
    let code = r#"
        (memory.fill (i32.const 2048) (i32.const 1) (i32.const 4096))
        (call $ok (call $log (i32.const 2) (i32.const 2048) (i32.const 4096)))"#;
    let (plugin, environment) = started(&on_request_headers(code)).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(&mut request(&[]), true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    let lines = environment.messages();
    assert!(lines.iter().all(|line| line.len() <= 4096));
    assert_eq!(lines.concat(), "\u{fffd}".repeat(4096));
}

#[tokio::test]
async fn wasi_has_outputs_clocks_and_random_numbers_only() {
    let body = r#"
        (func $write (param i32 i32 i32) (call $is (call $fd_write (local.get 0)
            (i32.const 16) (i32.const 1) (i32.const 8)) (i32.const 0)))
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (i32.store (i32.const 16) (i32.const 1024))
            (i32.store (i32.const 20) (i32.const 9))
            (call $write (i32.const 1) {"one\0atwo \0at"})
            (call $is (i32.load (i32.const 8)) (i32.const 9))
            (i32.store (i32.const 20) (i32.const 5))
            (call $write (i32.const 2) {""})
            (call $is (call $fd_write (i32.const 3) (i32.const 16) (i32.const 1) (i32.const 8))
                (i32.const 8))
            (call $is (call $fd_write (i32.const 1) (i32.const 16) (i32.const -1) (i32.const 8))
                (i32.const 28))
            (i32.store (i32.const 4) (i32.const 7))
            (call $is (call $poll (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 4))
                (i32.const 0))
            (call $is (i32.load (i32.const 4)) (i32.const 0))
            (call $is (call $poll (i32.const 0) (i32.const 0) (i32.const 1) (i32.const -2))
                (i32.const 21))
            (call $is (call $prestat (i32.const 3) (i32.const 0)) (i32.const 8))
            (call $is (call $random (i32.const 0) (i32.const 8)) (i32.const 0))
            (call $is (call $random (i32.const -8) (i32.const 64)) (i32.const 21))
            (call $is (call $clock (i32.const 1) (i64.const 0) (i32.const 0)) (i32.const 0))
            (call $is (call $clock (i32.const 7) (i64.const 0) (i32.const 0)) (i32.const 28))
            (i32.store (i32.const 0) (i32.const 1))
            (call $is (call $environ (i32.const 0) (i32.const 4)) (i32.const 0))
            (call $is (i32.load (i32.const 0)) (i32.const 0))
            (call $exit (i32.const 3))
            unreachable)"#;
    let imports = r#"
        (import "wasi_snapshot_preview1" "fd_write"
            (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "poll_oneoff"
            (func $poll (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_prestat_get"
            (func $prestat (param i32 i32) (result i32)))
        (import "wasi_unstable" "random_get" (func $random (param i32 i32) (result i32)))
        (import "wasi_unstable" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
        (import "wasi_unstable" "environ_sizes_get"
            (func $environ (param i32 i32) (result i32)))
        (import "wasi_unstable" "proc_exit" (func $exit (param i32)))"#;
    let (plugin, environment) = started(&format!("{imports}{END_OF_IMPORTS}\n{body}")).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(&mut request(&[]), true).await;
    let failure = step.unwrap_err().to_string();
    assert!(failure.contains("the plugin exited with 3"), "{failure}");
    assert_eq!(environment.messages(), ["one", "two", "one", "t"]);
}

/// Fills memory with a text of 10,000 letters that ends with `end`, without a line break.
const LONG_TEXT: &str = r#"
    (memory.fill (i32.const 70000) (i32.const 97) (i32.const 9997))
    (i32.store16 (i32.const 79997) (i32.const 28261))
    (i32.store8 (i32.const 79999) (i32.const 100))"#;

#[tokio::test]
async fn a_long_line_of_the_log_keeps_its_end() {
    let imports = r#"(import "wasi_snapshot_preview1" "fd_write"
        (func $fd_write (param i32 i32 i32 i32) (result i32)))"#;
    let log = "(call $ok (call $log (i32.const 2) (i32.const 70000) (i32.const 10000)))";
    let write = r#"(i32.store (i32.const 16) (i32.const 70000))
        (i32.store (i32.const 20) (i32.const 10000))
        (call $is (call $fd_write (i32.const 2) (i32.const 16) (i32.const 1) (i32.const 8)) (i32.const 0))"#;
    for (code, trap) in [(log, ""), (write, ""), (write, "unreachable")] {
        let code = on_request_headers(&format!("{LONG_TEXT} {code} {trap}"));
        let (plugin, environment) = started(&format!("{imports}{END_OF_IMPORTS}\n{code}")).await;
        let mut stream = plugin.open_stream().await.unwrap();
        let step = stream.on_request_headers(&mut request(&[]), true).await;
        assert_eq!(step.is_err(), !trap.is_empty(), "{step:?}");
        let lines = environment.messages();
        assert!(lines.iter().all(|line| line.len() <= 4096), "{code}");
        assert_eq!(lines.concat(), format!("{}end", "a".repeat(9997)), "{code}");
        assert_eq!(plugin.status().dropped_log_lines, 0);
    }
}

#[tokio::test]
async fn a_line_of_the_log_is_cut_at_the_limit_of_a_second_and_what_is_missing_is_counted() {
    let code = format!(
        "{LONG_TEXT} (call $ok (call $log (i32.const 2) (i32.const 70000) (i32.const 10000)))"
    );
    let (plugin, environment) = started_with(&on_request_headers(&code), |settings| {
        settings.limits.log = 5000;
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(&mut request(&[]), true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert_eq!(environment.messages(), ["a".repeat(4096)]);
    assert_eq!(plugin.status().dropped_log_lines, 2);
}

//! Plugins that attack their host: each costs its own request and nothing else.

use std::time::Duration;

use bytes::Bytes;

use super::fixture::{HOST, answered, request, started_with, until, wat};
use crate::{
    Plugin, PluginCallback, PluginFailure, PluginModule, PluginModuleSettings, PluginStreamAction,
};

/// What a request with the header `x-attack` gets.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// A trap whose reason contains the text.
    Trap(&'static str),
    Time,
    Continue,
}

/// Attacks in a function `$attack`, which runs for requests with the header `x-attack`.
const ATTACKS: &[(&str, Outcome, &str)] = &[
    ("an infinite loop", Outcome::Time, "(func $attack (loop (br 0)))"),
    (
        "an infinite loop of host calls",
        Outcome::Time,
        "(func $attack (loop (drop (call $pairs (i32.const 0) (i32.const 0) (i32.const 4)))
            (global.set $heap (i32.const 65536)) (br 0)))",
    ),
    (
        "growth of the memory",
        Outcome::Continue,
        "(func $attack (loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
            (call $is (memory.size) (i32.const 130)))",
    ),
    (
        "growth of the memory that the plugin needs",
        Outcome::Trap("growth beyond 8519680 bytes was refused"),
        "(func $attack (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
            unreachable)",
    ),
    (
        "a read out of bounds",
        Outcome::Trap("out of bounds memory access"),
        "(func $attack (drop (i32.load (i32.const -4))))",
    ),
    (
        "a table out of bounds",
        Outcome::Trap("out of bounds table access"),
        "(table 1 funcref) (func $attack (call_indirect (i32.const 7)))",
    ),
    (
        "deep recursion",
        Outcome::Trap("call stack exhausted"),
        "(func $attack (call $attack) (call $attack))",
    ),
    (
        "deep recursion through the host and the allocator",
        Outcome::Trap("called its host from its allocator"),
        "(func $attack (drop (call $pairs (i32.const 0) (i32.const 0) (i32.const 4))))
        (func (export \"malloc\") (param i32) (result i32)
            (if (call $is_attacked) (then (call $attack)))
            (i32.const 65536))",
    ),
    (
        "division by zero",
        Outcome::Trap("integer divide by zero"),
        "(func $attack (drop (i32.div_u (i32.const 1) (i32.const 0))))",
    ),
    (
        "an allocator without memory",
        Outcome::Trap("returned 0x0 for"),
        "(func $attack (drop (call $pairs (i32.const 0) (i32.const 0) (i32.const 4))))
        (func (export \"malloc\") (param i32) (result i32)
            (select (i32.const 0) (i32.const 65536) (call $is_attacked)))",
    ),
    (
        "an allocator that returns what is out of bounds",
        Outcome::Trap("which is out of bounds"),
        "(func $attack (drop (call $pairs (i32.const 0) (i32.const 0) (i32.const 4))))
        (func (export \"malloc\") (param i32) (result i32)
            (select (i32.const -16) (i32.const 65536) (call $is_attacked)))",
    ),
    (
        "an allocator that returns what is in use",
        Outcome::Trap("which is in use"),
        "(func $attack (drop (call $pairs (i32.const 0) (i32.const 70000) (i32.const 4))))
        (func (export \"malloc\") (param i32) (result i32)
            (select (i32.const 69990) (i32.const 65536) (call $is_attacked)))",
    ),
    (
        "an allocator that does not return",
        Outcome::Time,
        "(func $attack (drop (call $pairs (i32.const 0) (i32.const 0) (i32.const 4))))
        (func (export \"malloc\") (param i32) (result i32)
            (if (call $is_attacked) (then (loop (br 0))))
            (i32.const 65536))",
    ),
    (
        "an allocator that traps",
        Outcome::Trap("unreachable"),
        "(func $attack (drop (call $pairs (i32.const 0) (i32.const 0) (i32.const 4))))
        (func (export \"malloc\") (param i32) (result i32)
            (if (call $is_attacked) (then unreachable))
            (i32.const 65536))",
    ),
];

/// Looks for the header without allocating: the request has 6 headers instead of 5.
const FRAME: &str = r#"
    (global $attacked (mut i32) (i32.const 0))
    (func $is_attacked (result i32) (global.get $attacked))
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (global.set $attacked (i32.eq (local.get 1) (i32.const 6)))
        (if (call $is_attacked) (then (call $attack)))
        (i32.const 0))
"#;

#[tokio::test]
async fn an_attack_costs_its_own_request() {
    for (name, outcome, code) in ATTACKS {
        let (plugin, _) = started_with(&format!("{FRAME}{code}"), |settings| {
            settings.limits.memory = 130 << 16;
            settings.limits.recycle = 130 << 16;
            settings.limits.time.headers = Duration::from_millis(20);
        })
        .await;
        let attack = headers(&plugin, &[("x-a", "1"), ("x-attack", "1")]).await;
        match (outcome, &attack) {
            (Outcome::Trap(expected), Err(PluginFailure::Trap { callback, reason })) => {
                assert_eq!(*callback, PluginCallback::RequestHeaders);
                assert!(reason.contains(expected), "{name}: {reason}");
            }
            (Outcome::Time, Err(PluginFailure::Time { limit, .. })) => {
                assert_eq!(*limit, Duration::from_millis(20), "{name}");
            }
            (Outcome::Continue, Ok(PluginStreamAction::Continue)) => {}
            _ => panic!("{name}: not {outcome:?} but {attack:?}"),
        }
        let next = headers(&plugin, &[("x-a", "1")]).await;
        assert_eq!(next, Ok(PluginStreamAction::Continue), "after {name}");
        let traps = u64::from(attack.is_err());
        assert_eq!(plugin.status().traps, traps, "{name}");
    }
}

#[tokio::test]
async fn a_flood_of_log_lines_is_dropped_and_counted() {
    let code = r#"
        (func $attack (local $count i32)
            (loop $more
                (drop (call $log (i32.const 4) {"0123456789012345678901234567890123456789"}))
                (local.set $count (i32.add (local.get $count) (i32.const 1)))
                (br_if $more (i32.lt_u (local.get $count) (i32.const 10000)))))"#;
    let (plugin, environment) = started_with(&format!("{FRAME}{code}"), |settings| {
        settings.limits.log = 1040;
        settings.limits.time.headers = Duration::from_secs(5);
    })
    .await;
    let step = headers(&plugin, &[("x-a", "1"), ("x-attack", "1")]).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    let logged = environment.messages();
    let lines = logged
        .iter()
        .filter(|line| line.starts_with("0123"))
        .count() as u64;
    // Ten lines for a second that begins full, and ten for each further second that the flood takes.
    assert!((10..200).contains(&lines), "{lines}");
    assert_eq!(plugin.status().dropped_log_lines + lines, 10_000);
}

#[tokio::test]
async fn a_trap_in_any_callback_of_a_stream_fails_that_callback_only() {
    let cases = [
        (PluginCallback::ContextCreate, "param i32 i32", ""),
        (
            PluginCallback::RequestHeaders,
            "param i32 i32 i32",
            "(result i32)",
        ),
        (
            PluginCallback::RequestBody,
            "param i32 i32 i32",
            "(result i32)",
        ),
        (
            PluginCallback::RequestTrailers,
            "param i32 i32",
            "(result i32)",
        ),
        (
            PluginCallback::ResponseHeaders,
            "param i32 i32 i32",
            "(result i32)",
        ),
        (
            PluginCallback::ResponseBody,
            "param i32 i32 i32",
            "(result i32)",
        ),
        (
            PluginCallback::ResponseTrailers,
            "param i32 i32",
            "(result i32)",
        ),
        (PluginCallback::Done, "param i32", "(result i32)"),
        (PluginCallback::Log, "param i32", ""),
        (PluginCallback::Delete, "param i32", ""),
    ];
    for (callback, parameters, result) in cases {
        // The root context has the id 1, and traps in none of these.
        let body = format!(
            r#"(func (export "{}") ({parameters}) {result}
                (if (i32.gt_u (local.get 0) (i32.const 1)) (then unreachable))
                {})"#,
            callback.name(),
            if result.is_empty() {
                ""
            } else {
                "(i32.const 0)"
            },
        );
        let (plugin, _) = started_with(&body, |_| {}).await;
        for round in 1..=2 {
            let failure = lifecycle(&plugin).await.unwrap_err();
            let PluginFailure::Trap {
                callback: at,
                reason,
            } = &failure
            else {
                panic!("{callback}: {failure}");
            };
            assert_eq!(*at, callback);
            assert!(reason.contains("unreachable"), "{reason}");
            assert_eq!(plugin.status().traps, round);
            assert_eq!(plugin.status().streams, 0);
        }
    }
}

#[tokio::test]
async fn a_trap_in_the_background_takes_the_instance_and_is_logged() {
    let body = r#"
        (func (export "proxy_on_configure") (param i32 i32) (result i32)
            (call $ok (call $tick (i32.const 10))) (i32.const 1))
        (func (export "proxy_on_tick") (param i32) unreachable)"#;
    let (plugin, environment) = started_with(body, |_| {}).await;
    until("the timer traps", || plugin.status().traps > 0).await;
    assert_eq!(plugin.status().instances, 0);
    let logged = environment.messages().join("\n");
    assert!(logged.contains("trap in proxy_on_tick"), "{logged}");
    assert!(plugin.open_stream().await.is_ok());
}

#[tokio::test]
async fn a_module_that_wants_a_larger_table_than_any_may_have_does_not_start() {
    let bytes = wat::parse_str(wat("(table 200000 funcref)")).unwrap();
    let settings = PluginModuleSettings::default();
    let error = PluginModule::from_bytes(&HOST, &bytes, &settings).unwrap_err();
    assert!(error.to_string().contains("table"), "{error}");
}

async fn headers(
    plugin: &Plugin,
    headers: &[(&str, &str)],
) -> Result<PluginStreamAction, PluginFailure> {
    let mut stream = plugin.open_stream().await?;
    let mut exchange = request(headers);
    let step = stream.on_request_headers(&mut exchange, true).await?;
    stream.finish(&mut exchange).await?;
    Ok(step)
}

/// All callbacks of a stream.
async fn lifecycle(plugin: &Plugin) -> Result<(), PluginFailure> {
    let mut stream = plugin.open_stream().await?;
    let mut exchange = answered(&[]);
    stream.on_request_headers(&mut exchange, false).await?;
    let body = Bytes::from_static(b"text");
    stream
        .on_request_body(&mut exchange, body.clone(), false)
        .await?;
    stream.on_request_trailers(&mut exchange).await?;
    stream.on_response_headers(&mut exchange, false).await?;
    stream.on_response_body(&mut exchange, body, true).await?;
    stream.on_response_trailers(&mut exchange).await?;
    stream.finish(&mut exchange).await
}

//! What Go's runtime does with WASI: it starts as a library, sleeps by polling, and reports panics on the standard error.

use super::environment::{CallScript, response};
use super::fixture::{END_OF_IMPORTS, request, started_with};
use crate::{PluginFailure, PluginLogLevel, PluginStreamAction};

/// Imports what the runtime imports. `$sleep` is how it sleeps: it polls with the time as its only subscription until the
/// time has come, and takes any error for one of its own. `$panic` writes a message in pieces, and exits.
///
/// As in Go's SDK, the callback for the response to a call panics on any context but the plugin's, and continues the stream
/// that made the call, whose id is at 512.
const GO: &str = r#"
    (func $fatal (call $exit (i32.const 2)) unreachable)
    (func $now (result i64)
        (if (call $clock (i32.const 1) (i64.const 0) (i32.const 32)) (then (call $fatal)))
        (i64.load (i32.const 32)))
    (func $sleep (param $nanoseconds i64)
        (local $until i64)
        (local.set $until (i64.add (call $now) (local.get $nanoseconds)))
        (loop $again
            (i32.store (i32.const 200) (i32.const 9))
            (if (call $poll (i32.const 128) (i32.const 192) (i32.const 1) (i32.const 200)) (then (call $fatal)))
            (if (i32.load (i32.const 200)) (then (call $fatal)))
            (br_if $again (i64.lt_u (call $now) (local.get $until)))))
    (func $write (param $at i32) (param $length i32)
        (i32.store (i32.const 16) (local.get $at))
        (i32.store (i32.const 20) (local.get $length))
        (drop (call $fd_write (i32.const 2) (i32.const 16) (i32.const 1) (i32.const 24))))
    (func $panic
        (call $write {"panic: "}) (call $write {"no such context"}) (call $write {"\0a\0a"})
        (call $write {"goroutine 1 [running]:"})
        (call $fatal))
    (func (export "_initialize")
        (if (call $random (i32.const 64) (i32.const 8)) (then (call $fatal)))
        (drop (call $yield))
        (call $sleep (i64.const 1000000)))
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (call $sleep (i64.const 1000000))
        (i32.store (i32.const 512) (local.get 0))
        (call $ok (call $http {"auth"}
            {"\02\00\00\00\07\00\00\00\04\00\00\00\05\00\00\00\06\00\00\00:method\00POST\00:path\00/check\00"}
            {""} {""} (i32.const 0) (i32.const 0)))
        (i32.const 1))
    (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
        (if (i32.ne (local.get 0) (i32.const ROOT)) (then (call $panic)))
        (call $ok (call $effective (i32.load (i32.const 512))))
        (call $ok (call $resume (i32.const 0))))"#;

const IMPORTS: &str = r#"
    (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_sizes_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_close" (func (param i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_fdstat_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_fdstat_set_flags" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_prestat_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_prestat_dir_name" (func (param i32 i32 i32) (result i32)))"#;

#[tokio::test]
async fn a_plugin_of_go_sleeps_calls_and_reports_its_panics() {
    for (root, is_known) in [("1", true), ("99", false)] {
        let text = format!("{IMPORTS}{END_OF_IMPORTS}\n{}", GO.replace("ROOT", root));
        let (plugin, environment) = started_with(&text, |settings| {
            settings.grants.http_call = vec!["auth".to_owned()];
        })
        .await;
        environment.script(CallScript::Response(response(200, "")));
        let mut stream = plugin.open_stream().await.unwrap();
        let step = stream.on_request_headers(&mut request(&[]), true).await;
        match is_known {
            true => {
                assert_eq!(step, Ok(PluginStreamAction::Continue));
                assert!(environment.messages().is_empty());
            }
            false => {
                assert_eq!(step, Err(PluginFailure::InstanceLost));
                let lines = environment.lines();
                let errors = lines.iter().filter(|line| line.0 == PluginLogLevel::Error);
                let errors: Vec<&str> = errors.map(|line| line.1.as_str()).collect();
                let panic = ["panic: no such context", "", "goroutine 1 [running]:"];
                assert_eq!(errors[..3], panic);
                assert!(errors[3].contains("the plugin exited with 2"), "{errors:?}");
            }
        }
    }
}

//! A plugin that is busy lets others run, and is not cut off by a caller who leaves.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::fixture::{request, started_with};
use crate::{PluginFailure, PluginStreamAction};

/// Runs until the clock of the host has advanced by as many milliseconds as the configuration has bytes.
const BUSY: &str = r#"
    (global $length (mut i32) (i32.const 0))
    (func (export "proxy_on_configure") (param i32 i32) (result i32)
        (global.set $length (local.get 1)) (i32.const 1))
    (func $now (result i64)
        (call $ok (call $time (i32.const 0)))
        (i64.load (i32.const 0)))
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (local $until i64)
        (local.set $until (i64.add (call $now)
            (i64.mul (i64.extend_i32_u (global.get $length)) (i64.const 1000000))))
        (loop $more (br_if $more (i64.lt_u (call $now) (local.get $until))))
        (call $ok (call $add (i32.const 0) {"x-busy"} {"done"}))
        (i32.const 0))"#;

#[tokio::test]
async fn another_task_of_the_same_thread_runs_at_least_once_for_each_millisecond() {
    const LIMIT: u64 = 50;
    let (plugin, _) = started_with(BUSY, |settings| {
        settings.configuration = vec![b'a'; 60_000].into();
        settings.limits.time.headers = Duration::from_millis(LIMIT);
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let turns = Rc::new(Cell::new(0_u64));
    let busy = stream.on_request_headers(&mut exchange, true);
    let others = async {
        loop {
            turns.set(turns.get() + 1);
            tokio::task::yield_now().await;
        }
    };
    let failure = tokio::select! {
        biased;
        step = busy => step.unwrap_err(),
        () = others => unreachable!("has no end"),
    };
    assert_eq!(failure.label(), "time");
    // The plugin yields once for each millisecond of its limit.
    assert!(turns.get() >= LIMIT, "{} turns", turns.get());
}

#[tokio::test]
async fn a_call_whose_caller_leaves_is_completed() {
    // Takes a number of milliseconds of any processor, however often others interrupt it.
    let body = r#"
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (local $count i32)
            (loop $more
                (local.set $count (i32.add (local.get $count) (i32.const 1)))
                (br_if $more (i32.lt_u (local.get $count) (i32.const 100000000))))
            (call $ok (call $add (i32.const 0) {"x-busy"} {"done"}))
            (i32.const 0))"#;
    let (plugin, _) = started_with(body, |settings| {
        settings.limits.time.headers = Duration::from_secs(10);
        settings.instances = 1;
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    tokio::select! {
        biased;
        step = stream.on_request_headers(&mut exchange, true) => panic!("{step:?}"),
        () = tokio::task::yield_now() => {}
    }
    drop(stream);
    // The next stream waits for the instance, which is as it was.
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_headers(&mut exchange, true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert_eq!(exchange.request.headers["x-busy"], "done");
    let status = plugin.status();
    assert_eq!((status.traps, status.instances), (0, 1));
}

#[tokio::test]
async fn a_stream_on_another_instance_does_not_wait_for_a_busy_one() {
    let body = BUSY.replace(
        "(local $until i64)",
        "(local $until i64) (if (i32.eq (local.get 1) (i32.const 4)) (then (return (i32.const 0))))",
    );
    let (plugin, _) = started_with(&body, |settings| {
        settings.configuration = vec![b'a'; 60_000].into();
        settings.limits.time.headers = Duration::from_millis(200);
    })
    .await;
    let mut busy = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[("x-a", "1")]);
    let busy = busy.on_request_headers(&mut exchange, true);
    let others = async {
        let mut served = 0;
        loop {
            let mut stream = plugin.open_stream().await.unwrap();
            let mut exchange = request(&[]);
            stream
                .on_request_headers(&mut exchange, true)
                .await
                .unwrap();
            stream.finish(&mut exchange).await.unwrap();
            served += 1;
            if served == 50 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let (step, ()) = tokio::join!(busy, others);
    assert!(matches!(step, Err(PluginFailure::Time { .. })), "{step:?}");
    assert_eq!(plugin.status().instances, 1);
}

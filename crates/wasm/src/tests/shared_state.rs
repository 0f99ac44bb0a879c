//! Data, queues and metrics that the instances of a plugin share.

use super::fixture::{request, started_with, until};
use crate::{MetricKind, MetricValue, Plugin, PluginStreamAction};

fn on_request_headers(code: &str) -> String {
    format!(
        r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            {code} (i32.const 0))"#
    )
}

async fn run(plugin: &Plugin) {
    let mut stream = plugin.open_stream().await.unwrap();
    let step = stream.on_request_headers(&mut request(&[]), true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
}

#[tokio::test]
async fn shared_data_has_versions_and_a_limit() {
    let code = r#"
        (call $is (call $get_shared {"k"} (i32.const 0) (i32.const 4) (i32.const 8)) (i32.const 1))
        (call $ok (call $set_shared {"k"} {"one"} (i32.const 0)))
        (call $ok (call $get_shared {"k"} (i32.const 0) (i32.const 4) (i32.const 8)))
        (call $is (i32.load (i32.const 4)) (i32.const 3))
        (call $ok (call $set_shared {"k"} {"two"} (i32.load (i32.const 8))))
        (call $is (call $set_shared {"k"} {"three"} (i32.load (i32.const 8))) (i32.const 8))
        (call $is (call $set_shared {"new"} {"a"} (i32.const 7)) (i32.const 8))
        (call $is (call $set_shared {"big"} (i32.const 0) (i32.const 1000) (i32.const 0))
            (i32.const 10))"#;
    let (plugin, _) = started_with(&on_request_headers(code), |settings| {
        settings.grants.shared_data = true;
        settings.limits.shared = 1000;
    })
    .await;
    run(&plugin).await;
}

#[tokio::test]
async fn data_and_queues_need_a_grant() {
    let code = r#"
        (call $is (call $set_shared {"k"} {"v"} (i32.const 0)) (i32.const 12))
        (call $is (call $get_shared {"k"} (i32.const 0) (i32.const 4) (i32.const 8)) (i32.const 12))
        (call $is (call $register {"q"} (i32.const 0)) (i32.const 12))"#;
    let (plugin, _) = started_with(&on_request_headers(code), |_| {}).await;
    run(&plugin).await;
}

#[tokio::test]
async fn entries_of_a_queue_reach_an_instance_that_listens() {
    let body = r#"
        (global $queue (mut i32) (i32.const 0))
        (func (export "proxy_on_configure") (param i32 i32) (result i32)
            (call $ok (call $register {"q"} (i32.const 0)))
            (global.set $queue (i32.load (i32.const 0)))
            (i32.const 1))
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (call $ok (call $resolve {""} {"q"} (i32.const 0)))
            (call $is (i32.load (i32.const 0)) (global.get $queue))
            (call $is (call $resolve {""} {"other"} (i32.const 0)) (i32.const 1))
            (call $is (call $dequeue (global.get $queue) (i32.const 0) (i32.const 4))
                (i32.const 7))
            (call $is (call $enqueue (i32.const 99) {"x"}) (i32.const 1))
            (call $ok (call $enqueue (global.get $queue) {"one"}))
            (call $ok (call $enqueue (global.get $queue) {"two"}))
            (i32.const 0))
        (func (export "proxy_on_queue_ready") (param i32 i32)
            (call $is (local.get 1) (global.get $queue))
            (call $ok (call $dequeue (global.get $queue) (i32.const 0) (i32.const 4)))
            (drop (call $log (i32.const 2) (i32.load (i32.const 0)) (i32.load (i32.const 4)))))"#;
    let (plugin, environment) =
        started_with(body, |settings| settings.grants.shared_data = true).await;
    run(&plugin).await;
    let lines = || environment.messages().len();
    until("both entries arrive", || lines() == 2).await;
    assert_eq!(environment.messages(), ["one", "two"]);
}

#[tokio::test]
async fn metrics_are_counted_over_all_instances() {
    let code = r#"
        (call $ok (call $define (i32.const 0) {"requests"} (i32.const 0)))
        (call $ok (call $define (i32.const 1) {"level"} (i32.const 4)))
        (call $ok (call $define (i32.const 2) {"size"} (i32.const 8)))
        (call $is (call $define (i32.const 1) {"requests"} (i32.const 12)) (i32.const 2))
        (call $is (call $define (i32.const 1) {""} (i32.const 12)) (i32.const 2))
        (call $is (call $define (i32.const 1) {"one too many"} (i32.const 12)) (i32.const 10))
        (call $ok (call $increment (i32.load (i32.const 0)) (i64.const 2)))
        (call $is (call $increment (i32.load (i32.const 0)) (i64.const -1)) (i32.const 2))
        (call $ok (call $record (i32.load (i32.const 4)) (i64.const 7)))
        (call $ok (call $increment (i32.load (i32.const 4)) (i64.const -3)))
        (call $ok (call $record (i32.load (i32.const 8)) (i64.const 10)))
        (call $is (call $increment (i32.load (i32.const 8)) (i64.const 1)) (i32.const 2))
        (call $ok (call $metric (i32.load (i32.const 4)) (i32.const 16)))
        (call $is (i32.load (i32.const 16)) (i32.const 4))
        (call $is (call $metric (i32.load (i32.const 8)) (i32.const 16)) (i32.const 2))
        (call $is (call $metric (i32.const 99) (i32.const 16)) (i32.const 1))"#;
    let (plugin, _) = started_with(&on_request_headers(code), |settings| {
        settings.limits.metrics = 3;
    })
    .await;
    let _other = plugin.open_stream().await.unwrap();
    run(&plugin).await;
    drop(_other);
    run(&plugin).await;
    let metrics = plugin.metrics();
    let kinds: Vec<_> = metrics.iter().map(|m| (m.name.as_str(), m.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("requests", MetricKind::Counter),
            ("level", MetricKind::Gauge),
            ("size", MetricKind::Histogram),
        ]
    );
    assert_eq!(metrics[0].value, MetricValue::Number(4));
    assert_eq!(metrics[1].value, MetricValue::Number(4));
    let MetricValue::Histogram {
        count,
        sum,
        buckets,
    } = &metrics[2].value
    else {
        panic!("{metrics:?}");
    };
    assert_eq!((*count, *sum), (2, 20));
    assert_eq!(buckets[..4], [(1, 0), (4, 0), (16, 2), (64, 2)]);
}

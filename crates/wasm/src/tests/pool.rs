//! The instances of a plugin: how many there are, which of them a stream gets, and when they end.

use std::time::Duration;

use super::fixture::{module, request, started_with};
use crate::trap_breaker::TRAPS_MAX;
use crate::{
    Plugin, PluginFailure, PluginHost, PluginHostSettings, PluginModule, PluginModuleSettings,
    PluginSettings, PluginStream, PluginStreamAction,
};

/// Traps for a request with a header.
const TRAPS: &str = r#"
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (if (i32.gt_u (local.get 1) (i32.const 4)) (then unreachable))
        (i32.const 0))"#;

#[tokio::test]
async fn streams_share_an_instance_only_when_there_are_as_many_as_allowed() {
    let (plugin, _) = started_with("", |settings| settings.instances = 2).await;
    assert_eq!(plugin.status().instances, 1);
    let first = plugin.open_stream().await.unwrap();
    assert_eq!(plugin.status().instances, 1);
    let second = plugin.open_stream().await.unwrap();
    assert_eq!(plugin.status().instances, 2);
    let third = plugin.open_stream().await.unwrap();
    let status = plugin.status();
    assert_eq!((status.instances, status.streams), (2, 3));
    drop((first, second, third));
    let _again = plugin.open_stream().await.unwrap();
    let status = plugin.status();
    assert_eq!((status.instances, status.streams), (2, 1));
}

#[tokio::test]
async fn a_trap_takes_the_other_streams_of_its_instance_only() {
    let (plugin, _) = started_with(TRAPS, |settings| settings.instances = 2).await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        let mut stream = plugin.open_stream().await.unwrap();
        assert_eq!(
            headers(&mut stream, &[]).await,
            Ok(PluginStreamAction::Continue)
        );
        streams.push(stream);
    }
    let failure = headers(&mut streams[0], &[("x-a", "1")]).await;
    assert_eq!(failure.unwrap_err().label(), "trap");
    let mut lost = 0;
    for stream in &mut streams[1..] {
        match headers(stream, &[]).await {
            Ok(PluginStreamAction::Continue) => {}
            Err(PluginFailure::InstanceLost) => lost += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(lost, 1);
    // The lost stream's exchange and body are the program's again.
    let mut exchange = request(&[("x-b", "1")]);
    let lost = &mut streams[2];
    let step = lost
        .on_request_body(&mut exchange, "text".into(), true)
        .await;
    assert_eq!(step, Err(PluginFailure::InstanceLost));
    assert_eq!(exchange.request.headers["x-b"], "1");
}

#[tokio::test]
async fn a_stream_without_a_callback_moves_from_an_instance_that_fails() {
    let (plugin, _) = started_with(TRAPS, |settings| settings.instances = 1).await;
    let mut one = plugin.open_stream().await.unwrap();
    let mut two = plugin.open_stream().await.unwrap();
    headers(&mut one, &[("x-a", "1")]).await.unwrap_err();
    assert_eq!(
        headers(&mut two, &[]).await,
        Ok(PluginStreamAction::Continue)
    );
    drop(one);
    assert_eq!(plugin.status().streams, 1);
}

#[tokio::test]
async fn a_stream_without_a_callback_gets_everything_back_if_the_plugin_is_disabled() {
    let (plugin, _) = started_with(TRAPS, |settings| settings.instances = 1).await;
    let mut first = plugin.open_stream().await.unwrap();
    let mut waiting = plugin.open_stream().await.unwrap();
    headers(&mut first, &[("x-a", "1")]).await.unwrap_err();
    for _ in 1..TRAPS_MAX {
        let mut stream = plugin.open_stream().await.unwrap();
        headers(&mut stream, &[("x-a", "1")]).await.unwrap_err();
    }
    let mut exchange = request(&[("x-b", "1")]);
    let step = waiting.on_request_body(&mut exchange, "text".into(), true);
    assert_eq!(step.await.unwrap_err().label(), "disabled");
    assert_eq!(exchange.request.headers["x-b"], "1");
    assert_eq!(waiting.take_held().0, "text");
    let step = waiting.on_request_body(&mut exchange, "more".into(), true);
    assert_eq!(step.await, Err(PluginFailure::InstanceLost));
}

#[tokio::test]
async fn repeated_traps_disable_the_plugin_for_a_while() {
    let (plugin, _) = started_with(TRAPS, |_| {}).await;
    for trap in 1..=TRAPS_MAX {
        let mut stream = plugin.open_stream().await.unwrap();
        headers(&mut stream, &[("x-a", "1")]).await.unwrap_err();
        assert_eq!(plugin.status().disabled_for.is_some(), trap == TRAPS_MAX);
    }
    let failure = plugin.open_stream().await.unwrap_err();
    let PluginFailure::Disabled { retry_after } = failure else {
        panic!("{failure}");
    };
    assert!(retry_after <= Duration::from_secs(1), "{retry_after:?}");
    tokio::time::sleep(retry_after).await;
    let mut stream = plugin.open_stream().await.unwrap();
    assert_eq!(
        headers(&mut stream, &[]).await,
        Ok(PluginStreamAction::Continue)
    );
}

#[tokio::test]
async fn an_instance_that_does_not_start_again_disables_the_plugin() {
    // The first instance takes the only entry of a queue; those without one refuse to start.
    let body = r#"
        (func (export "proxy_on_configure") (param i32 i32) (result i32)
            (call $ok (call $register {"q"} (i32.const 0)))
            (if (call $get_shared {"used"} (i32.const 4) (i32.const 8) (i32.const 12)) (then
                (call $ok (call $set_shared {"used"} {"1"} (i32.const 0)))
                (return (i32.const 1))))
            (i32.const 0))"#;
    let (plugin, _) = started_with(body, |settings| settings.grants.shared_data = true).await;
    let _first = plugin.open_stream().await.unwrap();
    let failure = plugin.open_stream().await.unwrap_err();
    assert_eq!(failure.label(), "instance");
    let failure = plugin.open_stream().await.unwrap_err();
    assert_eq!(failure.label(), "disabled");
}

#[tokio::test]
async fn an_instance_whose_memory_has_grown_takes_no_more_streams() {
    let body = r#"
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (drop (memory.grow (i32.const 8)))
            (i32.const 0))"#;
    let (plugin, _) = started_with(body, |settings| {
        settings.instances = 1;
        settings.limits.recycle = 16 << 16;
    })
    .await;
    // 2 pages at first; 18 after the second request.
    for expected in [0, 1, 1, 2] {
        let mut stream = plugin.open_stream().await.unwrap();
        let step = headers(&mut stream, &[]).await;
        assert_eq!(step, Ok(PluginStreamAction::Continue));
        assert_eq!(plugin.status().recycled, expected);
        stream.finish(&mut request(&[])).await.unwrap();
    }
    assert_eq!(plugin.status().traps, 0);
}

#[tokio::test]
async fn an_instance_that_is_large_from_its_start_takes_one_stream() {
    let body = r#"
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 0))"#;
    let (plugin, _) = started_with(body, |settings| settings.limits.recycle = 1 << 16).await;
    for streams in 1..4 {
        let mut stream = plugin.open_stream().await.unwrap();
        let step = headers(&mut stream, &[]).await;
        assert_eq!(step, Ok(PluginStreamAction::Continue));
        // That of the start is one of them.
        assert_eq!(plugin.status().recycled, streams + 1);
        stream.finish(&mut request(&[])).await.unwrap();
    }
    assert_eq!(plugin.status().memory, 0);
}

#[tokio::test]
async fn a_stream_on_a_retired_instance_goes_on() {
    let body = r#"
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (drop (memory.grow (i32.const 20))) (i32.const 0))
        (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.const 0))"#;
    let (plugin, _) = started_with(body, |settings| settings.limits.recycle = 16 << 16).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    stream
        .on_request_headers(&mut exchange, false)
        .await
        .unwrap();
    assert_eq!(plugin.status().instances, 0);
    assert!(plugin.status().memory >= 22 << 16);
    let step = stream
        .on_request_body(&mut exchange, "text".into(), true)
        .await;
    assert!(step.is_ok());
    stream.finish(&mut exchange).await.unwrap();
    assert_eq!(plugin.status().memory, 0);
}

#[tokio::test]
async fn instances_end_with_the_plugin_and_its_last_stream() {
    let settings = PluginHostSettings {
        instances: 3,
        ..PluginHostSettings::default()
    };
    let host = PluginHost::new(&settings).unwrap();
    let bytes = wat::parse_str(super::fixture::wat(TRAPS)).unwrap();
    let module = PluginModule::from_bytes(&host, &bytes, &PluginModuleSettings::default());
    let module = module.unwrap();
    let start = async || {
        let environment = std::sync::Arc::new(super::environment::TestEnvironment::default());
        Plugin::start(&module, PluginSettings::named("reloaded"), environment).await
    };
    let first = start().await.unwrap();
    let mut open = first.open_stream().await.unwrap();
    headers(&mut open, &[]).await.unwrap();
    drop(first);
    // More reloads than the host has room for.
    for _ in 0..10 {
        let plugin = start().await.unwrap();
        let mut stream = plugin.open_stream().await.unwrap();
        headers(&mut stream, &[]).await.unwrap();
        stream.finish(&mut request(&[])).await.unwrap();
    }
    assert_eq!(
        headers(&mut open, &[]).await,
        Ok(PluginStreamAction::Continue)
    );
    let (_one, _two) = (start().await.unwrap(), start().await.unwrap());
    let failure = start().await.map(drop).unwrap_err().to_string();
    assert!(failure.contains("no instance can be made"), "{failure}");
}

#[tokio::test]
async fn plugins_of_one_module_do_not_share_memory() {
    let body = r#"
        (global $count (mut i32) (i32.const 0))
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (call $is (global.get $count) (i32.const 0))
            (global.set $count (i32.const 1))
            (i32.const 0))"#;
    let module = module(body);
    for _ in 0..3 {
        let environment = std::sync::Arc::new(super::environment::TestEnvironment::default());
        let plugin = Plugin::start(&module, PluginSettings::named("one"), environment).await;
        let mut stream = plugin.unwrap().open_stream().await.unwrap();
        assert_eq!(
            headers(&mut stream, &[]).await,
            Ok(PluginStreamAction::Continue)
        );
    }
}

async fn headers(
    stream: &mut PluginStream,
    headers: &[(&str, &str)],
) -> Result<PluginStreamAction, PluginFailure> {
    let mut exchange = request(headers);
    stream.on_request_headers(&mut exchange, false).await
}

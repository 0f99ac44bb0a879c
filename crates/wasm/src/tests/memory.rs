//! Memory of all instances together.

use std::sync::Arc;
use std::time::Duration;

use super::environment::TestEnvironment;
use super::fixture::{request, until, wat};
use crate::{
    Plugin, PluginFailure, PluginHost, PluginHostSettings, PluginModule, PluginModuleSettings,
    PluginSettings, PluginStartError, PluginStreamAction,
};

const PAGE: usize = 64 << 10;

/// Has two pages of memory, and grows by 16 in each request. It traps if it cannot, unless the header `x-mild` is there.
const GROWING: &str = r#"
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then
            (call $ok (call $value (i32.const 0) {"x-mild"} (i32.const 0) (i32.const 4)))))
        (i32.const 0))"#;

/// A host of its own, whose instances have this many pages together.
fn host(pages: usize) -> PluginHost {
    PluginHost::new(&PluginHostSettings {
        instances: 64,
        memory_total: pages * PAGE,
        ..PluginHostSettings::default()
    })
    .unwrap()
}

async fn start(
    host: &PluginHost,
    change: impl FnOnce(&mut PluginSettings),
) -> Result<Plugin, PluginStartError> {
    let bytes = wat::parse_str(wat(GROWING)).unwrap();
    let module = PluginModule::from_bytes(host, &bytes, &PluginModuleSettings::default()).unwrap();
    let mut settings = PluginSettings::named("test");
    settings.limits.pause = Duration::from_millis(20);
    change(&mut settings);
    Plugin::start(&module, settings, Arc::new(TestEnvironment::default())).await
}

#[tokio::test]
async fn growth_beyond_the_memory_of_all_instances_fails_the_request_but_does_not_disable_the_plugin()
 {
    let host = host(30);
    let plugin = start(&host, |_| {}).await.unwrap();
    let mut first = plugin.open_stream().await.unwrap();
    let step = first.on_request_headers(&mut request(&[]), true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert_eq!(host.memory_taken(), 18 * PAGE);
    // More often than a plugin may trap.
    for _ in 0..8 {
        let mut stream = plugin.open_stream().await.unwrap();
        let step = stream.on_request_headers(&mut request(&[]), true).await;
        let limit = 30 * PAGE;
        assert_eq!(step, Err(PluginFailure::Memory { limit }));
    }
    let mut stream = plugin.open_stream().await.unwrap();
    let mild = &mut request(&[("x-mild", "1")]);
    let step = stream.on_request_headers(mild, true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    assert_eq!(plugin.status().traps, 0);
    assert_eq!(plugin.status().disabled_for, None);
    drop((first, stream, plugin));
    until("all memory is given back", || host.memory_taken() == 0).await;
}

#[tokio::test]
async fn requests_share_an_instance_if_there_is_no_memory_for_another() {
    let host = host(5);
    let plugin = start(&host, |_| {}).await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..6 {
        streams.push(plugin.open_stream().await.unwrap());
    }
    assert_eq!(plugin.status().instances, 2);
    assert_eq!(host.memory_taken(), 4 * PAGE);
}

#[tokio::test]
async fn idle_instances_make_room_for_others_but_one_of_each_plugin_stays() {
    let host = host(8);
    let plugin = start(&host, |_| {}).await.unwrap();
    let streams = [
        plugin.open_stream().await.unwrap(),
        plugin.open_stream().await.unwrap(),
        plugin.open_stream().await.unwrap(),
    ];
    drop(streams);
    assert_eq!(plugin.status().instances, 3);
    let another = start(&host, |_| {}).await.unwrap();
    assert_eq!(plugin.status().instances, 3);
    let streams = [
        another.open_stream().await.unwrap(),
        another.open_stream().await.unwrap(),
    ];
    assert_eq!(another.status().instances, 2);
    assert_eq!(plugin.status().instances, 1);
    drop(streams);
}

#[tokio::test]
async fn a_request_without_any_instance_waits_for_memory_and_fails_after_the_pause() {
    let host = host(20);
    let plugin = start(&host, |_| {}).await.unwrap();
    let other = start(&host, |_| {}).await.unwrap();
    let mut streams = [
        other.open_stream().await.unwrap(),
        plugin.open_stream().await.unwrap(),
    ];
    let step = streams[0].on_request_headers(&mut request(&[]), true).await;
    assert_eq!(step, Ok(PluginStreamAction::Continue));
    // This growth is refused, which ends the only instance of the plugin.
    let step = streams[1].on_request_headers(&mut request(&[]), true).await;
    let limit = 20 * PAGE;
    assert_eq!(step, Err(PluginFailure::Memory { limit }));
    let limit = 18 * PAGE;
    host.set_memory_total(limit);
    let refused = plugin.open_stream().await.unwrap_err();
    assert_eq!(refused, PluginFailure::Memory { limit });
    // With room there is an instance at once.
    drop((streams, other));
    assert!(plugin.open_stream().await.is_ok());
    host.set_memory_total(2 * PAGE);
    let error = start(&host, |_| {}).await.unwrap_err().to_string();
    assert!(
        error.contains("the instances of all plugins have"),
        "{error}"
    );
}

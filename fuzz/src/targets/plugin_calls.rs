//! Host functions of plugins: any sequence of calls with any arguments ends in a status or a trap, within the limits.
//!
//! An input is a script for the plugin below: a byte for the function, and one for each of its arguments.

mod checked_services;
mod guest;

use bytes::Bytes;
use checked_services::{CheckedProperties, CheckedServices};
use guest::guest_module;
use headgate_wasm::{
    LentExchange, Plugin, PluginBodyAction, PluginHost, PluginHostSettings, PluginModule,
    PluginModuleSettings, PluginRequestHead, PluginResponseHead, PluginSettings, PluginStream,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Size of the part of an input that is a script, in bytes.
const SCRIPT_BYTES_MAX: usize = 1 << 10;
const BODY_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 16;
const HEADER_BYTES_MAX: usize = 4 << 10;
/// How often the end of a plugin's instances is waited for, a pause each time.
const WAITS_MAX: u32 = 1_000;
/// Longest line that a plugin may log, in bytes.
const LINE_BYTES_MAX: usize = 4 << 10;

static MODULE: LazyLock<PluginModule> = LazyLock::new(|| {
    let settings = PluginHostSettings {
        instances: 8,
        memory: 1 << 20,
        memory_total: 16 << 20,
        ..PluginHostSettings::default()
    };
    let host = PluginHost::new(&settings).expect("the host has what it needs");
    let module = wat::parse_str(guest_module()).expect("the text is a module");
    let module = PluginModule::from_bytes(&host, &module, &PluginModuleSettings::default());
    module.expect("the module is a plugin")
});

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("the system has a clock");
}

pub fn run(input: &[u8]) {
    let script = &input[..input.len().min(SCRIPT_BYTES_MAX)];
    RUNTIME.with(|runtime| runtime.block_on(run_script(Bytes::copy_from_slice(script))));
}

async fn run_script(script: Bytes) {
    let services = Arc::new(CheckedServices::default());
    run_plugin(&services, script).await;
    assert!(services.calls() <= SCRIPT_BYTES_MAX * 8);
    wait_for_end(&services).await;
}

async fn run_plugin(services: &Arc<CheckedServices>, script: Bytes) {
    let plugin = Plugin::start(&MODULE, settings(), services.clone()).await;
    let plugin = plugin.expect("the plugin starts");
    let stream = plugin.open_stream().await.expect("the plugin is started");
    let mut exchange = exchange();
    // A failure ends the stream, and is one of the outcomes.
    let _ = drive(stream, &mut exchange, script).await;
    check_exchange(&exchange);
    let status = plugin.status();
    assert!(status.memory <= 1 << 20, "{status:?}");
    assert!(plugin.metrics().len() <= settings().limits.metrics);
}

/// The instances of a plugin end soon after it, with all that they have: their timers, calls and queues call nothing any more.
async fn wait_for_end(services: &Arc<CheckedServices>) {
    for _ in 0..WAITS_MAX {
        if Arc::strong_count(services) == 1 {
            return;
        }
        tokio::time::sleep(settings().limits.pause).await;
    }
    panic!("an instance goes on after its plugin");
}

async fn drive(
    mut stream: PluginStream,
    exchange: &mut LentExchange,
    script: Bytes,
) -> Result<(), headgate_wasm::PluginFailure> {
    stream.on_request_headers(exchange, false).await?;
    // The body is the script, which the plugin runs in each callback from here on.
    check_body(stream.on_request_body(exchange, script, true).await?);
    exchange.response = Some(PluginResponseHead {
        status: StatusCode::OK,
        headers: headers(&[("content-type", "application/json"), ("x-b", "1")]),
    });
    stream.on_response_headers(exchange, false).await?;
    let body = Bytes::from_static(b"{\"id\":\"r1\"}");
    check_body(stream.on_response_body(exchange, body, true).await?);
    stream.finish(exchange).await
}

fn check_body(action: PluginBodyAction) {
    match action {
        PluginBodyAction::Continue(body) => assert!(body.len() <= BODY_BYTES_MAX),
        PluginBodyAction::Reply(reply) => {
            assert!(reply.body.len() <= BODY_BYTES_MAX);
            check_headers(&reply.headers);
        }
        PluginBodyAction::Hold | PluginBodyAction::Close => {}
    }
}

fn check_exchange(exchange: &LentExchange) {
    check_headers(&exchange.request.headers);
    if let Some(response) = &exchange.response {
        check_headers(&response.headers);
    }
    let hidden = exchange.request.headers.get("authorization");
    assert_eq!(
        hidden.map(HeaderValue::as_bytes),
        Some(&b"Bearer secret"[..])
    );
}

/// Headers keep to the limits, a hidden one aside.
fn check_headers(headers: &HeaderMap) {
    assert!(
        headers.len() <= HEADERS_MAX + 1,
        "{} headers",
        headers.len()
    );
    let sizes = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    assert!(sizes.sum::<usize>() <= HEADER_BYTES_MAX + 100);
}

fn settings() -> PluginSettings {
    let mut settings = PluginSettings::named("fuzz");
    settings.limits.memory = 256 << 10;
    settings.limits.recycle = 256 << 10;
    settings.limits.body = BODY_BYTES_MAX;
    settings.limits.headers = HEADERS_MAX;
    settings.limits.header_bytes = HEADER_BYTES_MAX;
    settings.limits.pause = Duration::from_millis(1);
    settings.limits.shared = 4 << 10;
    settings.limits.metrics = 8;
    settings.limits.http_calls = 4;
    settings.grants.http_call = vec!["up".into()];
    settings.grants.shared_data = true;
    settings.grants.hidden_headers = vec![http::header::AUTHORIZATION];
    settings.configuration = Bytes::from_static(b"configuration");
    settings
}

fn exchange() -> LentExchange {
    LentExchange {
        request: PluginRequestHead {
            scheme: "https".into(),
            authority: "gate.example".into(),
            path: "/v1/chat?trace=1".into(),
            headers: headers(&[
                ("x-a", "1"),
                ("x-a", "2"),
                ("authorization", "Bearer secret"),
            ]),
            ..PluginRequestHead::default()
        },
        properties: Some(Arc::new(CheckedProperties)),
        request_trailers: Some(Box::new(headers(&[("x-t", "1")]))),
        ..LentExchange::default()
    }
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| {
        let value = HeaderValue::from_static(value);
        (HeaderName::from_static(name), value)
    });
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(name, value);
    }
    map
}

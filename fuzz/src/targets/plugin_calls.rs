//! Host functions of plugins: any sequence of calls with any arguments ends in a status or a trap, within the limits.
//!
//! An input is a script for the plugin below, a byte for the function and one for each of its arguments, and after a line with
//! `--` words for what else differs.

mod checked_services;
mod guest;
mod script_options;

use crate::input::parts;
use bytes::Bytes;
use checked_services::{CheckedProperties, CheckedServices};
use guest::guest_module;
use headgate_wasm::{
    LentExchange, Plugin, PluginBodyAction, PluginFailure, PluginHost, PluginHostSettings,
    PluginModule, PluginModuleSettings, PluginRequestHead, PluginResponseHead, PluginSettings,
    PluginStream, PluginStreamAction, PropertyValue,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use script_options::ScriptOptions;
use std::collections::BTreeMap;
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
/// How long a stream that a plugin holds waits.
const PAUSE: Duration = Duration::from_millis(1);
/// The shortest period of a plugin's timer.
const TICK_PERIOD_MIN: Duration = Duration::from_millis(10);
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
    let [script, words] = parts(input);
    let script = Bytes::copy_from_slice(&script[..script.len().min(SCRIPT_BYTES_MAX)]);
    let options = ScriptOptions::new(words);
    RUNTIME.with(|runtime| runtime.block_on(run_script(script, options)));
}

async fn run_script(script: Bytes, options: ScriptOptions) {
    let services = Arc::new(CheckedServices::default());
    run_plugin(&services, script, options).await;
    // A plugin may call again from each response, as long as it is there.
    assert!(options.waits || services.calls() <= SCRIPT_BYTES_MAX * 16);
    wait_for_end(&services).await;
}

async fn run_plugin(services: &Arc<CheckedServices>, script: Bytes, options: ScriptOptions) {
    let settings = plugin_settings(&script, options);
    let metrics_max = settings.limits.metrics;
    let Ok(plugin) = Plugin::start(&MODULE, settings, services.clone()).await else {
        assert!(options.runs_in_root, "the plugin starts");
        return;
    };
    // Of an instance that both share, the other stream has no exchange while this one is called.
    let other = match options.has_other_stream {
        true => open_idle_stream(&plugin).await,
        false => None,
    };
    if let Ok(stream) = plugin.open_stream().await {
        let mut exchange = exchange(options);
        // A failure ends the stream, and is one of the outcomes.
        let _ = drive(stream, &mut exchange, script, options).await;
        check_exchange(&exchange);
    }
    if options.waits {
        tokio::time::sleep(TICK_PERIOD_MIN * 2).await;
    }
    drop(other);
    let status = plugin.status();
    assert!(status.memory <= 1 << 20, "{status:?}");
    assert!(plugin.metrics().len() <= metrics_max);
}

async fn open_idle_stream(plugin: &Plugin) -> Option<PluginStream> {
    let mut stream = plugin.open_stream().await.ok()?;
    let mut exchange = LentExchange::default();
    let nothing = Bytes::new();
    stream
        .on_request_body(&mut exchange, nothing, false)
        .await
        .ok()?;
    Some(stream)
}

/// The instances of a plugin end soon after it, with all that they have: their timers, calls and queues call nothing any more.
async fn wait_for_end(services: &Arc<CheckedServices>) {
    for _ in 0..WAITS_MAX {
        if Arc::strong_count(services) == 1 {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("an instance goes on after its plugin");
}

async fn drive(
    mut stream: PluginStream,
    exchange: &mut LentExchange,
    script: Bytes,
    options: ScriptOptions,
) -> Result<(), PluginFailure> {
    let action = stream.on_request_headers(exchange, false).await?;
    go_on(&mut stream, exchange, action).await?;
    // The body is the script, which the plugin runs in each callback from here on.
    let ends = !options.has_trailers;
    check_body(stream.on_request_body(exchange, script, ends).await?);
    if options.has_trailers {
        let action = stream.on_request_trailers(exchange).await?;
        go_on(&mut stream, exchange, action).await?;
    }
    exchange.response = Some(PluginResponseHead {
        status: StatusCode::OK,
        headers: headers(&[("content-type", "application/json"), ("x-b", "1")]),
    });
    let action = stream.on_response_headers(exchange, false).await?;
    go_on(&mut stream, exchange, action).await?;
    if options.has_trailers {
        let event = Bytes::from_static(b"data: 1\n\n");
        check_body(stream.on_response_event(exchange, event).await?);
        exchange.response_trailers = Some(Box::new(headers(&[("x-t", "1")])));
    }
    let body = Bytes::from_static(b"{\"id\":\"r1\"}");
    check_body(stream.on_response_body(exchange, body, ends).await?);
    if options.has_trailers {
        let action = stream.on_response_trailers(exchange).await?;
        go_on(&mut stream, exchange, action).await?;
    }
    stream.finish(exchange).await
}

/// Waits until the plugin continues a stream that it holds, or fails to.
async fn go_on(
    stream: &mut PluginStream,
    exchange: &mut LentExchange,
    action: PluginStreamAction,
) -> Result<(), PluginFailure> {
    if action == PluginStreamAction::Hold {
        check_body(stream.resumed(exchange).await?);
    }
    Ok(())
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

fn plugin_settings(script: &Bytes, options: ScriptOptions) -> PluginSettings {
    let mut settings = PluginSettings::named("fuzz");
    settings.limits.memory = 256 << 10;
    settings.limits.recycle = 256 << 10;
    settings.limits.body = BODY_BYTES_MAX;
    settings.limits.headers = HEADERS_MAX;
    settings.limits.header_bytes = HEADER_BYTES_MAX;
    settings.limits.pause = PAUSE;
    settings.limits.shared = 4 << 10;
    settings.limits.metrics = 8;
    settings.limits.http_calls = 4;
    if options.is_granted {
        settings.grants.http_call = vec!["up".into()];
        settings.grants.shared_data = true;
    }
    settings.grants.hidden_headers = vec![http::header::AUTHORIZATION];
    let supplied = PropertyValue::Text("supplied".into());
    settings.properties = BTreeMap::from([("queue".into(), supplied)]);
    if options.has_other_stream {
        settings.instances = 1;
    }
    if options.runs_in_root {
        settings.vm_configuration = script.clone();
    }
    settings.configuration = Bytes::from_static(b"configuration");
    settings
}

fn exchange(options: ScriptOptions) -> LentExchange {
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
        request_trailers: options
            .has_trailers
            .then(|| Box::new(headers(&[("x-t", "1")]))),
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

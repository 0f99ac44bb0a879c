//! The host function that sends an HTTP request of a plugin.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use wasmtime::Linker;

use super::contexts::plain_headers;
use super::env::ENV;
use super::memory::{GuestCaller, parts, put, slice, text};
use super::pairs::{Pair, decode};
use crate::abi_status::{AbiStatus, report};
use crate::guest_state::{BackgroundCall, GuestState, HttpCallTask};
use crate::host_services::{PluginHttpCall, PluginHttpResponse, PluginLogLevel};
use crate::plugin_resources::{HttpCallPermit, SharedInstanceResources};
use crate::settings::PluginLimits;

pub(super) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_http_call",
        |mut caller: GuestCaller<'_>,
         upstream: u32,
         upstream_length: u32,
         headers: u32,
         headers_length: u32,
         body: u32,
         body_length: u32,
         trailers: u32,
         trailers_length: u32,
         timeout: u32,
         id_at: u32| {
            let places = [
                (upstream, upstream_length),
                (headers, headers_length),
                (body, body_length),
                (trailers, trailers_length),
            ];
            let timeout = Duration::from_millis(timeout.into());
            report(call(&mut caller, places, timeout, id_at))
        },
    )?;
    Ok(())
}

fn call(
    caller: &mut GuestCaller<'_>,
    [upstream, headers, body, trailers]: [(u32, u32); 4],
    timeout: Duration,
    id_at: u32,
) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let plugin = Arc::clone(&state.plugin);
    let upstream = text(memory, upstream.0, upstream.1)?;
    if !plugin
        .settings
        .grants
        .http_call
        .iter()
        .any(|n| n == upstream)
    {
        let line = format!("the upstream `{upstream}` is not granted to the plugin");
        plugin.log(PluginLogLevel::Warn, line.as_bytes());
        let environment = &plugin.environment;
        environment.refused_http_call(&plugin.settings.name, upstream);
        return Err(AbiStatus::BadArgument);
    }
    let limits = &plugin.settings.limits;
    let pairs = decode(slice(memory, headers.0, headers.1)?)?;
    let body = slice(memory, body.0, body.1)?;
    let trailers = decode(slice(memory, trailers.0, trailers.1)?)?;
    check_size(limits, &[&pairs, &trailers], body)?;
    let call = PluginHttpCall {
        upstream: upstream.to_owned(),
        method: required(&pairs, b":method")?
            .parse()
            .map_err(|_| AbiStatus::BadArgument)?,
        path: path(required(&pairs, b":path")?)?,
        authority: required(&pairs, b":authority")
            .unwrap_or_default()
            .to_owned(),
        headers: plain_headers(&pairs)?,
        body: Bytes::copy_from_slice(body),
        trailers: plain_headers(&trailers)?,
        timeout: match timeout {
            Duration::ZERO => limits.http_call_time,
            timeout => timeout.min(limits.http_call_time),
        },
        response_limit: limits.body,
    };
    slice(memory, id_at, 4)?;
    let permit = plugin
        .permit_http_call()
        .ok_or(AbiStatus::InternalFailure)?;
    let id = start(state, call, permit).ok_or(AbiStatus::InternalFailure)?;
    put(memory, id_at, &id.to_le_bytes())
}

/// Sends the request; the instance gets the response, or that there is none, at a time when no callback runs.
fn start(state: &mut GuestState, call: PluginHttpCall, permit: HttpCallPermit) -> Option<u32> {
    let runtime = Handle::try_current().ok()?;
    let id = state.next_call;
    state.next_call = id.checked_add(1).unwrap_or(1);
    let context = state.call_owner();
    let plugin = Arc::clone(&state.plugin);
    let instance = Weak::clone(&state.instance);
    let task = runtime.spawn(async move {
        let response = response(&plugin, call).await.map(Box::new);
        let Some(instance) = instance.upgrade() else {
            return;
        };
        let call = BackgroundCall::HttpResponse {
            context,
            id,
            response,
            permit,
        };
        instance.run(call).await;
    });
    let calls = match state.streams.get_mut(&context) {
        Some(stream) => &mut stream.calls,
        None => &mut state.root_calls,
    };
    let task = task.abort_handle();
    calls.push(HttpCallTask { id, task });
    Some(id)
}

async fn response(
    plugin: &SharedInstanceResources,
    call: PluginHttpCall,
) -> Option<PluginHttpResponse> {
    let (timeout, limit) = (call.timeout, call.response_limit);
    let upstream = call.upstream.clone();
    let sent = plugin.environment.http_call(&plugin.settings.name, call);
    let problem = match tokio::time::timeout(timeout, sent).await {
        Ok(Ok(response)) if response.body.len() <= limit => return Some(response),
        Ok(Ok(_)) => format!("the body exceeds {limit} bytes"),
        Ok(Err(problem)) => problem,
        Err(_) => format!("no response within {timeout:?}"),
    };
    let line = format!("an HTTP call to `{upstream}` failed: {problem}");
    plugin.log(PluginLogLevel::Warn, line.as_bytes());
    None
}

fn check_size(limits: &PluginLimits, maps: &[&[Pair<'_>]], body: &[u8]) -> Result<(), AbiStatus> {
    let is_large = |map: &&[Pair<'_>]| {
        let bytes: usize = map.iter().map(|pair| pair.0.len() + pair.1.len()).sum();
        map.len() > limits.headers || bytes > limits.header_bytes
    };
    if body.len() > limits.body || maps.iter().any(is_large) {
        return Err(AbiStatus::BadArgument);
    }
    Ok(())
}

fn required<'a>(pairs: &[Pair<'a>], name: &[u8]) -> Result<&'a str, AbiStatus> {
    let pair = pairs.iter().find(|pair| pair.0 == name);
    let (_, value) = pair.ok_or(AbiStatus::BadArgument)?;
    std::str::from_utf8(value).map_err(|_| AbiStatus::BadArgument)
}

fn path(text: &str) -> Result<String, AbiStatus> {
    let is_path = text.starts_with('/') && !text.bytes().any(|byte| byte <= b' ' || byte == 0x7f);
    is_path
        .then(|| text.to_owned())
        .ok_or(AbiStatus::BadArgument)
}

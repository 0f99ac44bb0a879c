//! Host functions about streams: continue, close, reply, and which context is meant.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use wasmtime::Linker;

use super::env::ENV;
use super::memory::{GuestCaller, parts, slice};
use super::pairs::{Pair, decode};
use crate::abi_status::{AbiStatus, report};
use crate::exchange::PluginReply;
use crate::guest_state::{GuestState, ROOT_CONTEXT, StreamSide};

/// Bytes of the details of a reply.
const DETAILS_MAX: usize = 1024;

pub(super) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_continue_stream",
        |mut caller: GuestCaller<'_>, kind: i32| report(resume(caller.data_mut(), kind)),
    )?;
    linker.func_wrap(
        ENV,
        "proxy_close_stream",
        |mut caller: GuestCaller<'_>, kind: i32| report(close(caller.data_mut(), kind)),
    )?;
    linker.func_wrap(
        ENV,
        "proxy_send_local_response",
        |mut caller: GuestCaller<'_>,
         status: u32,
         details: u32,
         details_length: u32,
         body: u32,
         body_length: u32,
         headers: u32,
         headers_length: u32,
         _grpc_status: i32| {
            let parts = [
                (details, details_length),
                (body, body_length),
                (headers, headers_length),
            ];
            report(reply(&mut caller, status, parts))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_set_effective_context",
        |mut caller: GuestCaller<'_>, context: u32| {
            let state = caller.data_mut();
            if context != ROOT_CONTEXT && !state.streams.contains_key(&context) {
                return AbiStatus::BadArgument as i32;
            }
            state.current = context;
            0
        },
    )?;
    linker.func_wrap(ENV, "proxy_done", |mut caller: GuestCaller<'_>| {
        report(done(caller.data_mut()))
    })?;
    Ok(())
}

/// The headers of a call or a reply, without pseudo headers.
pub(super) fn plain_headers(pairs: &[Pair<'_>]) -> Result<HeaderMap, AbiStatus> {
    let mut headers = HeaderMap::with_capacity(pairs.len());
    for (name, value) in pairs.iter().filter(|pair| !pair.0.starts_with(b":")) {
        let name = HeaderName::from_bytes(name).map_err(|_| AbiStatus::BadArgument)?;
        let value = HeaderValue::from_bytes(value).map_err(|_| AbiStatus::BadArgument)?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn done(state: &mut GuestState) -> Result<(), AbiStatus> {
    let context = state.current;
    let stream = state.stream_mut().filter(|stream| stream.is_ending);
    stream.ok_or(AbiStatus::NotFound)?.called_done = true;
    state.finished.push(context);
    Ok(())
}

fn resume(state: &mut GuestState, kind: i32) -> Result<(), AbiStatus> {
    let side = side(kind)?;
    let stream = state.stream_mut().ok_or(AbiStatus::NotFound)?;
    stream.continued[side as usize] = true;
    stream.wake.notify_one();
    Ok(())
}

fn close(state: &mut GuestState, kind: i32) -> Result<(), AbiStatus> {
    side(kind)?;
    let stream = state.stream_mut().ok_or(AbiStatus::NotFound)?;
    stream.is_closed = true;
    stream.wake.notify_one();
    Ok(())
}

fn side(kind: i32) -> Result<StreamSide, AbiStatus> {
    match kind {
        0 => Ok(StreamSide::Request),
        1 => Ok(StreamSide::Response),
        2 | 3 => Err(AbiStatus::Unimplemented),
        _ => Err(AbiStatus::BadArgument),
    }
}

/// Takes note of a reply whose details, body and headers are at the three places. The first reply counts.
fn reply(
    caller: &mut GuestCaller<'_>,
    status: u32,
    [details, body, headers]: [(u32, u32); 3],
) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let details = slice(memory, details.0, details.1)?;
    let body = slice(memory, body.0, body.1)?;
    let pairs = decode(slice(memory, headers.0, headers.1)?)?;
    let limits = &state.plugin.settings.limits;
    let header_bytes: usize = pairs.iter().map(|pair| pair.0.len() + pair.1.len()).sum();
    if body.len() > limits.body
        || pairs.len() > limits.headers
        || header_bytes > limits.header_bytes
    {
        return Err(AbiStatus::BadArgument);
    }
    // An interim response cannot end an exchange.
    let status = u16::try_from(status)
        .ok()
        .filter(|status| (200..=599).contains(status))
        .and_then(|status| StatusCode::from_u16(status).ok())
        .ok_or(AbiStatus::BadArgument)?;
    let headers = plain_headers(&pairs)?;
    let stream = state.stream_mut().ok_or(AbiStatus::NotFound)?;
    let details = String::from_utf8_lossy(&details[..details.len().min(DETAILS_MAX)]);
    stream.reply.get_or_insert_with(|| PluginReply {
        status,
        headers,
        body: Bytes::copy_from_slice(body),
        details: details.into_owned(),
    });
    stream.wake.notify_one();
    Ok(())
}

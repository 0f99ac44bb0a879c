//! Host functions about bodies and other buffers.

use bytes::{Bytes, BytesMut};
use wasmtime::Linker;

use super::env::ENV;
use super::memory::{GuestCaller, give, parts, put, slice};
use crate::abi_status::{AbiStatus, report};
use crate::guest_state::{GuestState, StreamSide};

pub(super) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.func_wrap_async(
        ENV,
        "proxy_get_buffer_bytes",
        |mut caller: GuestCaller<'_>,
         (kind, start, max, pointer, length): (i32, u32, u32, u32, u32)| {
            Box::new(async move {
                let part = buffer(caller.data(), kind).map(|all| part(&all, start, max));
                give(&mut caller, part, pointer, length).await
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_buffer_status",
        |mut caller: GuestCaller<'_>, kind: i32, length: u32, flags: u32| {
            report(status(&mut caller, kind, length, flags))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_set_buffer_bytes",
        |mut caller: GuestCaller<'_>, kind: i32, start: u32, size: u32, at: u32, length: u32| {
            report(set(
                &mut caller,
                kind,
                start..start.saturating_add(size),
                at,
                length,
            ))
        },
    )?;
    Ok(())
}

fn buffer(state: &GuestState, kind: i32) -> Result<Bytes, AbiStatus> {
    let body = |side: StreamSide| {
        let stream = state.stream().filter(|stream| stream.exchange.is_some());
        let stream = stream.ok_or(AbiStatus::NotFound)?;
        Ok(stream.bodies[side as usize].content.clone())
    };
    match kind {
        0 => body(StreamSide::Request),
        1 => body(StreamSide::Response),
        4 => {
            let response = state.call_response.as_ref();
            response
                .map(|response| response.body.clone())
                .ok_or(AbiStatus::NotFound)
        }
        6 => Ok(state.plugin.settings.vm_configuration.clone()),
        7 => Ok(state.plugin.settings.configuration.clone()),
        // TCP, gRPC and foreign functions.
        2 | 3 | 5 | 8 => Err(AbiStatus::NotFound),
        _ => Err(AbiStatus::BadArgument),
    }
}

/// At most `max` bytes from `start`.
fn part(all: &Bytes, start: u32, max: u32) -> Bytes {
    let start = (start as usize).min(all.len());
    let end = start.saturating_add(max as usize).min(all.len());
    all.slice(start..end)
}

fn status(
    caller: &mut GuestCaller<'_>,
    kind: i32,
    length_at: u32,
    flags_at: u32,
) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let length = buffer(state, kind)?.len();
    let length = u32::try_from(length).map_err(|_| AbiStatus::InternalFailure)?;
    put(memory, length_at, &length.to_le_bytes())?;
    put(memory, flags_at, &0_u32.to_le_bytes())
}

/// Replaces a range of a body: an empty range at 0 prepends, one after the end appends.
fn set(
    caller: &mut GuestCaller<'_>,
    kind: i32,
    range: std::ops::Range<u32>,
    at: u32,
    length: u32,
) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let data = slice(memory, at, length)?;
    let max = state.plugin.settings.limits.body;
    let side = match kind {
        0 => StreamSide::Request,
        1 => StreamSide::Response,
        _ => return Err(AbiStatus::BadArgument),
    };
    let stream = state.stream_mut().ok_or(AbiStatus::NotFound)?;
    if stream.exchange.is_none() {
        return Err(AbiStatus::NotFound);
    }
    let content = &mut stream.body(side).content;
    let start = (range.start as usize).min(content.len());
    let end = (range.end as usize).min(content.len());
    let edited = content.len() - (end - start) + data.len();
    if edited > max {
        return Err(AbiStatus::BadArgument);
    }
    if start == content.len() {
        let mut longer = BytesMut::from(std::mem::take(content));
        longer.extend_from_slice(data);
        *content = longer.freeze();
    } else {
        let mut whole = Vec::with_capacity(edited);
        whole.extend_from_slice(&content[..start]);
        whole.extend_from_slice(data);
        whole.extend_from_slice(&content[end..]);
        *content = whole.into();
    }
    Ok(())
}

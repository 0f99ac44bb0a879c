//! Host functions about properties: those of the program, those of the exchange, those that plugins set.

use std::time::UNIX_EPOCH;

use bytes::Bytes;
use wasmtime::Linker;

use super::env::ENV;
use super::memory::{GuestCaller, give, parts, slice, text};
use super::pairs::{encode, encode_texts};
use crate::abi_status::{AbiStatus, report};
use crate::exchange::{LentExchange, PropertyValue};
use crate::guest_state::{GuestState, HeaderMapKind, HeaderMapView};

/// Properties that plugins may set in one exchange.
const SET_MAX: usize = 100;
/// Bytes of the path and the value of one of them.
const SET_BYTES_MAX: usize = 16 << 10;

pub(super) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.func_wrap_async(
        ENV,
        "proxy_get_property",
        |mut caller: GuestCaller<'_>, (at, size, pointer, length): (u32, u32, u32, u32)| {
            Box::new(async move {
                let value = property(&mut caller, at, size);
                give(&mut caller, value, pointer, length).await
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_set_property",
        |mut caller: GuestCaller<'_>, path: u32, size: u32, value: u32, length: u32| {
            report(set(&mut caller, (path, size), (value, length)))
        },
    )?;
    Ok(())
}

fn property(caller: &mut GuestCaller<'_>, at: u32, length: u32) -> Result<Bytes, AbiStatus> {
    let (memory, state) = parts(caller)?;
    let path = path(text(memory, at, length)?);
    let supplied = &state.plugin.settings.properties;
    if !supplied.is_empty()
        && let Some(value) = supplied.get(&path.join("."))
    {
        return Ok(serialise(value.clone()));
    }
    let exchange = state.exchange();
    let source = exchange.and_then(|exchange| exchange.properties.as_ref());
    if let Some(value) = source.and_then(|source| source.property(&path)) {
        return Ok(serialise(value));
    }
    let own = match &*path {
        ["plugin_name"] => Some(&state.plugin.settings.name),
        ["plugin_root_id"] => Some(&state.plugin.settings.root_id),
        ["plugin_vm_id"] => Some(&state.plugin.settings.name),
        _ => None,
    };
    if let Some(own) = own {
        return Ok(Bytes::copy_from_slice(own.as_bytes()));
    }
    let exchange = exchange.ok_or(AbiStatus::NotFound)?;
    let value = match &*path {
        ["request", rest @ ..] => request_property(state, exchange, rest),
        ["response", rest @ ..] => response_property(state, exchange, rest),
        _ => None,
    };
    value
        .or_else(|| exchange.plugin_properties.get(&path.join(".")).cloned())
        .ok_or(AbiStatus::NotFound)
}

fn set(
    caller: &mut GuestCaller<'_>,
    (at, length): (u32, u32),
    (value_at, value_length): (u32, u32),
) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let path = path(text(memory, at, length)?).join(".");
    let value = slice(memory, value_at, value_length)?;
    let stream = state.stream_mut().ok_or(AbiStatus::NotFound)?;
    let exchange = stream.exchange.as_mut().ok_or(AbiStatus::NotFound)?;
    let properties = &mut exchange.plugin_properties;
    let is_full = properties.len() >= SET_MAX && !properties.contains_key(&path);
    if path.is_empty() || path.len() + value.len() > SET_BYTES_MAX || is_full {
        return Err(AbiStatus::BadArgument);
    }
    properties.insert(path, Bytes::copy_from_slice(value));
    Ok(())
}

/// The segments of a path: zeros separate them, and one may follow the last.
fn path(text: &str) -> Vec<&str> {
    text.strip_suffix('\0')
        .unwrap_or(text)
        .split('\0')
        .collect()
}

fn serialise(value: PropertyValue) -> Bytes {
    match value {
        PropertyValue::Text(text) => text.into(),
        PropertyValue::Bytes(bytes) => bytes,
        PropertyValue::Int(number) => number.to_le_bytes().to_vec().into(),
        PropertyValue::Bool(value) => vec![u8::from(value)].into(),
        PropertyValue::Time(time) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            let nanoseconds = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
            nanoseconds.to_le_bytes().to_vec().into()
        }
        PropertyValue::Map(pairs) => encode_texts(&pairs).into(),
    }
}

fn request_property(state: &GuestState, exchange: &LentExchange, path: &[&str]) -> Option<Bytes> {
    let request = &exchange.request;
    let (url_path, query) = match request.path.split_once('?') {
        Some((path, query)) => (path, query),
        None => (request.path.as_str(), ""),
    };
    let header = |name| map_property(state, exchange, HeaderMapKind::RequestHeaders, &[name]);
    let text = match path {
        ["path"] => &request.path,
        ["url_path"] => url_path,
        ["query"] => query,
        ["host"] => &request.authority,
        ["scheme"] => &request.scheme,
        ["method"] => request.method.as_str(),
        ["referer"] => return header("referer"),
        ["useragent"] => return header("user-agent"),
        ["id"] => return header("x-request-id"),
        ["headers", name @ ..] => {
            return map_property(state, exchange, HeaderMapKind::RequestHeaders, name);
        }
        _ => return None,
    };
    Some(Bytes::copy_from_slice(text.as_bytes()))
}

fn response_property(state: &GuestState, exchange: &LentExchange, path: &[&str]) -> Option<Bytes> {
    match path {
        ["code"] => {
            let code = i64::from(exchange.response.as_ref()?.status.as_u16());
            Some(code.to_le_bytes().to_vec().into())
        }
        ["headers", name @ ..] => {
            map_property(state, exchange, HeaderMapKind::ResponseHeaders, name)
        }
        ["trailers", name @ ..] => {
            map_property(state, exchange, HeaderMapKind::ResponseTrailers, name)
        }
        _ => None,
    }
}

/// One header of a map, or all of them.
fn map_property(
    state: &GuestState,
    exchange: &LentExchange,
    kind: HeaderMapKind,
    name: &[&str],
) -> Option<Bytes> {
    let hidden = &state.plugin.settings.grants.hidden_headers;
    let map = HeaderMapView::new(exchange, kind, hidden)?;
    match name {
        [] => Some(encode(&map).into()),
        [name] => Some(map.value(name.as_bytes())?.into_owned().into()),
        _ => None,
    }
}

//! Host functions about header maps.

use wasmtime::Linker;

use super::env::ENV;
use super::memory::{GuestCaller, give, parts, put, slice};
use super::pairs::{decode, encode};
use crate::abi_status::{AbiStatus, report};
use crate::guest_state::{GuestState, HeaderMapEditor, HeaderMapKind};

pub(super) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    register_reads(linker)?;
    linker.func_wrap(
        ENV,
        "proxy_set_header_map_pairs",
        |mut caller: GuestCaller<'_>, kind: i32, at: u32, length: u32| {
            report(set_pairs(&mut caller, kind, at, length))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_add_header_map_value",
        |mut caller: GuestCaller<'_>, kind: i32, name: u32, nl: u32, value: u32, vl: u32| {
            let at = [(name, nl), (value, vl)];
            report(edit(&mut caller, kind, at, |map, name, value| {
                map.add(name, value)
            }))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_replace_header_map_value",
        |mut caller: GuestCaller<'_>, kind: i32, name: u32, nl: u32, value: u32, vl: u32| {
            let at = [(name, nl), (value, vl)];
            report(edit(&mut caller, kind, at, |map, name, value| {
                map.replace(name, value)
            }))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_remove_header_map_value",
        |mut caller: GuestCaller<'_>, kind: i32, name: u32, length: u32| {
            let at = [(name, length), (0, 0)];
            report(edit(&mut caller, kind, at, |map, name, _| map.remove(name)))
        },
    )?;
    Ok(())
}

fn register_reads(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_get_header_map_size",
        |mut caller: GuestCaller<'_>, kind: i32, at: u32| report(size(&mut caller, kind, at)),
    )?;
    linker.func_wrap_async(
        ENV,
        "proxy_get_header_map_pairs",
        |mut caller: GuestCaller<'_>, (kind, pointer, length): (i32, u32, u32)| {
            Box::new(async move {
                let pairs = pairs(caller.data(), kind);
                give(&mut caller, pairs, pointer, length).await
            })
        },
    )?;
    linker.func_wrap_async(
        ENV,
        "proxy_get_header_map_value",
        |mut caller: GuestCaller<'_>,
         (kind, at, nl, pointer, length): (i32, u32, u32, u32, u32)| {
            Box::new(async move {
                let value = value(&mut caller, kind, at, nl);
                give(&mut caller, value, pointer, length).await
            })
        },
    )?;
    Ok(())
}

fn size(caller: &mut GuestCaller<'_>, kind: i32, at: u32) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let map = state.map(HeaderMapKind::from_abi(kind)?);
    let mut bytes = 0;
    map.ok_or(AbiStatus::NotFound)?
        .each(&mut |name, value| bytes += name.len() + value.len());
    let bytes = u32::try_from(bytes).map_err(|_| AbiStatus::InternalFailure)?;
    put(memory, at, &bytes.to_le_bytes())
}

fn pairs(state: &GuestState, kind: i32) -> Result<Vec<u8>, AbiStatus> {
    let map = state.map(HeaderMapKind::from_abi(kind)?);
    map.map(|map| encode(&map)).ok_or(AbiStatus::NotFound)
}

fn value(
    caller: &mut GuestCaller<'_>,
    kind: i32,
    at: u32,
    length: u32,
) -> Result<Vec<u8>, AbiStatus> {
    let (memory, state) = parts(caller)?;
    let map = state.map(HeaderMapKind::from_abi(kind)?);
    let map = map.ok_or(AbiStatus::NotFound)?;
    let value = map.value(slice(memory, at, length)?);
    value
        .map(|value| value.into_owned())
        .ok_or(AbiStatus::NotFound)
}

fn set_pairs(
    caller: &mut GuestCaller<'_>,
    kind: i32,
    at: u32,
    length: u32,
) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let pairs = decode(slice(memory, at, length)?)?;
    let map = state.map_edit(HeaderMapKind::from_abi(kind)?);
    map.ok_or(AbiStatus::BadArgument)?.replace_all(&pairs)
}

/// Changes one name of a map; the name and the value are at the two places.
fn edit(
    caller: &mut GuestCaller<'_>,
    kind: i32,
    [name, value]: [(u32, u32); 2],
    change: impl FnOnce(&mut HeaderMapEditor<'_>, &[u8], &[u8]) -> Result<(), AbiStatus>,
) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let name = slice(memory, name.0, name.1)?;
    let value = slice(memory, value.0, value.1)?;
    let map = state.map_edit(HeaderMapKind::from_abi(kind)?);
    change(&mut map.ok_or(AbiStatus::BadArgument)?, name, value)
}

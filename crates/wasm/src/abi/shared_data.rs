//! Host functions about data and queues that the instances of a plugin share.

use bytes::Bytes;
use wasmtime::Linker;

use super::env::ENV;
use super::memory::{GuestCaller, give, parts, put, slice, text};
use crate::abi_status::{AbiStatus, report};
use crate::guest_state::GuestState;
use crate::shared_store::SharedStore;

pub(super) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.func_wrap_async(
        ENV,
        "proxy_get_shared_data",
        |mut caller: GuestCaller<'_>,
         (key, size, pointer, length, cas): (u32, u32, u32, u32, u32)| {
            Box::new(async move {
                let value = get(&mut caller, key, size, cas);
                give(&mut caller, value, pointer, length).await
            })
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_set_shared_data",
        |mut caller: GuestCaller<'_>, key: u32, size: u32, value: u32, length: u32, cas: u32| {
            report(parts(&mut caller).and_then(|(memory, state)| {
                let key = slice(memory, key, size)?;
                let value = slice(memory, value, length)?;
                store(state)?.set(key, value, cas)
            }))
        },
    )?;
    register_queues(linker)
}

fn register_queues(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_register_shared_queue",
        |mut caller: GuestCaller<'_>, name: u32, length: u32, id_at: u32| {
            report(register_queue(&mut caller, name, length, id_at))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_resolve_shared_queue",
        |mut caller: GuestCaller<'_>,
         _vm: u32,
         _vm_length: u32,
         name: u32,
         length: u32,
         at: u32| {
            report(parts(&mut caller).and_then(|(memory, state)| {
                let id = store(state)?.resolve_queue(text(memory, name, length)?)?;
                put(memory, at, &id.to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_enqueue_shared_queue",
        |mut caller: GuestCaller<'_>, queue: u32, at: u32, length: u32| {
            report(parts(&mut caller).and_then(|(memory, state)| {
                store(state)?.enqueue(queue, slice(memory, at, length)?)
            }))
        },
    )?;
    linker.func_wrap_async(
        ENV,
        "proxy_dequeue_shared_queue",
        |mut caller: GuestCaller<'_>, (queue, pointer, length): (u32, u32, u32)| {
            Box::new(async move {
                let entry = store(caller.data()).and_then(|store| store.dequeue(queue));
                give(&mut caller, entry, pointer, length).await
            })
        },
    )?;
    Ok(())
}

/// The store, if the plugin may use it.
fn store(state: &GuestState) -> Result<&SharedStore, AbiStatus> {
    let plugin = &state.plugin;
    let is_granted = plugin.settings.grants.shared_data;
    is_granted
        .then_some(&plugin.store)
        .ok_or(AbiStatus::Unimplemented)
}

fn get(caller: &mut GuestCaller<'_>, key: u32, size: u32, cas: u32) -> Result<Bytes, AbiStatus> {
    let (memory, state) = parts(caller)?;
    let (value, version) = store(state)?.get(slice(memory, key, size)?)?;
    put(memory, cas, &version.to_le_bytes())?;
    Ok(value)
}

fn register_queue(
    caller: &mut GuestCaller<'_>,
    name: u32,
    length: u32,
    id_at: u32,
) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let name = text(memory, name, length)?;
    slice(memory, id_at, 4)?;
    let (id, ready) = store(state)?.register_queue(name)?;
    state.listen_to_queue(id, ready);
    put(memory, id_at, &id.to_le_bytes())
}

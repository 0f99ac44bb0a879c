//! Host functions about metrics.

use wasmtime::Linker;

use super::env::ENV;
use super::memory::{GuestCaller, parts, put, text};
use crate::abi_status::{AbiStatus, report};
use crate::guest_state::GuestState;
use crate::metric_table::MetricKind;

pub(super) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_define_metric",
        |mut caller: GuestCaller<'_>, kind: i32, name: u32, length: u32, id_at: u32| {
            report(parts(&mut caller).and_then(|(memory, state)| {
                let kind = match kind {
                    0 => MetricKind::Counter,
                    1 => MetricKind::Gauge,
                    2 => MetricKind::Histogram,
                    _ => return Err(AbiStatus::BadArgument),
                };
                let name = text(memory, name, length)?;
                let id = state.plugin.metrics.define(name, kind)?;
                put(memory, id_at, &id.to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_increment_metric",
        |caller: GuestCaller<'_>, id: u32, offset: i64| {
            report(caller.data().plugin.metrics.increment(id, offset))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_record_metric",
        |caller: GuestCaller<'_>, id: u32, value: u64| {
            report(caller.data().plugin.metrics.record(id, value))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_metric",
        |mut caller: GuestCaller<'_>, id: u32, at: u32| {
            report(parts(&mut caller).and_then(|(memory, state)| {
                let value = state.plugin.metrics.get(id)?;
                put(memory, at, &value.to_le_bytes())
            }))
        },
    )?;
    Ok(())
}

//! Host functions about the plugin itself: its log, the time, its timer, and those that this host does not have.

use std::time::{Duration, UNIX_EPOCH};

use wasmtime::Linker;

use super::env::ENV;
use super::memory::{GuestCaller, parts, put, slice};
use crate::abi_status::{AbiStatus, report};
use crate::guest_state::GuestState;
use crate::host_services::PluginLogLevel;

/// The shortest period of a timer.
const TICK_PERIOD_MIN: Duration = Duration::from_millis(10);

pub(super) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.func_wrap(
        ENV,
        "proxy_log",
        |mut caller: GuestCaller<'_>, level: i32, at: u32, length: u32| {
            report(log(&mut caller, level, at, length))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_log_level",
        |mut caller: GuestCaller<'_>, at: u32| {
            report(parts(&mut caller).and_then(|(memory, state)| {
                let level = state.plugin.settings.log_level.to_abi();
                put(memory, at, &level.to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_get_current_time_nanoseconds",
        |mut caller: GuestCaller<'_>, at: u32| {
            report(
                parts(&mut caller)
                    .and_then(|(memory, state)| put(memory, at, &nanoseconds(state).to_le_bytes())),
            )
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_set_tick_period_milliseconds",
        |mut caller: GuestCaller<'_>, period: u32| {
            set_tick(caller.data_mut(), period);
            0
        },
    )?;
    linker.func_wrap(ENV, "emscripten_notify_memory_growth", |_memory: u32| {})?;
    linker.func_wrap(ENV, "pthread_equal", |one: u32, other: u32| {
        i32::from(one == other)
    })?;
    register_unsupported(linker)
}

/// The time since 1970 in nanoseconds.
pub(super) fn nanoseconds(state: &GuestState) -> u64 {
    let now = state.plugin.environment.now();
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn log(caller: &mut GuestCaller<'_>, level: i32, at: u32, length: u32) -> Result<(), AbiStatus> {
    let (memory, state) = parts(caller)?;
    let level = PluginLogLevel::from_abi(level).ok_or(AbiStatus::BadArgument)?;
    state.plugin.log(level, slice(memory, at, length)?);
    Ok(())
}

fn set_tick(state: &mut GuestState, milliseconds: u32) {
    let period =
        (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()).max(TICK_PERIOD_MIN));
    if let Some(task) = state.tick.task.take() {
        task.abort();
    }
    state.tick.period = period;
    state.start_ticking();
}

/// gRPC and foreign functions: a plugin that imports them loads, and learns that they are missing when it calls one.
fn register_unsupported(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    const UNIMPLEMENTED: i32 = AbiStatus::Unimplemented as i32;
    const NOT_FOUND: i32 = AbiStatus::NotFound as i32;
    type Word = u32;
    linker.func_wrap(
        ENV,
        "proxy_call_foreign_function",
        |_: Word, _: Word, _: Word, _: Word, _: Word, _: Word| NOT_FOUND,
    )?;
    linker.func_wrap(
        ENV,
        "proxy_grpc_call",
        |_: Word,
         _: Word,
         _: Word,
         _: Word,
         _: Word,
         _: Word,
         _: Word,
         _: Word,
         _: Word,
         _: Word,
         _: Word,
         _: Word| UNIMPLEMENTED,
    )?;
    linker.func_wrap(
        ENV,
        "proxy_grpc_stream",
        |_: Word, _: Word, _: Word, _: Word, _: Word, _: Word, _: Word, _: Word, _: Word| {
            UNIMPLEMENTED
        },
    )?;
    linker.func_wrap(
        ENV,
        "proxy_grpc_send",
        |_: Word, _: Word, _: Word, _: Word| UNIMPLEMENTED,
    )?;
    linker.func_wrap(ENV, "proxy_grpc_cancel", |_: Word| UNIMPLEMENTED)?;
    linker.func_wrap(ENV, "proxy_grpc_close", |_: Word| UNIMPLEMENTED)?;
    linker.func_wrap(ENV, "proxy_get_status", |_: Word, _: Word, _: Word| {
        UNIMPLEMENTED
    })?;
    linker.func_wrap(
        ENV,
        "proxy_redis_call",
        |_: Word, _: Word, _: Word, _: Word, _: Word| UNIMPLEMENTED,
    )?;
    linker.func_wrap(
        ENV,
        "proxy_redis_init",
        |_: Word, _: Word, _: Word, _: Word, _: Word, _: Word, _: Word| UNIMPLEMENTED,
    )?;
    Ok(())
}

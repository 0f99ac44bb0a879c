//! What WASI libraries expect to find: two output streams, clocks, random numbers, and nothing else.

use std::time::Instant;

use wasmtime::{FuncType, Linker, Val, ValType};

use super::memory::{GuestAbort, GuestCaller, parts, put, slice};
use super::process::nanoseconds;
use crate::abi_status::AbiStatus;
use crate::guest_state::GuestState;
use crate::host_services::PluginLogLevel;
use crate::plugin_resources::{LOG_LINE_MAX, log_line_length};

/// The modules in which libraries look for WASI.
pub(crate) const WASI_MODULES: [&str; 2] = ["wasi_snapshot_preview1", "wasi_unstable"];

/// All functions of WASI preview 1, with their parameters (`i` is i32, `I` is i64) and what those return that this file
/// does not implement.
pub(crate) const WASI_FUNCTIONS: &[(&str, &str, i32)] = &[
    ("args_get", "ii", SUCCESS),
    ("args_sizes_get", "ii", SUCCESS),
    ("clock_res_get", "ii", SUCCESS),
    ("clock_time_get", "iIi", SUCCESS),
    ("environ_get", "ii", SUCCESS),
    ("environ_sizes_get", "ii", SUCCESS),
    ("fd_advise", "iIIi", ENOSYS),
    ("fd_allocate", "iII", ENOSYS),
    ("fd_close", "i", SUCCESS),
    ("fd_datasync", "i", ENOSYS),
    ("fd_fdstat_get", "ii", EBADF),
    ("fd_fdstat_set_flags", "ii", ENOSYS),
    ("fd_fdstat_set_rights", "iII", ENOSYS),
    ("fd_filestat_get", "ii", ENOSYS),
    ("fd_filestat_set_size", "iI", ENOSYS),
    ("fd_filestat_set_times", "iIIi", ENOSYS),
    ("fd_pread", "iiiIi", ENOSYS),
    // Libraries look for open folders until they get this error.
    ("fd_prestat_dir_name", "iii", EBADF),
    ("fd_prestat_get", "ii", EBADF),
    ("fd_pwrite", "iiiIi", ENOSYS),
    ("fd_read", "iiii", ENOSYS),
    ("fd_readdir", "iiiIi", ENOSYS),
    ("fd_renumber", "ii", ENOSYS),
    ("fd_seek", "iIii", ENOSYS),
    ("fd_sync", "i", ENOSYS),
    ("fd_tell", "ii", ENOSYS),
    ("fd_write", "iiii", EBADF),
    ("path_create_directory", "iii", ENOSYS),
    ("path_filestat_get", "iiiii", ENOSYS),
    ("path_filestat_set_times", "iiiiIIi", ENOSYS),
    ("path_link", "iiiiiii", ENOSYS),
    ("path_open", "iiiiiIIii", ENOSYS),
    ("path_readlink", "iiiiii", ENOSYS),
    ("path_remove_directory", "iii", ENOSYS),
    ("path_rename", "iiiiii", ENOSYS),
    ("path_symlink", "iiiii", ENOSYS),
    ("path_unlink_file", "iii", ENOSYS),
    ("poll_oneoff", "iiii", EFAULT),
    ("proc_exit", "i", SUCCESS),
    ("proc_raise", "i", ENOSYS),
    ("random_get", "ii", SUCCESS),
    ("sched_yield", "", SUCCESS),
    ("sock_accept", "iii", ENOSYS),
    ("sock_recv", "iiiiii", ENOSYS),
    ("sock_send", "iiiii", ENOSYS),
    ("sock_shutdown", "ii", ENOSYS),
];

const SUCCESS: i32 = 0;
const EBADF: i32 = 8;
const EFAULT: i32 = 21;
const EINVAL: i32 = 28;
const ENOSYS: i32 = 52;

/// The levels of the standard output and of the standard error.
const OUTPUTS: [PluginLogLevel; 2] = [PluginLogLevel::Info, PluginLogLevel::Error];

/// Buffers that one `fd_write` may name.
const BUFFERS_MAX: u32 = 64;
/// Random numbers are made in pieces of this size.
const RANDOM_PIECE: usize = 4096;
/// Random numbers that one call may ask for.
const RANDOM_MAX: u32 = 64 << 10;

pub(super) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    // What is implemented replaces what is not.
    linker.allow_shadowing(true);
    for module in WASI_MODULES {
        for &(name, parameters, result) in WASI_FUNCTIONS {
            register_missing(linker, module, name, parameters, result)?;
        }
        register_implemented(linker, module)?;
    }
    linker.allow_shadowing(false);
    Ok(())
}

fn register_missing(
    linker: &mut Linker<GuestState>,
    module: &str,
    name: &str,
    parameters: &str,
    result: i32,
) -> wasmtime::Result<()> {
    let types = parameters.bytes().map(|parameter| match parameter {
        b'I' => ValType::I64,
        _ => ValType::I32,
    });
    let function = FuncType::new(linker.engine(), types, [ValType::I32]);
    linker.func_new(module, name, function, move |_, _, results| {
        if let Some(first) = results.first_mut() {
            *first = Val::I32(result);
        }
        Ok(())
    })?;
    Ok(())
}

fn register_implemented(linker: &mut Linker<GuestState>, module: &str) -> wasmtime::Result<()> {
    // No arguments, and no environment.
    for name in ["args_sizes_get", "environ_sizes_get"] {
        linker.func_wrap(
            module,
            name,
            |mut caller: GuestCaller<'_>, count: u32, bytes: u32| {
                errno(parts(&mut caller).and_then(|(memory, _)| {
                    put(memory, count, &[0; 4])?;
                    put(memory, bytes, &[0; 4])
                }))
            },
        )?;
    }
    linker.func_wrap(
        module,
        "clock_res_get",
        |mut caller: GuestCaller<'_>, _clock: i32, at: u32| {
            errno(parts(&mut caller).and_then(|(memory, _)| put(memory, at, &1_u64.to_le_bytes())))
        },
    )?;
    linker.func_wrap(
        module,
        "clock_time_get",
        |mut caller: GuestCaller<'_>, clock: i32, _precision: i64, at: u32| {
            clock_time(&mut caller, clock, at)
        },
    )?;
    linker.func_wrap(
        module,
        "random_get",
        |mut caller: GuestCaller<'_>, at: u32, length: u32| random(&mut caller, at, length),
    )?;
    linker.func_wrap(
        module,
        "fd_write",
        |mut caller: GuestCaller<'_>, file: i32, buffers: u32, count: u32, written_at: u32| {
            write(&mut caller, file, buffers, count, written_at)
        },
    )?;
    // Nothing is ever ready. Go's runtime takes any error for one of its own, and traps.
    linker.func_wrap(
        module,
        "poll_oneoff",
        |mut caller: GuestCaller<'_>, _subscriptions: u32, _events: u32, _count: u32, at: u32| {
            errno(parts(&mut caller).and_then(|(memory, _)| put(memory, at, &[0; 4])))
        },
    )?;
    linker.func_wrap(
        module,
        "fd_fdstat_get",
        |mut caller: GuestCaller<'_>, file: i32, at: u32| file_status(&mut caller, file, at),
    )?;
    linker.func_wrap(
        module,
        "proc_exit",
        |mut caller: GuestCaller<'_>, code: i32| -> wasmtime::Result<()> {
            caller.data_mut().exit_code = Some(code);
            Err(GuestAbort::Exit(code).into())
        },
    )?;
    Ok(())
}

/// Logs the lines of the outputs that a callback left unfinished.
pub(crate) fn flush_output(state: &mut GuestState) {
    for (stream, level) in OUTPUTS.into_iter().enumerate() {
        if !state.output[stream].is_empty() {
            log_lines(state, stream, level, b"\n");
        }
    }
}

fn errno(result: Result<(), AbiStatus>) -> i32 {
    result.map_or(EFAULT, |()| SUCCESS)
}

fn clock_time(caller: &mut GuestCaller<'_>, clock: i32, at: u32) -> i32 {
    let time = match clock {
        0 => nanoseconds(caller.data()),
        1 => {
            let since = Instant::now().saturating_duration_since(caller.data().plugin.started);
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        }
        _ => return EINVAL,
    };
    errno(parts(caller).and_then(|(memory, _)| put(memory, at, &time.to_le_bytes())))
}

fn random(caller: &mut GuestCaller<'_>, at: u32, length: u32) -> i32 {
    if length > RANDOM_MAX {
        return EINVAL;
    }
    let Ok((memory, _)) = parts(caller) else {
        return EFAULT;
    };
    let (at, length) = (at as usize, length as usize);
    let Some(target) = at
        .checked_add(length)
        .and_then(|end| memory.get_mut(at..end))
    else {
        return EFAULT;
    };
    for piece in target.chunks_mut(RANDOM_PIECE) {
        if getrandom::fill(piece).is_err() {
            return ENOSYS;
        }
    }
    SUCCESS
}

/// Logs what is written to the standard output and to the standard error, line by line.
fn write(
    caller: &mut GuestCaller<'_>,
    file: i32,
    buffers: u32,
    count: u32,
    written_at: u32,
) -> i32 {
    let stream = match file {
        1 => 0,
        2 => 1,
        _ => return EBADF,
    };
    if count > BUFFERS_MAX {
        return EINVAL;
    }
    errno(parts(caller).and_then(|(memory, state)| {
        let mut written: u32 = 0;
        for list in slice(memory, buffers, count * 8)?.chunks_exact(8) {
            let (at, length) = (word(list), word(&list[4..]));
            let text = slice(memory, at, length)?;
            log_lines(state, stream, OUTPUTS[stream], text);
            written = written.saturating_add(length);
        }
        put(memory, written_at, &written.to_le_bytes())
    }))
}

fn log_lines(state: &mut GuestState, stream: usize, level: PluginLogLevel, text: &[u8]) {
    let line = &mut state.output[stream];
    for piece in text.split_inclusive(|byte| *byte == b'\n') {
        for part in piece.chunks(LOG_LINE_MAX) {
            line.extend_from_slice(part);
            // The rest of a line that is too long continues in the next one.
            while line.len() > LOG_LINE_MAX && !line.ends_with(b"\n") {
                let rest = line.split_off(log_line_length(line));
                state.plugin.log(level, line);
                *line = rest;
            }
        }
        if piece.ends_with(b"\n") {
            state.plugin.log(level, line);
            line.clear();
        }
    }
}

/// Describes the two outputs as terminals to which one may write.
fn file_status(caller: &mut GuestCaller<'_>, file: i32, at: u32) -> i32 {
    const CHARACTER_DEVICE: u8 = 2;
    const APPEND: u8 = 1;
    const MAY_WRITE: u8 = 64;
    if !matches!(file, 1 | 2) {
        return EBADF;
    }
    let mut status = [0; 24];
    status[0] = CHARACTER_DEVICE;
    status[2] = APPEND;
    status[8] = MAY_WRITE;
    errno(parts(caller).and_then(|(memory, _)| put(memory, at, &status)))
}

fn word(bytes: &[u8]) -> u32 {
    bytes
        .first_chunk::<4>()
        .map_or(0, |word| u32::from_le_bytes(*word))
}

//! The functions that the host offers to plugins: `env` of Proxy-Wasm 0.2.1, and what WASI libraries expect to find.

mod buffers;
mod contexts;
mod env;
mod headers;
mod http_calls;
mod memory;
mod metrics;
mod pairs;
mod process;
mod properties;
mod shared_data;
mod wasi;

use wasmtime::Linker;

use crate::guest_state::GuestState;
pub(crate) use env::{ENV, ENV_FUNCTIONS, HIGRESS_FUNCTIONS, LIBRARY_FUNCTIONS};
pub(crate) use memory::GuestAbort;
pub(crate) use wasi::{WASI_FUNCTIONS, WASI_MODULES, flush_output};

/// Defines all functions.
pub(crate) fn register(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    process::register(linker)?;
    contexts::register(linker)?;
    headers::register(linker)?;
    buffers::register(linker)?;
    properties::register(linker)?;
    http_calls::register(linker)?;
    shared_data::register(linker)?;
    metrics::register(linker)?;
    wasi::register(linker)
}

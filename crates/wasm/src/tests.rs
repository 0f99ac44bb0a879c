//! Tests of the crate through its interface, with plugins written as WebAssembly text.

mod bodies;
mod call_owners;
mod environment;
mod fixture;
mod functions;
mod go_runtime;
mod headers;
mod hostile;
mod http_calls;
mod interface;
mod lifecycle;
mod memory;
mod pool;
mod shared_state;
mod units;
mod yields;

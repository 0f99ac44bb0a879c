//! The functions that an instance exports.

use wasmtime::{Instance, Store, TypedFunc, WasmParams, WasmResults};

use crate::guest_state::GuestState;
use crate::module::interface::ALLOCATORS;

type OnContext = TypedFunc<u32, ()>;
type OnPair = TypedFunc<(u32, u32), ()>;
type OnCallResponse = TypedFunc<(u32, u32, u32, u32, u32), ()>;
type Decide<P> = TypedFunc<P, u32>;

/// The exports of an instance.
pub(super) struct GuestExports {
    pub start: Option<TypedFunc<(), ()>>,
    /// Called after `_initialize` only.
    pub main: Option<Decide<(u32, u32)>>,
    pub context_create: Option<OnPair>,
    pub vm_start: Option<Decide<(u32, u32)>>,
    pub configure: Option<Decide<(u32, u32)>>,
    pub tick: Option<OnContext>,
    pub queue_ready: Option<OnPair>,
    pub http_call_response: Option<OnCallResponse>,
    pub request_headers: Option<Decide<(u32, u32, u32)>>,
    pub request_body: Option<Decide<(u32, u32, u32)>>,
    pub request_trailers: Option<Decide<(u32, u32)>>,
    pub response_headers: Option<Decide<(u32, u32, u32)>>,
    pub response_body: Option<Decide<(u32, u32, u32)>>,
    pub response_trailers: Option<Decide<(u32, u32)>>,
    pub done: Option<Decide<u32>>,
    pub log: Option<OnContext>,
    pub delete: Option<OnContext>,
}

impl GuestExports {
    pub fn find(store: &mut Store<GuestState>, made: &Instance) -> wasmtime::Result<Self> {
        let is_library = made.get_func(&mut *store, "_initialize").is_some();
        let main = made.get_typed_func(&mut *store, "main").ok();
        Ok(Self {
            main: main.filter(|_| is_library),
            start: match find(store, made, "_initialize")? {
                Some(start) => Some(start),
                None => find(store, made, "_start")?,
            },
            context_create: find(store, made, "proxy_on_context_create")?,
            vm_start: find(store, made, "proxy_on_vm_start")?,
            configure: find(store, made, "proxy_on_configure")?,
            tick: find(store, made, "proxy_on_tick")?,
            queue_ready: find(store, made, "proxy_on_queue_ready")?,
            http_call_response: find(store, made, "proxy_on_http_call_response")?,
            request_headers: find(store, made, "proxy_on_request_headers")?,
            request_body: find(store, made, "proxy_on_request_body")?,
            request_trailers: find(store, made, "proxy_on_request_trailers")?,
            response_headers: find(store, made, "proxy_on_response_headers")?,
            response_body: find(store, made, "proxy_on_response_body")?,
            response_trailers: find(store, made, "proxy_on_response_trailers")?,
            done: find(store, made, "proxy_on_done")?,
            log: find(store, made, "proxy_on_log")?,
            delete: find(store, made, "proxy_on_delete")?,
        })
    }
}

/// The allocator of an instance.
pub(super) fn allocator(
    store: &mut Store<GuestState>,
    made: &Instance,
) -> wasmtime::Result<Option<TypedFunc<u32, u32>>> {
    for name in ALLOCATORS {
        if let Some(allocator) = find(store, made, name)? {
            return Ok(Some(allocator));
        }
    }
    Ok(None)
}

/// A function, if it is exported.
fn find<P: WasmParams, R: WasmResults>(
    store: &mut Store<GuestState>,
    made: &Instance,
    name: &str,
) -> wasmtime::Result<Option<TypedFunc<P, R>>> {
    if made.get_func(&mut *store, name).is_none() {
        return Ok(None);
    }
    made.get_typed_func(store, name).map(Some)
}

//! The callbacks of an instance, one method for each. A callback that the plugin lacks does nothing.

use wasmtime::{TypedFunc, WasmParams, WasmResults};

use super::exports::GuestExports;
use super::{Guest, call};
use crate::callback::PluginCallback;
use crate::error::PluginFailure;
use crate::guest_state::ROOT_CONTEXT;

type Select<P, R> = fn(&GuestExports) -> &Option<TypedFunc<P, R>>;

/// The action of the ABI that lets a stream go on.
pub(super) const CONTINUE: u32 = 0;

impl Guest {
    pub async fn on_main(&mut self) -> Result<(), PluginFailure> {
        let callback = PluginCallback::Start;
        self.invoke(|e| &e.main, (0, 0), callback, ROOT_CONTEXT, 0)
            .await
            .map(drop)
    }

    pub async fn on_context_create(&mut self, id: u32, parent: u32) -> Result<(), PluginFailure> {
        let callback = PluginCallback::ContextCreate;
        self.invoke(|e| &e.context_create, (id, parent), callback, id, ())
            .await
    }

    /// Whether the plugin accepts its start.
    pub async fn on_vm_start(&mut self, length: u32) -> Result<bool, PluginFailure> {
        let parameters = (ROOT_CONTEXT, length);
        let callback = PluginCallback::VmStart;
        self.invoke(|e| &e.vm_start, parameters, callback, ROOT_CONTEXT, 1)
            .await
            .map(is_true)
    }

    /// Whether the plugin accepts its configuration.
    pub async fn on_configure(&mut self, length: u32) -> Result<bool, PluginFailure> {
        let parameters = (ROOT_CONTEXT, length);
        let callback = PluginCallback::Configure;
        self.invoke(|e| &e.configure, parameters, callback, ROOT_CONTEXT, 1)
            .await
            .map(is_true)
    }

    pub async fn on_tick(&mut self) -> Result<(), PluginFailure> {
        let callback = PluginCallback::Tick;
        self.invoke(|e| &e.tick, ROOT_CONTEXT, callback, ROOT_CONTEXT, ())
            .await
    }

    pub async fn on_queue_ready(&mut self, queue: u32) -> Result<(), PluginFailure> {
        let parameters = (ROOT_CONTEXT, queue);
        let callback = PluginCallback::QueueReady;
        self.invoke(|e| &e.queue_ready, parameters, callback, ROOT_CONTEXT, ())
            .await
    }

    /// With the id of the call, and the sizes of the response's headers, body and trailers. It is a callback of the root
    /// context, whichever context made the call, as in Envoy: SDKs find the context that made it by the id of the call,
    /// and those of C++ and Go trap on the id of another context.
    pub async fn on_http_call_response(
        &mut self,
        id: u32,
        [headers, body, trailers]: [u32; 3],
    ) -> Result<(), PluginFailure> {
        let parameters = (ROOT_CONTEXT, id, headers, body, trailers);
        let callback = PluginCallback::HttpCallResponse;
        let select: Select<_, _> = |e| &e.http_call_response;
        self.invoke(select, parameters, callback, ROOT_CONTEXT, ())
            .await
    }

    pub async fn on_headers(
        &mut self,
        callback: PluginCallback,
        context: u32,
        headers: u32,
        end_of_stream: bool,
    ) -> Result<u32, PluginFailure> {
        let parameters = (context, headers, u32::from(end_of_stream));
        let select: Select<(u32, u32, u32), u32> = match callback {
            PluginCallback::RequestHeaders => |e| &e.request_headers,
            _ => |e| &e.response_headers,
        };
        self.invoke(select, parameters, callback, context, CONTINUE)
            .await
    }

    pub async fn on_body(
        &mut self,
        callback: PluginCallback,
        context: u32,
        length: u32,
        end_of_stream: bool,
    ) -> Result<u32, PluginFailure> {
        let parameters = (context, length, u32::from(end_of_stream));
        let select: Select<(u32, u32, u32), u32> = match callback {
            PluginCallback::RequestBody => |e| &e.request_body,
            _ => |e| &e.response_body,
        };
        self.invoke(select, parameters, callback, context, CONTINUE)
            .await
    }

    pub async fn on_trailers(
        &mut self,
        callback: PluginCallback,
        context: u32,
        trailers: u32,
    ) -> Result<u32, PluginFailure> {
        let select: Select<(u32, u32), u32> = match callback {
            PluginCallback::RequestTrailers => |e| &e.request_trailers,
            _ => |e| &e.response_trailers,
        };
        self.invoke(select, (context, trailers), callback, context, CONTINUE)
            .await
    }

    /// Whether the stream has ended for the plugin, too.
    pub async fn on_done(&mut self, context: u32) -> Result<bool, PluginFailure> {
        self.invoke(|e| &e.done, context, PluginCallback::Done, context, 1)
            .await
            .map(is_true)
    }

    pub async fn on_log(&mut self, context: u32) -> Result<(), PluginFailure> {
        self.invoke(|e| &e.log, context, PluginCallback::Log, context, ())
            .await
    }

    pub async fn on_delete(&mut self, context: u32) -> Result<(), PluginFailure> {
        self.invoke(|e| &e.delete, context, PluginCallback::Delete, context, ())
            .await
    }

    /// Calls an export on behalf of a context; `default` if the module does not export it.
    async fn invoke<P, R>(
        &mut self,
        select: Select<P, R>,
        parameters: P,
        callback: PluginCallback,
        context: u32,
        default: R,
    ) -> Result<R, PluginFailure>
    where
        P: WasmParams + Sync,
        R: WasmResults + Sync,
    {
        let Self {
            host,
            exports,
            store,
            is_running,
        } = self;
        match select(exports) {
            None => Ok(default),
            Some(function) => {
                call(
                    host, store, is_running, function, parameters, callback, context,
                )
                .await
            }
        }
    }
}

fn is_true(result: u32) -> bool {
    result != 0
}

//! The callbacks of the ABI that this host makes.

use std::fmt;
use std::time::Duration;

use crate::settings::PluginCpuTimeLimits;

/// A function that the plugin exports and the host calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PluginCallback {
    Start,
    ContextCreate,
    VmStart,
    Configure,
    Tick,
    QueueReady,
    HttpCallResponse,
    RequestHeaders,
    RequestBody,
    RequestTrailers,
    ResponseHeaders,
    ResponseBody,
    /// `proxy_on_response_body` with one event of a stream.
    ResponseEvent,
    ResponseTrailers,
    Done,
    Log,
    Delete,
}

impl PluginCallback {
    /// The name of the export.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "_initialize",
            Self::ContextCreate => "proxy_on_context_create",
            Self::VmStart => "proxy_on_vm_start",
            Self::Configure => "proxy_on_configure",
            Self::Tick => "proxy_on_tick",
            Self::QueueReady => "proxy_on_queue_ready",
            Self::HttpCallResponse => "proxy_on_http_call_response",
            Self::RequestHeaders => "proxy_on_request_headers",
            Self::RequestBody => "proxy_on_request_body",
            Self::RequestTrailers => "proxy_on_request_trailers",
            Self::ResponseHeaders => "proxy_on_response_headers",
            Self::ResponseBody | Self::ResponseEvent => "proxy_on_response_body",
            Self::ResponseTrailers => "proxy_on_response_trailers",
            Self::Done => "proxy_on_done",
            Self::Log => "proxy_on_log",
            Self::Delete => "proxy_on_delete",
        }
    }

    pub(crate) fn limit(self, limits: &PluginCpuTimeLimits) -> Duration {
        match self {
            Self::Start | Self::VmStart | Self::Configure => limits.start,
            Self::RequestHeaders
            | Self::RequestTrailers
            | Self::ResponseHeaders
            | Self::ResponseTrailers => limits.headers,
            Self::RequestBody | Self::ResponseBody => limits.body,
            Self::ResponseEvent => limits.event,
            Self::ContextCreate
            | Self::Tick
            | Self::QueueReady
            | Self::HttpCallResponse
            | Self::Done
            | Self::Log
            | Self::Delete => limits.background,
        }
    }
}

impl fmt::Display for PluginCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

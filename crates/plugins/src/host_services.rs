//! What plugins reach beyond the exchange: the log, and the services that were granted to them.

use headgate_core::callout::{CalloutService, ServiceHttpRequest};
use headgate_wasm::{
    PluginHostServices, PluginHttpCall, PluginHttpFuture, PluginHttpResponse, PluginLogLevel,
};
use http::{HeaderMap, header};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The environment of one plugin.
pub struct GatewayPluginHostServices {
    /// By the names that the configuration grants.
    pub services: BTreeMap<String, Arc<CalloutService>>,
}

impl PluginHostServices for GatewayPluginHostServices {
    fn log(&self, plugin: &str, level: PluginLogLevel, line: &str) {
        match level {
            PluginLogLevel::Trace => tracing::trace!(plugin, line, "plugin log"),
            PluginLogLevel::Debug => tracing::debug!(plugin, line, "plugin log"),
            PluginLogLevel::Info => tracing::info!(plugin, line, "plugin log"),
            PluginLogLevel::Warn => tracing::warn!(plugin, line, "plugin log"),
            PluginLogLevel::Error | PluginLogLevel::Critical => {
                tracing::error!(plugin, line, "plugin log");
            }
        }
    }

    fn http_call(&self, _plugin: &str, call: PluginHttpCall) -> PluginHttpFuture {
        let service = self.services.get(&call.upstream).cloned();
        Box::pin(async move {
            let service = service.ok_or("the service is not granted")?;
            let (timeout, limit) = (call.timeout, call.response_limit);
            let content = ServiceHttpRequest {
                method: call.method,
                path: call.path,
                headers: sendable(call.headers),
                body: call.body,
            };
            let sent = service.forward(content, timeout, limit).await;
            let response = sent.map_err(|failed| failed.detail)?;
            Ok(PluginHttpResponse {
                status: response.status,
                headers: response.headers,
                body: response.body,
                trailers: HeaderMap::new(),
            })
        })
    }
}

/// The headers of a plugin's call, without those that describe the connection.
fn sendable(mut headers: HeaderMap) -> HeaderMap {
    for name in [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::EXPECT,
        header::HOST,
        header::TE,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ] {
        headers.remove(name);
    }
    headers
}

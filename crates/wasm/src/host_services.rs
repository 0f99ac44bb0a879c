//! What plugins need of the program around them: a log, HTTP calls, the time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::exchange::HeaderNamesDebug;

/// The program around the plugins. One value serves all of them.
pub trait PluginHostServices: Send + Sync + 'static {
    /// A line of a plugin, within the plugin's limits: at most 4 KiB, of printable characters and tabs.
    fn log(&self, plugin: &str, level: PluginLogLevel, message: &str);

    /// Sends a request of a plugin to an upstream that was granted to it.
    fn http_call(&self, plugin: &str, call: PluginHttpCall) -> PluginHttpFuture;

    /// A request of a plugin to an upstream that was not granted to it. It is not sent, and logged already.
    fn refused_http_call(&self, plugin: &str, upstream: &str) {
        let _ = (plugin, upstream);
    }

    /// The time that plugins see.
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// The response to a call. An error is logged for the operator; the plugin only learns that there is no response.
pub type PluginHttpFuture =
    Pin<Box<dyn Future<Output = Result<PluginHttpResponse, String>> + Send>>;

/// An HTTP request of a plugin.
#[derive(Clone, PartialEq, Eq)]
pub struct PluginHttpCall {
    /// A name from [`crate::PluginGrants::http_call`].
    pub upstream: String,
    pub method: http::Method,
    /// The path and the query; begins with `/`.
    pub path: String,
    /// The host that the plugin names, perhaps empty.
    pub authority: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub trailers: HeaderMap,
    /// The call is dropped after this.
    pub timeout: Duration,
    /// A response with a larger body is dropped, so that no more of it needs to be read.
    pub response_limit: usize,
}

/// The response to an HTTP request of a plugin.
#[derive(Clone, PartialEq, Eq)]
pub struct PluginHttpResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub trailers: HeaderMap,
}

/// The levels of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PluginLogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Critical,
}

impl PluginLogLevel {
    pub(crate) fn from_abi(level: i32) -> Option<Self> {
        Some(match level {
            0 => Self::Trace,
            1 => Self::Debug,
            2 => Self::Info,
            3 => Self::Warn,
            4 => Self::Error,
            5 => Self::Critical,
            _ => return None,
        })
    }

    pub(crate) fn to_abi(self) -> i32 {
        match self {
            Self::Trace => 0,
            Self::Debug => 1,
            Self::Info => 2,
            Self::Warn => 3,
            Self::Error => 4,
            Self::Critical => 5,
        }
    }
}

/// Without the values of headers and the body, which may be secrets.
impl fmt::Debug for PluginHttpCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginHttpCall")
            .field("upstream", &self.upstream)
            .field("method", &self.method)
            .field("headers", &HeaderNamesDebug(&self.headers))
            .field("body", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// As of [`PluginHttpCall`].
impl fmt::Debug for PluginHttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginHttpResponse")
            .field("status", &self.status)
            .field("headers", &HeaderNamesDebug(&self.headers))
            .field("body", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for PluginLogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Critical => "critical",
        })
    }
}

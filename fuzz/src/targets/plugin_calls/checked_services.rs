//! The program around the plugin, which checks what it is asked for, and what it has of an exchange.

use super::{BODY_BYTES_MAX, LINE_BYTES_MAX, headers};
use bytes::Bytes;
use headgate_wasm::{
    PluginHostServices, PluginHttpCall, PluginHttpFuture, PluginHttpResponse, PluginLogLevel,
    PropertySource, PropertyValue,
};
use http::StatusCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

/// Counts the HTTP calls of a plugin.
#[derive(Default)]
pub struct CheckedServices {
    calls: AtomicUsize,
}

/// One property of each type.
#[derive(Debug)]
pub struct CheckedProperties;

impl CheckedServices {
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl PluginHostServices for CheckedServices {
    fn log(&self, _plugin: &str, _level: PluginLogLevel, message: &str) {
        assert!(message.len() <= LINE_BYTES_MAX);
        let is_printable = |character: char| character == '\t' || !character.is_control();
        assert!(message.chars().all(is_printable), "{message:?}");
    }

    fn http_call(&self, _plugin: &str, call: PluginHttpCall) -> PluginHttpFuture {
        assert_eq!(call.upstream, "up");
        assert!(call.path.starts_with('/') && call.body.len() <= BODY_BYTES_MAX);
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        // Every fourth call has no response, and every fourth one too large a body.
        let body = match number % 4 {
            1 => None,
            2 => Some(Bytes::from(vec![b'a'; BODY_BYTES_MAX + 1])),
            _ => Some(Bytes::from_static(b"{}")),
        };
        Box::pin(async move {
            let body = body.ok_or("connection refused")?;
            Ok(PluginHttpResponse {
                status: StatusCode::OK,
                headers: headers(&[("x-a", "1")]),
                body,
                trailers: headers(&[("x-t", "1")]),
            })
        })
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

impl PropertySource for CheckedProperties {
    fn property(&self, path: &[&str]) -> Option<PropertyValue> {
        Some(match path {
            ["text"] => PropertyValue::Text("a".into()),
            ["bytes"] => PropertyValue::Bytes(Bytes::from_static(b"\xff")),
            ["int"] => PropertyValue::Int(-1),
            ["bool"] => PropertyValue::Bool(true),
            ["time"] => PropertyValue::Time(SystemTime::UNIX_EPOCH),
            ["map"] => PropertyValue::Map(vec![("a".into(), "b".into())]),
            _ => return None,
        })
    }
}

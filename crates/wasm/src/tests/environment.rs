//! The program around the plugins of tests: it keeps what they log, and scripts their calls as the test says.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tokio::sync::Notify;

use crate::{
    PluginHostServices, PluginHttpCall, PluginHttpFuture, PluginHttpResponse, PluginLogLevel,
};

/// The program around the plugins of a test.
#[derive(Default)]
pub(super) struct TestEnvironment {
    lines: Mutex<Vec<(PluginLogLevel, String)>>,
    calls: Mutex<Vec<PluginHttpCall>>,
    scripts: Mutex<VecDeque<CallScript>>,
}

/// What happens to an HTTP call.
pub(super) enum CallScript {
    Response(PluginHttpResponse),
    /// When the test notifies.
    After(Arc<Notify>, PluginHttpResponse),
    Error(&'static str),
    Never,
}

impl TestEnvironment {
    /// What happens to the next call that has no script yet.
    pub fn script(&self, script: CallScript) {
        self.scripts.lock().unwrap().push_back(script);
    }

    /// The messages that were logged, without their levels.
    pub fn messages(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        lines.iter().map(|(_, line)| line.clone()).collect()
    }

    pub fn lines(&self) -> Vec<(PluginLogLevel, String)> {
        self.lines.lock().unwrap().clone()
    }

    pub fn calls(&self) -> Vec<PluginHttpCall> {
        self.calls.lock().unwrap().clone()
    }
}

impl PluginHostServices for TestEnvironment {
    fn log(&self, _plugin: &str, level: PluginLogLevel, message: &str) {
        let mut lines = self.lines.lock().unwrap();
        lines.push((level, message.to_owned()));
    }

    fn http_call(&self, _plugin: &str, call: PluginHttpCall) -> PluginHttpFuture {
        self.calls.lock().unwrap().push(call);
        let script = self.scripts.lock().unwrap().pop_front();
        Box::pin(async move {
            match script.unwrap_or(CallScript::Never) {
                CallScript::Response(response) => Ok(response),
                CallScript::Error(reason) => Err(reason.to_owned()),
                CallScript::Never => std::future::pending().await,
                CallScript::After(notify, response) => {
                    notify.notified().await;
                    Ok(response)
                }
            }
        })
    }
}

/// A response to a call.
pub(super) fn response(status: u16, body: &str) -> PluginHttpResponse {
    PluginHttpResponse {
        status: StatusCode::from_u16(status).unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        trailers: HeaderMap::new(),
    }
}

//! The environment of a test case: it records the log and the calls, and has the responses of the case.

use super::case_file::CaseCallResponse;
use super::case_message::CaseInputMessage;
use super::outcome::{PluginOutputMessage, RecordedCall};
use headgate_wasm::{
    PluginHostServices, PluginHttpCall, PluginHttpFuture, PluginHttpResponse, PluginLogLevel,
};
use http::{HeaderMap, StatusCode};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// What a plugin reaches in a test case.
pub struct CaseHostServices {
    record: Mutex<CaseHostState>,
    /// The time that the plugin sees; `None` for the real one.
    time: Option<SystemTime>,
}

#[derive(Default)]
struct CaseHostState {
    log: Vec<String>,
    responses: VecDeque<CaseCallResponse>,
    calls: Vec<RecordedCall>,
    problems: Vec<String>,
}

impl CaseHostServices {
    pub fn new(responses: Vec<CaseCallResponse>, time: Option<SystemTime>) -> Self {
        Self {
            record: Mutex::new(CaseHostState {
                responses: responses.into(),
                ..CaseHostState::default()
            }),
            time,
        }
    }

    /// Whether a response is left for a call that the plugin has not made.
    pub fn awaits_calls(&self) -> bool {
        !self.record().responses.is_empty()
    }

    /// The lines of the log: the level, a space and the message.
    pub fn log_lines(&self) -> Vec<String> {
        self.record().log.clone()
    }

    /// The calls that the plugin made, in order. They are taken.
    pub fn take_calls(&self) -> Vec<RecordedCall> {
        std::mem::take(&mut self.record().calls)
    }

    /// Calls without a response in the case, and responses without a call.
    pub fn call_problems(&self) -> Vec<String> {
        let record = self.record();
        let left = record.responses.iter();
        let left =
            left.map(|call| format!("no call to `{}`, for which there is an entry", call.channel));
        record.problems.iter().cloned().chain(left).collect()
    }

    fn record(&self) -> MutexGuard<'_, CaseHostState> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PluginHostServices for CaseHostServices {
    fn log(&self, _plugin: &str, level: PluginLogLevel, message: &str) {
        self.record().log.push(format!("{level} {message}"));
    }

    fn http_call(&self, _plugin: &str, call: PluginHttpCall) -> PluginHttpFuture {
        let mut record = self.record();
        let channel = call.upstream.clone();
        let response = record.responses.pop_front();
        record.calls.push(recorded(call));
        let problem = match &response {
            None => Some(format!(
                "a call to `{channel}`, for which there is no entry"
            )),
            Some(entry) if entry.channel != channel => {
                let expected = &entry.channel;
                Some(format!(
                    "a call to `{channel}` where the entry is for `{expected}`"
                ))
            }
            Some(_) => None,
        };
        record.problems.extend(problem);
        let result = match response {
            Some(call) if !call.fails => Ok(received(call.response.as_ref())),
            _ => Err("the test case has no response".to_owned()),
        };
        Box::pin(async { result })
    }

    fn now(&self) -> SystemTime {
        self.time.unwrap_or_else(SystemTime::now)
    }

    fn refused_http_call(&self, _plugin: &str, upstream: &str) {
        let problem = format!("a call to `{upstream}`, for which there is no entry");
        self.record().problems.push(problem);
    }
}

/// The response that the plugin receives.
fn received(response: Option<&CaseInputMessage>) -> PluginHttpResponse {
    let status = response.map_or(StatusCode::SERVICE_UNAVAILABLE, CaseInputMessage::status);
    PluginHttpResponse {
        status,
        headers: response.map_or_else(HeaderMap::new, |response| response.headers.plain.clone()),
        body: response
            .map(CaseInputMessage::whole_body)
            .unwrap_or_default(),
        trailers: HeaderMap::new(),
    }
}

fn recorded(call: PluginHttpCall) -> RecordedCall {
    RecordedCall {
        channel: call.upstream,
        message: PluginOutputMessage {
            pseudo: vec![
                (":method", call.method.to_string()),
                (":authority", call.authority),
                (":path", call.path),
            ],
            headers: call.headers,
            body: call.body.to_vec(),
        },
    }
}

//! What a capture records of an exchange. Unless one does, each function only looks for it.

use super::Exchange;
use crate::downstream::ExchangeWaitRecorder;
use crate::upstream::request::{PreparedBody, PreparedRequest};
use crate::upstream::response::UpstreamResponse;
use headgate_channel::lease::ChannelLease;
use headgate_observe::captures::exchange_capture::{HeadToCapture, shown_target};
use headgate_protocol::fault::Fault;
use serde_json::{Map, Value, json};

impl Exchange<'_> {
    /// Begins to capture the exchange, if a capture records its caller.
    #[cold]
    pub(super) fn begin_capture(&self) {
        let request = &self.request;
        let Some(caller) = &request.caller else {
            return;
        };
        let captures = &self.gateway.metrics.captures;
        let Some(capture) = captures.begin(&caller.name, &request.id) else {
            return;
        };
        let fields = fields([
            ("method", json!(request.method.as_str())),
            (
                "target",
                json!(shown_target(&request.path, request.query.as_deref())),
            ),
            ("route", json!(&*request.route)),
        ]);
        let head = HeadToCapture {
            fields,
            headers: &request.headers,
            reveals: &|_| false,
        };
        capture.head("request", head);
        self.open.request().set_capture(capture);
    }

    /// Captures the body of the request, unless it streams.
    pub(super) fn capture_body(&self) {
        if let Some(capture) = self.open.request().capture()
            && let Some(body) = self.request.body.bytes()
        {
            capture.request_body(body);
        }
    }
}

/// Captures a request to a provider.
pub(super) fn upstream_request(
    wait_times: &ExchangeWaitRecorder,
    lease: &ChannelLease,
    request: &PreparedRequest,
) {
    let Some(capture) = wait_times.capture() else {
        return;
    };
    let channel = &lease.candidate.channel;
    let head = HeadToCapture {
        fields: fields([
            ("channel", json!(&*channel.name)),
            ("credential", json!(lease.key.map(|key| key + 1))),
            ("method", json!(request.method.as_str())),
            (
                "target",
                json!(shown_target(
                    &channel.query.masked(&request.uri.to_string()),
                    None
                )),
            ),
        ]),
        headers: &request.headers,
        reveals: &|value| lease.reveals(value),
    };
    match &request.body {
        PreparedBody::Whole(body) => {
            capture.head_and_body(
                "upstream_request",
                head,
                body.iter().map(|piece| &piece[..]),
            );
        }
        PreparedBody::Absent | PreparedBody::Streamed(_) => capture.head("upstream_request", head),
    }
}

/// Captures the head of a provider's response.
pub(super) fn upstream_response(
    wait_times: &ExchangeWaitRecorder,
    lease: &ChannelLease,
    response: &UpstreamResponse,
) {
    let Some(capture) = wait_times.capture() else {
        return;
    };
    let channel = &lease.candidate.channel;
    let head = HeadToCapture {
        fields: fields([
            ("channel", json!(&*channel.name)),
            ("status", json!(response.status.as_u16())),
        ]),
        headers: response.headers(),
        reveals: &|value| lease.reveals(value),
    };
    capture.head("upstream_response", head);
}

/// Captures an attempt that brought no response.
pub(super) fn failed_attempt(
    wait_times: &ExchangeWaitRecorder,
    lease: &ChannelLease,
    fault: &Fault,
) {
    let Some(capture) = wait_times.capture() else {
        return;
    };
    let event = fields([
        ("channel", json!(&*lease.candidate.channel.name)),
        ("error_code", json!(fault.kind.code())),
        ("error_detail", json!(fault.detail)),
    ]);
    capture.event("failed_attempt", event);
}

fn fields<const COUNT: usize>(fields: [(&str, Value); COUNT]) -> Map<String, Value> {
    let fields = fields.into_iter();
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

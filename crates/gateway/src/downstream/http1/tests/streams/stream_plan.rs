//! Plans of streams: requests in a row, of which one at most has a fault.

use super::choices::StreamChoices;
use super::faults;
use super::reading::{AcceptedRequest, StreamReadingEnd};
use super::request_plan::RequestPlan;
use bytes::Bytes;

/// A stream, and what it means.
pub struct ByteStreamPlan {
    pub stream: Vec<u8>,
    pub requests: Vec<AcceptedRequest>,
    pub end: StreamReadingEnd,
}

impl ByteStreamPlan {
    pub fn generate(choices: &mut StreamChoices<'_>) -> Self {
        let mut plan = Self {
            stream: Vec::new(),
            requests: Vec::new(),
            end: StreamReadingEnd::Silent,
        };
        let mut left = choices.below(4);
        while plan.push(choices) && left > 0 {
            left -= 1;
        }
        if plan.end != StreamReadingEnd::Silent {
            plan.push_rest(choices, left);
        }
        plan
    }

    /// Adds a request; returns whether another one may follow.
    fn push(&mut self, choices: &mut StreamChoices<'_>) -> bool {
        let mut request = RequestPlan::generate(choices);
        match choices.below(16) {
            0..10 => {}
            10 => request.pad(0),
            11 => {
                self.push_begin(choices, &request);
                return false;
            }
            _ => self.end = faults::plant(choices, &mut request),
        }
        self.stream.extend_from_slice(&request.bytes());
        if self.end != StreamReadingEnd::RefusedHead {
            self.requests.push(request.meaning());
        }
        if self.end == StreamReadingEnd::Silent && request.is_last {
            self.end = StreamReadingEnd::Closed(Bytes::new());
        }
        self.end == StreamReadingEnd::Silent
    }

    /// Adds a request whose client leaves before its end.
    fn push_begin(&mut self, choices: &mut StreamChoices<'_>, request: &RequestPlan) {
        let bytes = request.bytes();
        let count = choices.below(bytes.len());
        self.stream.extend_from_slice(&bytes[..count]);
        let body = request.lead.len() + request.head().len();
        self.end = match count {
            _ if count <= request.lead.len() => StreamReadingEnd::Silent,
            _ if count < body => StreamReadingEnd::UnfinishedHead,
            _ => StreamReadingEnd::UnfinishedBody,
        };
        if self.end == StreamReadingEnd::UnfinishedBody {
            let body = None;
            self.requests.push(AcceptedRequest {
                body,
                ..request.meaning()
            });
        }
    }

    /// Adds `count` requests that a server must not read.
    fn push_rest(&mut self, choices: &mut StreamChoices<'_>, count: usize) {
        let is_left = matches!(
            self.end,
            StreamReadingEnd::UnfinishedHead | StreamReadingEnd::UnfinishedBody
        );
        if is_left {
            return;
        }
        let rest = (0..count).flat_map(|_| RequestPlan::generate(choices).bytes());
        let rest: Vec<u8> = rest.collect();
        self.stream.extend_from_slice(&rest);
        if let StreamReadingEnd::Closed(behind) = &mut self.end {
            *behind = rest.into();
        }
    }
}

//! The order of responses: one after the other with the same `stream_id`, a limited number at once with different ones.

use super::error_event::ErrorEvent;
use super::response_create::ResponseCreate;
use super::stream_id::StreamId;
use headgate_protocol::fault::{Fault, FaultKind};
use std::collections::{HashMap, VecDeque};

/// Maximum number of responses at once, as OpenAI's guide to WebSockets states it.
const ACTIVE_MAX: usize = 16;
/// Maximum number of different `stream_id`s on a WebSocket, from the same guide; requests without one do not count.
const STREAMS_MAX: usize = 32;

/// The requests of a WebSocket that wait or run.
#[derive(Debug, Default)]
pub struct ResponseLanes {
    lanes: HashMap<Option<StreamId>, Lane>,
    active: usize,
    /// Size of all requests that wait, in bytes.
    waiting_bytes: usize,
}

#[derive(Debug, Default)]
struct Lane {
    is_active: bool,
    waiting: VecDeque<ResponseCreate>,
}

impl ResponseLanes {
    /// Whether no request waits or runs.
    pub fn is_idle(&self) -> bool {
        self.active == 0 && self.waiting_bytes == 0
    }

    /// Adds a request to its lane. Requests that wait may have `waiting_bytes_max` bytes together.
    ///
    /// # Errors
    /// There are too many lanes, or too many requests wait.
    pub fn add(
        &mut self,
        request: ResponseCreate,
        waiting_bytes_max: usize,
    ) -> Result<(), ErrorEvent> {
        let named = self.lanes.keys().filter(|name| name.is_some()).count();
        if !self.lanes.contains_key(&request.stream)
            && request.stream.is_some()
            && named >= STREAMS_MAX
        {
            let message = format!(
                "this WebSocket has used {STREAMS_MAX} different `stream_id`s; use one of them again, or connect again"
            );
            let code = "websocket_stream_limit_reached";
            return Err(ErrorEvent::for_code(code, &message, Some("stream_id")));
        }
        if self.waiting_bytes > 0 && self.waiting_bytes + request.len() > waiting_bytes_max {
            let message = "too many requests wait on this WebSocket; send the next one when a response has ended";
            let fault = Fault::new(FaultKind::TooManyRequests, message);
            return Err(ErrorEvent::from_fault(&fault));
        }
        self.waiting_bytes += request.len();
        let lane = self.lanes.entry(request.stream.clone()).or_default();
        lane.waiting.push_back(request);
        Ok(())
    }

    /// Begins a request that may run now; it runs until [`Self::end`].
    pub fn begin_next(&mut self) -> Option<ResponseCreate> {
        if self.active == ACTIVE_MAX {
            return None;
        }
        let mut lanes = self.lanes.values_mut();
        let lane = lanes.find(|lane| !lane.is_active && !lane.waiting.is_empty())?;
        let request = lane.waiting.pop_front()?;
        lane.is_active = true;
        self.active += 1;
        self.waiting_bytes -= request.len();
        Some(request)
    }

    /// Notes that the request that ran on a lane has ended.
    pub fn end(&mut self, stream: &Option<StreamId>) {
        if let Some(lane) = self.lanes.get_mut(stream)
            && std::mem::take(&mut lane.is_active)
        {
            self.active -= 1;
        }
    }

    /// Takes the requests that have not begun.
    pub fn take_waiting(&mut self) -> Vec<ResponseCreate> {
        self.waiting_bytes = 0;
        let lanes = self.lanes.values_mut();
        lanes.flat_map(|lane| lane.waiting.drain(..)).collect()
    }
}

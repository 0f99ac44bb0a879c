//! What a callback of a stream decided, and what the stream gets back.

use bytes::Bytes;

use crate::error::PluginFailure;
use crate::exchange::{LentExchange, PluginReply};
use crate::guest_state::{StreamSide, StreamState};

/// What became of a callback.
pub(crate) struct StreamCallbackOutcome {
    /// `None` while the instance keeps it, since the stream waits.
    pub exchange: Option<LentExchange>,
    pub result: Result<StreamCallbackDecision, PluginFailure>,
    /// After a failure: what the plugin was given of the two bodies, and has not passed on.
    pub held: [Bytes; 2],
}

/// What a callback decided.
#[derive(Debug)]
pub(crate) enum StreamCallbackDecision {
    /// With what goes on of the body.
    Continue(Bytes),
    /// More of the body may follow.
    Hold,
    /// Until the plugin continues.
    Wait,
    Reply(PluginReply),
    Close,
}

impl StreamCallbackOutcome {
    pub fn from_reaction(reaction: StreamCallbackDecision) -> Self {
        Self {
            exchange: None,
            result: Ok(reaction),
            held: Default::default(),
        }
    }
}

impl StreamState {
    /// Takes back the exchange. Its edits stay; while the stream is held, they can still be undone.
    pub fn take_exchange(&mut self, reaction: &StreamCallbackDecision) -> LentExchange {
        if !matches!(reaction, StreamCallbackDecision::Hold) {
            self.edits.clear();
        }
        self.exchange.take().unwrap_or_default()
    }

    /// What the plugin decided for one side; `None` if it is paused.
    pub fn decision(&mut self, side: StreamSide) -> Option<StreamCallbackDecision> {
        if let Some(reply) = self.reply.take() {
            return Some(StreamCallbackDecision::Reply(reply));
        }
        if self.is_closed {
            return Some(StreamCallbackDecision::Close);
        }
        let is_continued = std::mem::take(&mut self.continued[side as usize]);
        is_continued.then(|| StreamCallbackDecision::Continue(self.body(side).pass()))
    }
}

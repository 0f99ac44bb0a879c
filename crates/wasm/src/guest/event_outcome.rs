//! What a callback of a stream decided, and what the stream gets back.

use bytes::Bytes;

use crate::error::PluginFailure;
use crate::exchange::{ExchangeData, PluginReply};
use crate::guest_state::{StreamSide, StreamState};

/// What became of a callback.
pub(crate) struct EventOutcome {
    /// `None` while the instance keeps it, since the stream waits.
    pub exchange: Option<ExchangeData>,
    pub result: Result<Reaction, PluginFailure>,
    /// After a failure: what the plugin was given of the two bodies, and has not passed on.
    pub held: [Bytes; 2],
}

/// What a callback decided.
#[derive(Debug)]
pub(crate) enum Reaction {
    /// With what goes on of the body.
    Continue(Bytes),
    /// More of the body may follow.
    Hold,
    /// Until the plugin continues.
    Wait,
    Reply(PluginReply),
    Close,
}

impl EventOutcome {
    pub fn from_reaction(reaction: Reaction) -> Self {
        Self {
            exchange: None,
            result: Ok(reaction),
            held: Default::default(),
        }
    }
}

impl StreamState {
    /// Takes back the exchange. Its edits stay; while the stream is held, they can still be undone.
    pub fn take_exchange(&mut self, reaction: &Reaction) -> ExchangeData {
        if !matches!(reaction, Reaction::Hold) {
            self.edits.clear();
        }
        self.exchange.take().unwrap_or_default()
    }

    /// What the plugin decided for one side; `None` if it is paused.
    pub fn decision(&mut self, side: StreamSide) -> Option<Reaction> {
        if let Some(reply) = self.reply.take() {
            return Some(Reaction::Reply(reply));
        }
        if self.is_closed {
            return Some(Reaction::Close);
        }
        let is_continued = std::mem::take(&mut self.continued[side as usize]);
        is_continued.then(|| Reaction::Continue(self.body(side).pass()))
    }
}

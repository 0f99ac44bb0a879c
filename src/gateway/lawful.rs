//! When a request may go to another channel after one has failed: never where that could do its work twice.

use crate::filter::view::RequestView;
use crate::protocol::Protocol;
use crate::protocol::fault::FaultKind;

/// What doing a request's work twice would cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Text that nobody keeps: an answer that is thrown away costs its tokens.
    Free,
    /// The provider keeps the answer: a silent one may still be at work on it.
    Stored,
    /// The provider works on it whether anybody listens or not.
    Lasting,
}

impl Replay {
    /// What the request is, by its protocol and body.
    pub fn of(request: &RequestView) -> Self {
        let flag = |name: &str| {
            let root = request.body.as_ref()?.root();
            root.get(name)?.as_bool()
        };
        if flag("background") == Some(true) {
            return Self::Lasting;
        }
        let stored = match request.protocol {
            Some(Protocol::Messages) => false,
            Some(Protocol::Chat) => flag("store") == Some(true),
            // Stored unless the request says otherwise.
            Some(Protocol::Responses) => flag("store") != Some(false),
            None => true,
        };
        match stored {
            true => Self::Stored,
            false => Self::Free,
        }
    }

    /// Whether another channel may be tried after `fault`; `untouched` says that no byte went out.
    pub fn may_follow(self, fault: FaultKind, untouched: bool, on_silence: bool) -> bool {
        match (fault, self) {
            (FaultKind::ClientGone, _) => false,
            _ if untouched => true,
            (FaultKind::UpstreamTimeout, Self::Free) => on_silence,
            (FaultKind::UpstreamTimeout, Self::Stored | Self::Lasting) => false,
            (_, Self::Free | Self::Stored) => true,
            (_, Self::Lasting) => false,
        }
    }

    /// Whether a request may go out once more on a fresh connection where a pooled one broke at once.
    pub fn may_repeat(self) -> bool {
        self != Self::Lasting
    }
}

//! When a request may go to another channel after one has failed: never where that could do its work twice.

use crate::filter::view::RequestView;
use crate::protocol::Protocol;
use crate::protocol::blame::Blame;
use crate::protocol::fault::FaultKind;
use http::{Method, StatusCode};

/// What doing a request's work twice would cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Text that nobody keeps: an answer that is thrown away costs its tokens.
    Free,
    /// The provider keeps the answer: a silent one may still be at work on it.
    Stored,
    /// The provider works on it whether anybody listens or not.
    Lasting,
    /// The provider takes money for each that it accepts: images and videos.
    Paid,
}

impl Replay {
    /// What the request is, by its protocol and body.
    pub fn of(request: &RequestView) -> Self {
        let flag = |name: &str| {
            let root = request.body.as_ref()?.root();
            root.get(name)?.as_bool()
        };
        let stored = match request.protocol {
            Some(Protocol::ImageEdit | Protocol::Video | Protocol::FamilyA | Protocol::FamilyB) => {
                return match request.method == Method::POST {
                    true => Self::Paid,
                    false => Self::Free,
                };
            }
            Some(Protocol::Messages) => false,
            Some(Protocol::Chat) => flag("store") == Some(true),
            // Stored unless the request says otherwise.
            Some(Protocol::Responses) => flag("store") != Some(false),
            None => true,
        };
        match (flag("background"), stored) {
            (Some(true), _) => Self::Lasting,
            (_, true) => Self::Stored,
            (_, false) => Self::Free,
        }
    }

    /// Whether another channel may be tried after `fault`; `untouched` says that no byte went out.
    pub fn may_follow(self, fault: FaultKind, untouched: bool, on_silence: bool) -> bool {
        match (fault, self) {
            (FaultKind::ClientGone, _) => false,
            _ if untouched => true,
            (FaultKind::UpstreamTimeout, Self::Free) => on_silence,
            (FaultKind::UpstreamTimeout, Self::Stored | Self::Lasting | Self::Paid) => false,
            (_, Self::Free | Self::Stored) => true,
            (_, Self::Lasting | Self::Paid) => false,
        }
    }

    /// Whether a request may go out once more on a fresh connection where a pooled one broke at once.
    pub fn may_repeat(self) -> bool {
        !matches!(self, Self::Lasting | Self::Paid)
    }

    /// Whether the caller's SDK may send the request anew by itself once it has failed with `fault`.
    pub fn may_come_anew(self, fault: FaultKind) -> bool {
        match self {
            Self::Free | Self::Stored | Self::Lasting => true,
            Self::Paid => !matches!(
                fault,
                FaultKind::Upstream | FaultKind::UnreadableAnswer | FaultKind::OutcomeUnknown
            ),
        }
    }

    /// Whether another channel may be tried after an answer that `blame` explains: for a paid request only
    /// where a 4xx says that this account, key, model or moment is the reason.
    pub fn may_follow_answer(self, status: StatusCode, blame: Blame) -> bool {
        match self {
            Self::Free | Self::Stored | Self::Lasting => blame.may_go_elsewhere(),
            Self::Paid => {
                status.is_client_error()
                    && matches!(
                        blame,
                        Blame::Busy | Blame::Credential | Blame::Account | Blame::NotHere
                    )
            }
        }
    }
}

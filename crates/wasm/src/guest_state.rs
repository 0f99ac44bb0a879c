//! What the host functions of one instance work on; it knows neither them nor the calls into the instance.

mod background;
mod edits;
mod map;
mod map_kind;
mod state;
mod timers;

pub(crate) use background::{BackgroundCall, BackgroundCalls};
pub(crate) use map::{MapEdit, MapView};
pub(crate) use map_kind::HeaderMapKind;
pub(crate) use state::{GuestState, HeldBody, HttpCallTask, ROOT_CONTEXT, StreamSide, StreamState};

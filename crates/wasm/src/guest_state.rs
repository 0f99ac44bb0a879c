//! What the host functions of one instance work on; it knows neither them nor the calls into the instance.

mod background;
mod edits;
mod map;
mod map_kind;
mod state;
mod timers;

pub(crate) use background::{BackgroundCall, BackgroundCallRunner};
pub(crate) use map::{HeaderMapEditor, HeaderMapView};
pub(crate) use map_kind::HeaderMapKind;
pub(crate) use state::{GuestState, HeldBody, HttpCallTask, ROOT_CONTEXT, StreamSide, StreamState};

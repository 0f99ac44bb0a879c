//! Thoughts of models in the hands of callers of another protocol.

mod handle;
mod kept;
mod removal;
mod replay;
mod restore;
mod seal;
mod sealing;
mod summary;
#[cfg(test)]
mod tests;

pub(crate) use kept::restore_kept;
pub use kept::thinking_handles;
pub use removal::remove_seals;
pub(crate) use replay::{ThinkingReplay, is_replayed, replay};
pub(crate) use restore::restore_thoughts;
pub use seal::ThinkingSealer;
pub(crate) use sealing::{StreamSealing, seal_response};
pub(crate) use summary::note_summary;

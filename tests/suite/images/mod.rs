//! Image edits.

mod answers;
mod edits;
mod forms;

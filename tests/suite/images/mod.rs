//! Image edits.

mod edits;
mod forms;
mod responses;

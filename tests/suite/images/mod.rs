//! Tests of image edits.

mod edits;
mod forms;
mod responses;

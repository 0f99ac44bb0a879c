//! Tests of image edits.

mod contents;
mod edits;
mod forms;
mod responses;

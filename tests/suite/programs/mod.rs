//! Tests of what operators program in the file: conditions, edits, fixed replies.

mod conditions;
mod cookbook;
mod edit_faults;
mod event_edits;
mod explain_conditions;
mod json_edits;
mod large_edits;
mod replace;
mod reply;

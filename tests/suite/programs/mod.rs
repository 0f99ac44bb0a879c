//! Tests of what operators program in the file: conditions, edits, fixed replies.

mod conditions;
mod cookbook;
mod explain_conditions;

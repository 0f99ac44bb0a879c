//! What keeps the repository in order: each rule is a test, and lists all offenders with their place.

mod arrows;
mod cycles;
mod documents;
mod filters;
mod sources;
mod test_command;
mod tree;

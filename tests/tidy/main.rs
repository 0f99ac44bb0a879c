//! Rules of the repository: each rule is a test that lists all violations with their place.

mod arrows;
mod cycles;
mod dictionary;
mod documents;
mod errors;
mod filters;
mod modules;
mod names;
mod pages;
mod pgo;
mod planted_faults;
mod protocols;
mod renamed_keys;
mod sources;
mod test_command;
mod tree;
mod unsafe_code;

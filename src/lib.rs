//! The `headgate` program: its commands, and the one list of its features.
//!
//! `ARCHITECTURE.md` is the map of all crates.

pub mod memory;

pub mod features;

pub mod cli;

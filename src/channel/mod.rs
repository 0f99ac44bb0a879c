//! Live state of channels, which outlives a snapshot.

pub mod addresses;
pub mod resolve;

//! Fuzz targets: functions that take any bytes and panic if a property of the gateway does not hold.

pub mod corpus;
mod input;
pub mod mutation;
mod targets;
mod translation_context;

#[cfg(test)]
mod tests;

pub use targets::{FuzzTarget, TARGETS, find_target};

//! Headgate: a configuration-driven, programmable reverse proxy in front of generation providers.
//!
//! `ARCHITECTURE.md` is the map; the modules below stand in the order of their arrows, the lowest first.

pub use headgate_protocol as protocol;

pub use headgate_expression as expression;

pub mod memory;
pub mod regular_file;
pub mod scalar;
pub mod serve;

pub mod state;
pub mod task;

pub mod media;

pub mod catalog;

pub mod subrequest;

pub mod callout;

pub mod telemetry;

pub mod polls;

pub mod journal;
pub mod mirroring;
pub mod response_cache;

pub mod callbacks;

#[cfg(feature = "wasm")]
pub mod plugin;

pub mod filter;

pub mod feature;

pub mod config;
pub mod snapshot;

pub mod observe;
pub mod reload;

pub mod channel;
pub mod gateway;

pub mod openapi;

pub mod admin;

pub mod features;

pub mod cli;

//! Video tasks: their mapping to providers' families, their polls, and callbacks of providers and to callers.

pub mod callbacks;
pub mod costs;
pub mod feature;
pub mod filter;
pub mod polls;
mod status_request;
mod unattended_task;
mod work;

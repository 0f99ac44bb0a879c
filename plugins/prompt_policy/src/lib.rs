//! Denies or rewrites prompts by rules.
//!
//! `filter` has the callbacks of Proxy-Wasm. All else are functions of text, which are tested natively.

pub mod config;
#[cfg(target_arch = "wasm32")]
mod filter;
pub mod policy;
pub mod prompt;
pub mod role;

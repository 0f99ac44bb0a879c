//! Replaces personal data in requests by placeholders, and restores it in responses.
//!
//! `filter` has the callbacks of Proxy-Wasm. All else are functions of text, which are tested natively.

pub mod config;
pub mod detect;
pub mod event_reader;
#[cfg(target_arch = "wasm32")]
mod filter;
pub mod placeholder;
pub mod request_text;
pub mod restore;
pub mod stream;

//! Credentials for providers that servers issue for a while, and that are issued anew before they expire.

pub mod credential_registry;
pub mod credential_source;
pub mod refreshed_credential;
pub mod temporary_credential;

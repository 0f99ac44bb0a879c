//! Who calls and what is kept from whom: identity, credentials, requests that two readers could read differently.

mod callers_credentials;
mod chunks;
mod client_address;
mod content_types;
mod credential_echo;
mod desync;
mod hardening;
mod identity;
mod strict_json;

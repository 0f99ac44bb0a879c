//! Tests of security: identity, credentials, ambiguous requests.

mod callers_credentials;
mod chunks;
mod client_address;
mod content_types;
mod credential_echo;
mod desync;
mod hardening;
mod identity;
mod strict_json;

//! Tests of security: identity, credentials, ambiguous requests.

mod admin_access;
mod admin_listener;
mod admin_login;
mod admin_settings;
mod caller_folder;
mod caller_keys;
mod callers_credentials;
mod chunks;
mod client_address;
mod client_certificates;
mod content_types;
mod credential_echo;
mod desync;
mod event_streams;
mod hardening;
mod identity;
mod issued_callers;
mod issued_callers_attacks;
mod issued_fleet;
mod named_upstreams;
mod strict_json;
mod token_attacks;
mod tokens;

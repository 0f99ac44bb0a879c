//! `server.client_address`: where the gateway finds the addresses of clients behind proxies.

use schemars::JsonSchema;
use serde::Deserialize;

/// How the address of a client is determined, for filters and the access log.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct ClientAddressConfig {
    /// Source of the address; no other source is read.
    pub source: AddressSourceConfig,
    /// Networks and addresses of the trusted proxies in front of the gateway.
    pub trusted_proxies: Vec<String>,
}

/// Source of the client's address.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AddressSourceConfig {
    /// The other end of the connection.
    #[default]
    Socket,
    /// A header of the PROXY protocol, version 1 or 2, with which each connection must begin.
    ProxyProtocol,
    /// The header `X-Forwarded-For`.
    XForwardedFor,
    /// The header `Forwarded` (RFC 7239).
    Forwarded,
}

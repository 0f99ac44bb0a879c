//! `server.client_address` of `routes.yaml`: how the address of a client behind proxies is determined.

use schemars::JsonSchema;
use serde::Deserialize;

/// How the address of a client is determined, for filters and the access log.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct ClientAddressConfig {
    /// Source of the address; no other source is read. Default: socket.
    pub source: AddressSourceConfig,
    /// Networks and addresses of the trusted proxies in front of the gateway, such as `10.0.0.0/8`. Required
    /// unless `source` is `socket`.
    pub trusted_proxies: Vec<String>,
}

/// Source of the client's address.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AddressSourceConfig {
    /// The peer of the connection.
    #[default]
    Socket,
    /// The PROXY protocol header, version 1 or 2, with which each connection must begin.
    ProxyProtocol,
    /// The header `X-Forwarded-For`.
    XForwardedFor,
    /// The header `Forwarded` (RFC 7239).
    Forwarded,
}

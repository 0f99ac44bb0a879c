//! Channels as built: where a provider is, how to prove ourselves to it, and how long to wait for it.

use crate::protocol::Protocol;
use http::{HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;

/// One account at one provider.
#[derive(Debug)]
pub struct Channel {
    pub name: Arc<str>,
    pub origin: Origin,
    pub credential: Option<Credential>,
    pub protocols: Vec<Protocol>,
    /// Share of requests among the channels of one tier, 1 or more.
    pub weight: u16,
    /// Lower tiers are tried first.
    pub tier: u8,
    pub timeouts: Timeouts,
    /// Added to every request for this provider.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Equal for equal accounts that are reached in the same way: pooled connections outlive a reload
    /// by it.
    pub fingerprint: u64,
}

/// Where a provider is and how to speak to it.
#[derive(Debug)]
pub struct Origin {
    pub host: Arc<str>,
    pub port: u16,
    /// Path of the base URL without a slash at its end; `""` or `/v1` or deeper.
    pub base_path: Arc<str>,
    /// `host` or `host:port`, as the Host header wants it.
    pub authority: HeaderValue,
    pub http: HttpVersion,
    /// TLS towards the provider; plain HTTP without.
    pub tls: Option<OriginTls>,
}

/// TLS towards a provider; every certificate in DER.
#[derive(Debug, Hash)]
pub struct OriginTls {
    /// Expected in the provider's certificate; never empty, since an empty name would switch verification off.
    pub server_name: String,
    /// Authorities to trust instead of the system's.
    pub authorities: Option<Vec<Vec<u8>>>,
    pub identity: Option<Identity>,
}

/// A client certificate and its key, in DER.
#[derive(Hash)]
pub struct Identity {
    /// Leaf first.
    pub chain: Vec<Vec<u8>>,
    pub key: Vec<u8>,
}

/// HTTP versions to offer to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpVersion {
    /// HTTP/2 where TLS negotiates it, else HTTP/1.1.
    Negotiated,
    Http1,
    Http2,
}

/// The header that proves us to a provider; its value is marked sensitive and never printed.
#[derive(Debug)]
pub struct Credential {
    pub name: HeaderName,
    pub value: HeaderValue,
    /// The secret itself, for redaction.
    pub secret: SecretText,
}

/// A secret that cannot be printed.
#[derive(Clone)]
pub struct SecretText(Box<str>);

/// Deadlines of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    pub first_byte: Duration,
    pub idle: Duration,
    pub total: Duration,
}

impl Channel {
    /// What proves us to the provider, and nobody else may see.
    pub fn secret(&self) -> Option<&str> {
        self.credential
            .as_ref()
            .map(|credential| credential.secret.expose())
    }
}

impl Origin {
    pub fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }
}

impl SecretText {
    pub fn new(secret: &str) -> Self {
        Self(secret.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(30 * 60),
        }
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[identity]")
    }
}

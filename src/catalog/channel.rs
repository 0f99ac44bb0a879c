//! Channels as built: where a provider is, how to prove ourselves to it, and how long to wait for it.

use super::client_address::ForwardedPolicy;
use super::images::ImageEditPolicy;
use crate::protocol::Protocol;
use crate::protocol::mask::ChannelSecrets;
use crate::task::family::VideoFamily;
use http::{HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;

/// One account at one provider.
#[derive(Debug)]
pub struct Channel {
    pub name: Arc<str>,
    pub origin: Origin,
    /// Keys of the same account, used in turn; none where the provider asks for none.
    pub credentials: Vec<Credential>,
    /// What of `credentials` and `headers` no response may reveal.
    pub secrets: Arc<ChannelSecrets>,
    pub protocols: Vec<Protocol>,
    /// It gets no new requests, and only answers for what it has made.
    pub retired: bool,
    /// What its provider speaks for video tasks; none where it makes no videos.
    pub family: Option<Arc<VideoFamily>>,
    pub image_edits: ImageEditPolicy,
    /// Share of requests among the channels of one tier, 1 or more.
    pub weight: u16,
    /// Lower tiers are tried first.
    pub tier: u8,
    pub timeouts: Timeouts,
    /// Added to every request for this provider.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What its provider is told of a client's address.
    pub forwarded: ForwardedPolicy,
    pub limits: ChannelLimits,
    pub health: HealthPolicy,
    /// Equal for equal accounts that are reached in the same way, whatever their keys: what is known of
    /// a channel's health outlives a reload by it.
    pub fingerprint: u64,
}

/// How much a channel may be given; what is over goes to another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelLimits {
    pub in_flight: Option<u32>,
    /// In any 60 s.
    pub requests_per_minute: Option<u64>,
    /// In any 60 s, counted when an answer is over.
    pub tokens_per_minute: Option<u64>,
}

/// When a channel is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthPolicy {
    /// Failures in a row; 0 for never.
    pub failures: u32,
    /// Share of failures among the requests of the last 30 s, 1 to 100.
    pub failure_percent: u8,
    /// The first cool-down; each further one is twice as long, up to `cool_down_max`.
    pub cool_down: Duration,
    pub cool_down_max: Duration,
    /// The first cool-down of a credential that was refused, or whose account has no quota left.
    pub credential_cool_down: Duration,
    pub probe: Option<ProbePolicy>,
}

/// A request that asks a provider from time to time whether it is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbePolicy {
    pub every: Duration,
    pub timeout: Duration,
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
    pub identity: Option<ClientCertificate>,
}

/// A client certificate and its key, in DER.
#[derive(Hash)]
pub struct ClientCertificate {
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
    /// The secret itself, without the scheme of a bearer.
    pub secret: CredentialSecret,
    /// Of the channel and this key together: connections, and what is known of the key, go by it.
    pub fingerprint: u64,
}

/// A secret that cannot be printed.
#[derive(Clone)]
pub struct CredentialSecret(Box<str>);

/// Deadlines of a request to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    pub first_byte: Duration,
    pub idle: Duration,
    pub total: Duration,
}

/// The timeouts that a route sets; the others are the channel's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeoutOverrides {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub idle: Option<Duration>,
    pub total: Option<Duration>,
}

impl TimeoutOverrides {
    /// The timeouts that hold where `base` are the channel's, or those of any channel that sets none.
    pub fn over(self, base: Timeouts) -> Timeouts {
        Timeouts {
            connect: self.connect.unwrap_or(base.connect),
            first_byte: self.first_byte.unwrap_or(base.first_byte),
            idle: self.idle.unwrap_or(base.idle),
            total: self.total.unwrap_or(base.total),
        }
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

impl HealthPolicy {
    /// Of the channel as a whole: where it is probed, a cool-down lasts until the next probe at
    /// least, so that no request has to try it.
    #[must_use]
    pub fn for_channel(self) -> Self {
        let until_probed = self.next_probe_within();
        Self {
            cool_down: self.cool_down.max(until_probed),
            cool_down_max: self.cool_down_max.max(until_probed),
            ..self
        }
    }

    /// Within this time what is left alone is probed again and its answer there, with half as much
    /// again to spare; zero without probes.
    pub fn next_probe_within(&self) -> Duration {
        self.probe.map_or(Duration::ZERO, |probe| {
            let wait = self.probe_interval(probe, false);
            wait.saturating_add(probe.timeout).saturating_mul(3) / 2
        })
    }

    /// The time between two probes; of what is left alone no more than the longest cool-down.
    pub fn probe_interval(&self, probe: ProbePolicy, is_healthy: bool) -> Duration {
        match is_healthy {
            true => probe.every,
            false => probe.every.min(self.cool_down_max),
        }
    }
}

impl CredentialSecret {
    pub fn new(secret: &str) -> Self {
        Self(secret.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Default for HealthPolicy {
    fn default() -> Self {
        Self {
            failures: 5,
            failure_percent: 50,
            cool_down: Duration::from_secs(1),
            cool_down_max: Duration::from_secs(60),
            credential_cool_down: Duration::from_secs(60),
            probe: None,
        }
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

impl std::fmt::Debug for CredentialSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}

impl std::fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[identity]")
    }
}

//! Channels as built: a provider's origin, credentials, timeouts, limits and health policy.

use super::base_path::BasePath;
use super::channel_mask::ChannelMask;
use super::client_address::ForwardedPolicy;
use super::credential::Credential;
use super::fixed_query::FixedQuery;
use super::images::ImageEditPolicy;
use super::outbound_proxy::OutboundProxy;
use crate::state::admission::AdmissionLimit;
use crate::task::callback_signature::CallbackVerificationKey;
use crate::task::family::VideoFamily;
use headgate_expression::Expression;
use headgate_protocol::error_class::ErrorClassifier;
use headgate_protocol::shown_headers::ShownResponseHeaders;
use headgate_protocol::{Protocol, ProviderCloud};
use headgate_translate::Dialect;
use http::{HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;

/// One account at one provider.
#[derive(Debug)]
pub struct Channel {
    pub name: Arc<str>,
    pub origin: Origin,
    /// Credentials of the same account, used in turn; empty if the provider requires none.
    pub credentials: Vec<Credential>,
    /// The values in `credentials`, `headers` and `query` that no response may reveal.
    pub mask: Arc<ChannelMask>,
    pub protocols: Vec<Protocol>,
    /// What the provider takes in requests that are translated into its protocols.
    pub dialect: Arc<Dialect>,
    /// The cloud in whose form requests are sent; `None` for that of the protocol.
    pub cloud: Option<ProviderCloud>,
    /// Whether the channel receives only requests for ids that it created, and no new requests.
    pub retired: bool,
    /// The provider's family of video APIs; `None` if the channel makes no videos.
    pub family: Option<Arc<VideoFamily>>,
    /// The secrets that verify the provider's callbacks, if its family has signatures by shared secrets.
    pub callback_keys: Vec<CallbackVerificationKey>,
    pub image_edits: ImageEditPolicy,
    /// The weight among the channels of one tier, at least 1.
    pub weight: u16,
    /// Channels of lower tiers are used first.
    pub tier: u8,
    pub timeouts: Timeouts,
    /// Headers that are added to every request to this provider.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What the query of every request to this provider has.
    pub query: FixedQuery,
    /// Headers of this provider's responses that callers get besides those that all get.
    pub response_headers: ShownResponseHeaders,
    /// The header in which the provider takes an idempotency key.
    pub idempotency_header: Option<HeaderName>,
    /// What the provider learns about the client's address.
    pub forwarded: ForwardedPolicy,
    pub limits: ChannelLimits,
    /// Budgets in money of all requests on the channel.
    pub budgets: Vec<AdmissionLimit>,
    pub health: HealthPolicy,
    /// What errors of the provider mean.
    pub errors: ErrorClassifier,
    /// Which requests with a model the channel accepts; all if `None`.
    pub condition: Option<Expression>,
    /// A hash of name, base URL, HTTP version and TLS settings, but not of credentials. Live state is stored by
    /// fingerprint, so that it survives a reload.
    pub fingerprint: u64,
}

/// The limits of a channel; requests above them go to another channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelLimits {
    pub concurrent: Option<u32>,
    /// Requests in any 60 s.
    pub requests_per_minute: Option<u64>,
    /// Tokens in any 60 s, counted when a response has ended.
    pub tokens_per_minute: Option<u64>,
}

/// When a channel enters cool-down, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthPolicy {
    /// Consecutive failures that start a cool-down; 0 for never.
    pub consecutive_failures: u32,
    /// The share of failures among the requests of the last 30 s that starts a cool-down, in percent, 1 to 100.
    pub failure_percent: u8,
    /// The first cool-down; each further one is twice as long, up to `cool_down_max`.
    pub cool_down: Duration,
    pub cool_down_max: Duration,
    /// The first cool-down of a credential that was refused, or whose account has no quota left.
    pub credential_cool_down: Duration,
    pub probe: Option<ProbePolicy>,
}

/// The interval and timeout of active probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbePolicy {
    pub interval: Duration,
    pub timeout: Duration,
}

/// Address, base path, HTTP version and TLS of a provider.
#[derive(Debug)]
pub struct Origin {
    pub host: Arc<str>,
    pub port: u16,
    pub base_path: BasePath,
    /// `host` or `host:port`, for the Host header.
    pub authority: HeaderValue,
    pub http: HttpVersion,
    /// TLS to the provider; plain HTTP if `None`.
    pub tls: Option<OriginTls>,
    /// The proxy through which the gateway connects; it resolves the host.
    pub proxy: Option<Arc<OutboundProxy>>,
}

impl Origin {
    /// The base URL, without a trailing slash.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let authority = self.authority.to_str().unwrap_or_default();
        format!("{scheme}://{authority}{}", self.base_path)
    }
}

/// TLS to a provider; certificates are in DER.
#[derive(Debug, Hash)]
pub struct OriginTls {
    /// The name expected in the provider's certificate; never empty, because an empty name would disable verification.
    pub server_name: String,
    /// CA certificates to trust instead of the system's.
    pub authorities: Option<Vec<Vec<u8>>>,
    pub identity: Option<ClientCertificate>,
}

/// A client certificate and its key, in DER.
#[derive(Clone, Hash)]
pub struct ClientCertificate {
    /// The certificate chain, leaf first.
    pub chain: Vec<Vec<u8>>,
    pub key: Vec<u8>,
}

/// The HTTP versions that are offered to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpVersion {
    /// HTTP/2 if TLS negotiates it, else HTTP/1.1.
    Negotiated,
    Http1,
    Http2,
}

/// Timeouts of a request to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    pub first_byte: Duration,
    pub idle: Duration,
    pub total: Duration,
}

/// The timeouts that a route or channel sets; the others are inherited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeoutOverrides {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub idle: Option<Duration>,
    pub total: Option<Duration>,
}

impl TimeoutOverrides {
    /// These timeouts, with `base` for those that are not set.
    pub fn over(self, base: Timeouts) -> Timeouts {
        Timeouts {
            connect: self.connect.unwrap_or(base.connect),
            first_byte: self.first_byte.unwrap_or(base.first_byte),
            idle: self.idle.unwrap_or(base.idle),
            total: self.total.unwrap_or(base.total),
        }
    }
}

impl Channel {
    /// Whether requests for a model have it in their path.
    pub fn puts_model_in_path(&self) -> bool {
        let family = self.family.as_deref();
        self.origin.base_path.names_model() || family.is_some_and(VideoFamily::puts_model_in_path)
    }

    /// A server that the operator names, and that is no provider: it has no credentials, models, limits and health.
    pub fn for_server(
        name: Arc<str>,
        origin: Origin,
        timeouts: Timeouts,
        headers: Vec<(HeaderName, HeaderValue)>,
        fingerprint: u64,
    ) -> Self {
        // What the operator sends there is for nobody else.
        let values = headers.iter().filter_map(|(_, value)| value.to_str().ok());
        Self {
            name,
            origin,
            credentials: Vec::new(),
            mask: Arc::new(ChannelMask::new(&[], values)),
            protocols: Vec::new(),
            dialect: Arc::default(),
            cloud: None,
            retired: false,
            family: None,
            callback_keys: Vec::new(),
            image_edits: ImageEditPolicy::default(),
            weight: 1,
            tier: 0,
            timeouts,
            headers,
            query: FixedQuery::default(),
            response_headers: ShownResponseHeaders::default(),
            idempotency_header: None,
            forwarded: ForwardedPolicy::Off,
            budgets: Vec::new(),
            limits: ChannelLimits::default(),
            health: HealthPolicy::default(),
            errors: ErrorClassifier::default(),
            condition: None,
            fingerprint,
        }
    }
}

impl Origin {
    /// The host and the port to which the gateway itself connects.
    pub fn next_hop(&self) -> (&Arc<str>, u16) {
        match &self.proxy {
            None => (&self.host, self.port),
            Some(proxy) => (&proxy.host, proxy.port),
        }
    }

    pub fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }
}

impl HealthPolicy {
    /// The policy for the channel as a whole: if it is probed, a cool-down lasts at least until the next probe, so that
    /// no request becomes the trial.
    #[must_use]
    pub fn for_channel(self) -> Self {
        let until_probed = self.next_probe_within();
        Self {
            cool_down: self.cool_down.max(until_probed),
            cool_down_max: self.cool_down_max.max(until_probed),
            ..self
        }
    }

    /// The time within which a channel in cool-down is probed and the probe has ended, plus half of it as a margin;
    /// zero without probes.
    pub fn next_probe_within(&self) -> Duration {
        self.probe.map_or(Duration::ZERO, |probe| {
            let wait = self.probe_interval(probe, false);
            wait.saturating_add(probe.timeout).saturating_mul(3) / 2
        })
    }

    /// The interval between two probes; in cool-down at most the longest cool-down.
    pub fn probe_interval(&self, probe: ProbePolicy, is_healthy: bool) -> Duration {
        match is_healthy {
            true => probe.interval,
            false => probe.interval.min(self.cool_down_max),
        }
    }
}

impl Default for HealthPolicy {
    fn default() -> Self {
        Self {
            consecutive_failures: 5,
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

impl std::fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[identity]")
    }
}

//! Channels as written: accounts at providers, and how they are reached.

use super::images::ImageEditConfig;
use super::resilience::{ChannelLimitsConfig, HealthConfig};
use crate::protocol::Protocol;
use crate::scalar::{HumanDuration, Secret};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One account at one provider.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelConfig {
    /// The provider's URL, to which a caller's path is appended without its `/v1`.
    pub base_url: String,
    /// How the gateway proves itself to the provider; nothing is sent if absent.
    pub credential: Option<CredentialConfig>,
    /// Several keys of the same account, used in turn; instead of `credential`.
    #[serde(default)]
    pub credentials: Vec<CredentialConfig>,
    /// Protocols the provider speaks.
    #[schemars(length(min = 1))]
    pub protocols: Vec<Protocol>,
    /// The family that the provider speaks for video tasks.
    pub family: Option<String>,
    /// How the provider wants image edits.
    #[serde(default)]
    pub image_edit: ImageEditConfig,
    /// Platform model to the provider's model.
    #[serde(default)]
    #[schemars(extend("minProperties" = 1))]
    pub models: BTreeMap<String, String>,
    /// Whether it gets no new requests, and only answers for what it has made. false if absent.
    #[serde(default)]
    pub retired: bool,
    /// Share of requests among the channels of one tier.
    #[serde(default = "default_weight")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: u16,
    /// Lower tiers are tried first.
    #[serde(default)]
    pub tier: u8,
    /// Deadlines of each attempt.
    #[serde(default)]
    pub timeouts: TimeoutsConfig,
    /// TLS towards the provider, where `base_url` is https.
    #[serde(default)]
    pub tls: ChannelTlsConfig,
    /// HTTP versions to offer.
    #[serde(default)]
    pub http: HttpVersionConfig,
    /// Headers added to every request for this provider.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What the provider is told of the client's address.
    #[serde(default)]
    pub forwarded: ForwardedConfig,
    /// How much it may be given; what is over goes to another channel.
    #[serde(default)]
    pub limits: ChannelLimitsConfig,
    /// When it is left alone, and for how long.
    #[serde(default)]
    pub health: HealthConfig,
}

/// How the gateway proves itself to a provider.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CredentialConfig {
    /// `Authorization: Bearer …`
    Bearer(Secret),
    /// `x-api-key: …`
    ApiKey(Secret),
    /// A header of another name.
    Header(CredentialHeaderConfig),
}

/// A credential in a header of any name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CredentialHeaderConfig {
    /// The header's name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The header's whole value.
    pub value: Secret,
}

/// Deadlines of an attempt; those of a route override those of a channel.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutsConfig {
    /// To reach the provider, TLS included. 2s if absent.
    pub connect: Option<HumanDuration>,
    /// From the sent request to the first byte of the answer's headers. 60s if absent.
    pub first_byte: Option<HumanDuration>,
    /// Between two chunks of the answer. 60s if absent.
    pub idle: Option<HumanDuration>,
    /// For the whole attempt. 30m if absent.
    pub total: Option<HumanDuration>,
}

/// TLS towards a provider.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelTlsConfig {
    /// PEM file with the authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// PEM file with the client certificate chain.
    pub certificate: Option<PathBuf>,
    /// PEM file with the client certificate's key.
    pub key: Option<PathBuf>,
    /// Name to expect in the provider's certificate instead of the URL's host.
    pub server_name: Option<String>,
}

/// What a provider is told of a client's address, in `Forwarded` where `server.client_address.from` is
/// `forwarded`, else in `X-Forwarded-For`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ForwardedConfig {
    /// Nothing.
    #[default]
    Off,
    /// The list that came from a trusted proxy, and the address that sent it.
    Append,
    /// The client's address alone.
    Replace,
}

/// HTTP versions to offer to a provider.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersionConfig {
    /// HTTP/2 where TLS negotiates it, else HTTP/1.1.
    #[default]
    Auto,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only; with an http URL, without negotiation.
    Http2,
}

fn default_weight() -> u16 {
    1
}

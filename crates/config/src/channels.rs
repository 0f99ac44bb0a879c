//! `channels` of `routes.yaml`: accounts at providers, and how they are reached.

use super::aws_credentials::AwsCredentialConfig;
use super::caller_limits::BudgetConfig;
use super::channel_errors::ErrorClassRuleConfig;
use super::dialects::ChannelDialectConfig;
use super::images::ImageEditConfig;
use super::issued_credentials::{
    AzureCredentialConfig, GcpCredentialConfig, OAuth2CredentialConfig,
};
use super::prices::ModelPriceConfig;
use super::protocols::ProtocolName;
use super::provider_cloud::ProviderCloudConfig;
use super::resilience::{ChannelHealthConfig, ChannelLimitsConfig};
use headgate_core::scalar::{HumanDuration, Secret};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A channel: one account at one provider.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelConfig {
    /// Base URL of the provider; the request path without its `/v1` is appended. It may have a query, which every request
    /// then has, and `{model}` in its path, the provider's name of the model as one segment.
    pub base_url: String,
    /// Query parameters of every request to this provider, in place of a caller's parameters of the same name. Default:
    /// those of `base_url`.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// Credential that is sent to the provider. Default: none.
    pub credential: Option<ProviderCredentialConfig>,
    /// Several credentials of the same account, used round robin; instead of `credential`. One that is refused
    /// or rate limited is skipped during its cool-down.
    #[serde(default)]
    pub credentials: Vec<ProviderCredentialConfig>,
    /// Protocols of the provider, at least one.
    #[schemars(length(min = 1))]
    pub protocols: Vec<ProtocolName>,
    /// Video family of the provider, one of `families`. Default: that of its protocol.
    pub family: Option<String>,
    /// Secrets that verify callbacks of the provider, if its family has signatures by shared secrets. List the new and the
    /// old one while the provider changes over. Default: callbacks are not verified.
    #[serde(default)]
    pub callback_secrets: Vec<Secret>,
    /// What the provider does differently from others of its protocols, for requests that a route translates: the name of a
    /// dialect, one of `dialects` or one that comes with the program, or what it has. Default: standard.
    pub dialect: Option<ChannelDialectConfig>,
    /// The cloud whose API this is, if that has the model in the path and not in the body: `vertex_ai` for Claude on Vertex AI,
    /// with `protocols: [messages]`. Default: none.
    pub cloud: Option<ProviderCloudConfig>,
    /// Request format of the provider for image edits.
    #[serde(default)]
    pub image_edit: ImageEditConfig,
    /// Platform models, each with the provider's name for it. A name with one `*` is a pattern: it serves every model that it
    /// matches and that has a price (see `unpriced`), and a `*` in the provider's name stands for the same text. A literal
    /// name takes precedence over patterns, a longer pattern over a shorter one, over all channels. Required unless `retired`.
    #[serde(default)]
    #[schemars(extend("minProperties" = 1))]
    pub models: BTreeMap<String, String>,
    /// Prices of this channel, by platform model; an entry replaces that of `prices.models` as a whole. `*` matches
    /// any characters, as there. Default: `prices.models`.
    #[serde(default)]
    pub prices: BTreeMap<String, ModelPriceConfig>,
    /// Whether patterns in `models` also serve models without a price, here or in `prices`. Allow it only for callers who may
    /// spend any amount. Default: refuse.
    #[serde(default)]
    pub unpriced: UnpricedModelsConfig,
    /// Condition: an expression over the request; the channel is a candidate only for requests for which it is true. It
    /// applies to requests with a model, before weights and tiers. Default: all requests.
    #[schemars(length(min = 1))]
    pub r#if: Option<String>,
    /// Whether the channel only serves ids that it created, and no new requests. Default: false.
    #[serde(default)]
    pub retired: bool,
    /// Relative share of requests within a tier, 1 to 1000. Default: 1.
    #[serde(default = "default_weight")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: u16,
    /// Priority, 0 to 255: lower tiers are tried first. Default: 0.
    #[serde(default)]
    pub tier: u8,
    /// Timeouts of each attempt.
    #[serde(default)]
    pub timeouts: AttemptTimeoutsConfig,
    /// TLS towards the provider, if `base_url` is https. Default: verified with the CA certificates of the
    /// system.
    #[serde(default)]
    pub tls: UpstreamTlsConfig,
    /// Proxy to the provider: `http://user:password@proxy.example:3128` for CONNECT, `socks5://proxy.example:1080`, or
    /// `environment` for the one of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`. The proxy resolves the name of
    /// the provider. Default: a direct connection, whatever the environment has.
    pub proxy: Option<Secret>,
    /// HTTP version towards the provider. Default: auto.
    #[serde(default)]
    pub http: HttpVersionConfig,
    /// Headers set on every request to this provider. Default: none.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Headers of the provider's responses that callers get besides the usual ones: names, or beginnings of names with
    /// `*` at their end, such as `anthropic-ratelimit-*`. Default: none.
    #[serde(default)]
    pub response_headers: Vec<String>,
    /// Header in which the provider takes an idempotency key. Creates with an `Idempotency-Key` then get a key of the
    /// gateway's own in it, different for each caller. Default: none.
    pub idempotency_header: Option<String>,
    /// How the client's address is forwarded to the provider. Default: off.
    #[serde(default)]
    pub forwarded: ClientAddressForwardingConfig,
    /// Limits of the channel; requests above them go to another channel. Default: none.
    #[serde(default)]
    pub limits: ChannelLimitsConfig,
    /// Budget in money of all requests on the channel, by its prices, on routes with `rate_limit`; requests that may exceed
    /// it go to another channel. Default: none.
    #[serde(default)]
    pub budget: BudgetConfig,
    /// When the channel enters a cool-down, and for how long.
    #[serde(default)]
    pub health: ChannelHealthConfig,
    /// What errors of the provider mean, in order; the first one that matches decides, before the table that is built in.
    /// Default: none.
    #[serde(default)]
    pub errors: Vec<ErrorClassRuleConfig>,
}

/// What happens to requests for models that a pattern matches and that have no price.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum UnpricedModelsConfig {
    /// The channel does not serve them.
    #[default]
    Refuse,
    /// The channel serves them; their requests have no cost.
    Allow,
}

/// A credential for a provider.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderCredentialConfig {
    /// `Authorization: Bearer …`
    Bearer(Secret),
    /// `x-api-key: …`
    ApiKey(Secret),
    /// A header of another name.
    Header(CredentialHeaderConfig),
    /// `Authorization: Bearer …` with a token that the gateway mints.
    Jwt(JwtCredentialConfig),
    /// A signature of AWS (Signature Version 4) over each request.
    Aws(AwsCredentialConfig),
    /// `Authorization: Bearer …` with a token of a token endpoint.
    #[serde(rename = "oauth2")]
    OAuth2(OAuth2CredentialConfig),
    /// `Authorization: Bearer …` with a token of Microsoft Entra.
    Azure(AzureCredentialConfig),
    /// `Authorization: Bearer …` with a token of Google.
    Gcp(GcpCredentialConfig),
}

/// A key with which the gateway mints tokens: JWTs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtCredentialConfig {
    /// The access key, which the tokens name as their issuer (`iss`).
    pub issuer: Secret,
    /// The secret key, which signs them by HS256.
    pub secret: Option<Secret>,
    /// A PEM file with the private key that signs them: RS256 for one of RSA, ES256 for one of P-256. It is read at each reload.
    pub key_file: Option<PathBuf>,
    /// The id of the key (`kid`). Default: none.
    pub key_id: Option<String>,
    /// The claim `sub`. Default: none.
    pub subject: Option<String>,
    /// The claim `aud`. Default: none.
    pub audience: Option<String>,
    /// How long a token is valid; a new one is minted when half of it is over. At least 1s. Default: 30m.
    #[serde(default = "default_jwt_lifetime")]
    pub lifetime: HumanDuration,
}

fn default_jwt_lifetime() -> HumanDuration {
    HumanDuration::seconds(30 * 60)
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

/// Timeouts of each request to a provider; those of a route override those of a channel.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AttemptTimeoutsConfig {
    /// Timeout to connect to the provider, including TLS. Default: 2s.
    pub connect: Option<HumanDuration>,
    /// Timeout from the sent request to the first byte of the response headers. Raise it for models that think
    /// long before a response without `stream`. Default: 60s.
    pub first_byte: Option<HumanDuration>,
    /// Timeout between two reads of the response. Default: 60s.
    pub idle: Option<HumanDuration>,
    /// Timeout of the whole attempt. Raise it for responses that take longer. Default: 30m.
    pub total: Option<HumanDuration>,
}

/// TLS towards a provider.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct UpstreamTlsConfig {
    /// PEM file with the CA certificates to trust instead. Default: those of the system.
    pub ca: Option<PathBuf>,
    /// PEM file with the client certificate chain; requires `key`. Default: no client certificate.
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key of the client certificate.
    pub key: Option<PathBuf>,
    /// Expected name in the provider's certificate, and SNI. Default: the host of the URL.
    pub server_name: Option<String>,
}

/// How a client's address is forwarded to a provider, in `Forwarded` if `server.client_address.from` is
/// `forwarded`, else in `X-Forwarded-For`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ClientAddressForwardingConfig {
    /// Nothing.
    #[default]
    Off,
    /// The list received from a trusted proxy, plus the address of that proxy.
    Append,
    /// The client's address only.
    Replace,
}

/// HTTP version towards a provider.
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

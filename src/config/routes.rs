//! `routes.yaml` as written: one struct per section, its documentation the user's reference.

use super::channels::{ChannelConfig, TimeoutsConfig};
use super::client_address::ClientAddressConfig;
use super::egress::EgressConfig;
use super::resilience::{FailoverConfig, RetryBudgetConfig};
use super::state::StateConfig;
use crate::protocol::Protocol;
use crate::scalar::one_or_more::OneOrMore;
use crate::scalar::{ByteSize, HumanDuration, Secret};
use crate::task::definition::VideoFamilyConfig;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The whole of `routes.yaml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutesConfig {
    /// Listeners and process limits. Changes here need a restart; a reload that finds one says so.
    #[serde(default)]
    pub server: ServerConfig,
    /// What edges share or a restart must not lose. Changes here need a restart; a reload that finds one says so.
    #[serde(default)]
    #[schemars(with = "Option<StateConfig>")]
    pub state: StateConfig,
    /// Who may call, in which models.
    #[serde(default)]
    pub callers: Vec<CallerConfig>,
    /// Accounts at providers, by name.
    pub channels: BTreeMap<String, ChannelConfig>,
    /// What is known of platform models beyond the channels that serve them.
    #[serde(default)]
    pub models: BTreeMap<String, ModelConfig>,
    /// How many further attempts all requests together may take.
    #[serde(default)]
    pub retries: RetryBudgetConfig,
    /// Where the gateway may go when somebody else names the URL.
    #[serde(default)]
    pub egress: EgressConfig,
    /// Families of video providers, by name; `family-a` and `family-b` come with the program.
    #[serde(default)]
    pub families: BTreeMap<String, VideoFamilyConfig>,
    /// Keys that task ids are sealed with, of 32 characters or more; the first seals, all open.
    #[serde(default)]
    pub task_keys: Vec<Secret>,
    /// Named lists of filters, for `use` in routes.
    #[serde(default)]
    pub chains: BTreeMap<String, Vec<ChainStepConfig>>,
    /// The routes; the first one that matches takes the request.
    pub routes: Vec<RouteConfig>,
}

/// Listeners and process limits.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Address of the gateway, `host:port`; port 0 picks a free one.
    pub listen: String,
    /// Address of the admin pages, `host:port`.
    pub admin: String,
    /// TLS of the gateway's listener; plain HTTP without.
    pub tls: Option<ServerTlsConfig>,
    /// Worker threads; the number of processors if absent.
    #[schemars(range(min = 1, max = 1024))]
    pub workers: Option<u16>,
    /// Where access-log lines go.
    pub access_log: AccessLogConfig,
    /// Bounds on connections and on what a slow client may hold.
    pub limits: ServerLimitsConfig,
    /// Where large request bodies wait.
    pub spool: SpoolConfig,
    /// How the names of providers become addresses.
    pub dns: DnsConfig,
    /// Where the addresses of clients behind proxies are found.
    pub client_address: ClientAddressConfig,
}

/// TLS of a listener.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ServerTlsConfig {
    /// PEM file with the certificate chain, leaf first.
    pub certificate: PathBuf,
    /// PEM file with the private key.
    pub key: PathBuf,
    /// PEM file with the authorities that client certificates must come from; none are asked for if absent.
    pub client_ca: Option<PathBuf>,
}

/// Where access-log lines go.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AccessLogConfig {
    #[default]
    Stdout,
    Stderr,
    Off,
}

/// Bounds on connections and on what a slow client may hold.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ServerLimitsConfig {
    /// Open client connections, those in a TLS handshake too; further ones are closed at once.
    #[schemars(range(min = 1))]
    pub connections: u32,
    /// Request line and headers of a request together; larger ones are answered 431. More than 1 MiB counts as
    /// 1 MiB.
    pub header_size: ByteSize,
    /// From the first byte of a request to the end of its headers; also for a TLS handshake.
    pub header_deadline: HumanDuration,
    /// From the end of the headers to the end of the request body.
    pub body_deadline: HumanDuration,
    /// For one piece of an answer to be taken by the client.
    pub write_deadline: HumanDuration,
    /// How long an idle client connection stays open.
    pub keep_alive: HumanDuration,
    /// How long connections are still taken after SIGTERM while `/readyz` says 503, so that load
    /// balancers turn away first; not at all if absent.
    pub drain_notice: Option<HumanDuration>,
    /// How long open requests may go on once no connections are taken any more.
    pub drain: HumanDuration,
}

/// Where large request bodies wait: in files instead of memory.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct SpoolConfig {
    /// Bodies above this size are held in a file without a name.
    pub above: ByteSize,
    /// Folder of these files; the system's for temporary files if absent.
    pub folder: Option<PathBuf>,
}

/// How the names of providers become addresses.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct DnsConfig {
    /// Name servers to ask, `address` or `address:port`; those of the system if there are none.
    #[schemars(length(max = 8))]
    pub servers: Vec<String>,
    /// How long addresses are used that come without a time to live, as those of the hosts file do.
    pub refresh: HumanDuration,
}

/// A holder of a gateway key.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallerConfig {
    /// The caller's name in logs and metrics.
    #[schemars(length(min = 1))]
    pub name: String,
    /// SHA-256 of the key, 64 hex digits; `headgate key new` makes both.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    #[schemars(extend("patternErrorMessage" = "expected a SHA-256, 64 hex digits, as `headgate key new` prints it"))]
    pub key_sha256: String,
    /// Platform models this caller may use; `*` stands for any run of characters.
    pub models: Vec<String>,
    /// What the caller may do at most; routes with `rate_limit` keep to it. No limit if absent.
    #[serde(default)]
    pub limits: CallerLimitsConfig,
}

/// What a caller may do at most, and how much of that on single models.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct CallerLimitsConfig {
    /// Requests in any 60 s.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Tokens in any 60 s, input and output; taken on estimate, corrected by what was used.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
    /// Requests at one time.
    #[schemars(range(min = 1))]
    pub concurrent: Option<u64>,
    /// Tokens in a calendar day, UTC.
    #[schemars(range(min = 1))]
    pub tokens_per_day: Option<u64>,
    /// Tokens in a calendar month, UTC.
    #[schemars(range(min = 1))]
    pub tokens_per_month: Option<u64>,
    /// Open client connections.
    #[schemars(range(min = 1))]
    pub connections: Option<u32>,
    /// Platform model to further limits, counted for each model by itself. `*` stands for any run of
    /// characters; the model's own name goes before patterns, and a longer pattern before a shorter.
    pub models: BTreeMap<String, ModelLimitsConfig>,
}

/// What a caller may do at most on a model.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct ModelLimitsConfig {
    /// Requests in any 60 s.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Tokens in any 60 s, input and output; taken on estimate, corrected by what was used.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
    /// Requests at one time.
    #[schemars(range(min = 1))]
    pub concurrent: Option<u64>,
    /// Tokens in a calendar day, UTC.
    #[schemars(range(min = 1))]
    pub tokens_per_day: Option<u64>,
    /// Tokens in a calendar month, UTC.
    #[schemars(range(min = 1))]
    pub tokens_per_month: Option<u64>,
}

/// What is known of a platform model.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// Name for people, in the messages protocol's model list.
    pub display_name: Option<String>,
    /// `owned_by` of the model list; `headgate` if absent.
    pub owned_by: Option<String>,
    /// Unix seconds of the model list; 0 if absent.
    pub created: Option<u64>,
    /// What the model takes of a protocol, as `family_a/2.0`: the name of a schema under `schemas`, which
    /// is applied besides the protocol's own. A list where the model is served in several families.
    pub profile: OneOrMore,
}

/// One route.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteConfig {
    /// The route's name in logs and metrics.
    #[schemars(length(min = 1))]
    pub name: String,
    /// `METHOD /path/{parameter}`, or several methods as `GET|DELETE /path`; or a list of them.
    pub r#match: OneOrMore,
    /// The protocol callers speak here: it shapes errors and picks schemas.
    pub protocol: Option<Protocol>,
    /// Filters of the request, in order.
    pub request: Vec<ChainStepConfig>,
    /// Filters of the answer, in order.
    #[serde(default)]
    pub response: Vec<ChainStepConfig>,
    /// Deadlines that override the channel's.
    #[serde(default)]
    pub timeouts: TimeoutsConfig,
    /// What happens when a channel fails.
    #[serde(default)]
    pub failover: FailoverConfig,
}

/// A step of a chain: a filter's name, `{filter: its settings}` or `{use: chain}`.
#[derive(Clone, Debug, PartialEq)]
pub enum ChainStepConfig {
    Use(String),
    Filter {
        name: String,
        settings: serde_json::Value,
    },
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            admin: "127.0.0.1:9091".into(),
            tls: None,
            workers: None,
            access_log: AccessLogConfig::default(),
            limits: ServerLimitsConfig::default(),
            spool: SpoolConfig::default(),
            dns: DnsConfig::default(),
            client_address: ClientAddressConfig::default(),
        }
    }
}

impl Default for SpoolConfig {
    fn default() -> Self {
        Self {
            above: ByteSize::mebibytes(8),
            folder: None,
        }
    }
}

impl Default for DnsConfig {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            refresh: HumanDuration::seconds(30),
        }
    }
}

impl Default for ServerLimitsConfig {
    fn default() -> Self {
        Self {
            connections: 10_000,
            header_size: ByteSize::kibibytes(64),
            header_deadline: HumanDuration::seconds(15),
            body_deadline: HumanDuration::seconds(60),
            write_deadline: HumanDuration::seconds(30),
            keep_alive: HumanDuration::seconds(60),
            drain_notice: None,
            drain: HumanDuration::seconds(300),
        }
    }
}

//! `routes.yaml` as written: one struct per section. The comments of fields are the reference for users.

use super::admin::{AdminKeyConfig, OpenAdminPageConfig};
use super::caller_sources::CallerSourcesConfig;
use super::callers::CallerConfig;
use super::channels::{AttemptTimeoutsConfig, ChannelConfig};
use super::client_address::ClientAddressConfig;
use super::egress::EgressAllowlistConfig;
use super::groups::CallerGroupConfig;
use super::model_properties::ModelPropertiesConfig;
use super::prices::PricesConfig;
use super::protocols::ProtocolName;
use super::resilience::{FailoverConfig, RetryBudgetConfig};
use super::services::CalloutServiceConfig;
use super::state::StateConfig;
use super::tracing::{RouteTracedMessagesConfig, TracingConfig};
use super::translation::OnLossConfig;
use super::websocket::RouteWebSocketConfig;
use headgate_core::scalar::one_or_more::OneOrMore;
use headgate_core::scalar::{ByteSize, HumanDuration, Secret};
use headgate_core::task::definition::VideoFamilyDefinitionConfig;
use headgate_protocol::ProtocolConfig;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The whole of `routes.yaml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// Listeners and limits of the process. Changes need a restart; a reload logs them.
    #[serde(default)]
    pub server: ServerConfig,
    /// Shared and persistent state. Changes need a restart; a reload logs them.
    #[serde(default)]
    #[schemars(with = "Option<StateConfig>")]
    pub state: StateConfig,
    /// Callers and the models they may use.
    #[serde(default)]
    pub callers: Vec<CallerConfig>,
    /// Where callers that the file does not name come from. Default: nowhere.
    pub caller_sources: Option<CallerSourcesConfig>,
    /// Groups of callers that share limits, by name.
    #[serde(default)]
    pub groups: BTreeMap<String, CallerGroupConfig>,
    /// Accounts at providers, by name.
    pub channels: BTreeMap<String, ChannelConfig>,
    /// Protocols of endpoints that the program does not have, by name.
    #[serde(default)]
    pub protocols: BTreeMap<String, ProtocolConfig>,
    /// Dialects: what providers do differently from others of their protocols, by name.
    #[serde(default)]
    pub dialects: BTreeMap<String, headgate_translate::DialectConfig>,
    /// Properties of platform models.
    #[serde(default)]
    pub models: BTreeMap<String, ModelPropertiesConfig>,
    /// Prices of models, for the cost of requests.
    #[serde(default)]
    pub prices: PricesConfig,
    /// Retry budget: limit on retries across all requests.
    #[serde(default)]
    pub retries: RetryBudgetConfig,
    /// Allowed destinations of URLs in responses or requests.
    #[serde(default)]
    pub egress: EgressAllowlistConfig,
    /// Traces for an OpenTelemetry collector. Default: none, and requests pass on the trace context of their callers.
    pub tracing: Option<TracingConfig>,
    /// HTTP services that filters call for requests and responses, by name.
    #[serde(default)]
    pub services: BTreeMap<String, CalloutServiceConfig>,
    /// Families of video providers, by name; `family-a` and `family-b` come with the program.
    #[serde(default)]
    pub families: BTreeMap<String, VideoFamilyDefinitionConfig>,
    /// Keys that encrypt task ids, of at least 32 characters; the first one encrypts, all decrypt.
    #[serde(default)]
    pub task_keys: Vec<Secret>,
    /// Named lists of filters, for `use` in routes.
    #[serde(default)]
    pub chains: BTreeMap<String, Vec<ChainStepConfig>>,
    /// Routes; the first one that matches handles the request.
    pub routes: Vec<RouteConfig>,
}

/// Listeners and limits of the process.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Address of the gateway, `host:port`. Port 0 picks a free port. Default: 127.0.0.1:8080.
    pub listen: String,
    /// Address of the admin pages, `host:port`. An address other than loopback requires `admin_keys`, or
    /// `admin_without_keys`. Default: 127.0.0.1:9091.
    pub admin: String,
    /// Keys of the admin pages, required for each request once there is one. A reload applies changes. Default: none;
    /// on loopback all pages can be read, and the configuration can be reloaded.
    pub admin_keys: Vec<AdminKeyConfig>,
    /// Further host names and addresses under which the admin pages may be requested. A reload applies changes.
    /// Default: none; the address of the listener, `localhost`, and with `admin_keys` any IP address.
    pub admin_hosts: Vec<String>,
    /// Pages that need no key although there are `admin_keys`. A reload applies changes. Default: [healthz, readyz].
    pub admin_open: Vec<OpenAdminPageConfig>,
    /// Whether an address other than loopback needs no `admin_keys`: everyone who reaches it can read all pages and
    /// reload the configuration. Default: false.
    pub admin_without_keys: bool,
    /// TLS of the admin pages. Default: plain HTTP.
    pub admin_tls: Option<ListenerTlsConfig>,
    /// URL under which providers and callers reach this gateway, such as `https://gate.example.com`; a path is a prefix
    /// of the gateway's own paths. Needed for URLs that the gateway hands out: media files and callbacks. An
    /// empty text is none. Default: none.
    pub public_url: Option<String>,
    /// TLS of the gateway's listener; HTTP/2 is offered with it. Default: plain HTTP.
    pub tls: Option<ListenerTlsConfig>,
    /// Worker threads, 1 to 1024. Lower it where the gateway shares a machine, or where a container may use
    /// fewer processors than it sees. Default: the number of processors.
    #[schemars(range(min = 1, max = 1024))]
    pub workers: Option<u16>,
    /// Destination of the access log. Default: stdout.
    pub access_log: AccessLogTargetConfig,
    /// Limits on connections and timeouts of clients.
    pub limits: ServerLimitsConfig,
    /// Spooling of large request bodies to files, to save memory.
    pub spool: BodySpoolConfig,
    /// DNS resolution of provider hosts.
    pub dns: DnsConfig,
    /// How the address of a client behind proxies is determined. Default: the peer of the connection.
    pub client_address: ClientAddressConfig,
}

/// TLS of a listener.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ListenerTlsConfig {
    /// PEM file with the certificate chain, leaf first.
    pub certificate: PathBuf,
    /// PEM file with the private key.
    pub key: PathBuf,
    /// PEM file with the CA certificates for client certificates. Default: no client certificate is required.
    pub client_ca: Option<PathBuf>,
}

/// Destination of the access log.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AccessLogTargetConfig {
    #[default]
    Stdout,
    Stderr,
    Off,
}

/// Limits on connections and slow clients.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ServerLimitsConfig {
    /// Maximum open client connections, including those in a TLS handshake; further ones are closed. At least
    /// 1, and never more than half of the open files that the process may have. Default: 10000.
    #[schemars(range(min = 1))]
    pub connections: u32,
    /// Maximum size of the request line and headers, up to 1MiB; larger ones get 431. Raise it for clients with
    /// very large headers. Default: 64KiB.
    pub header_size: ByteSize,
    /// Timeout from the first byte of a request to the end of its headers, and of a TLS handshake. Lower it
    /// against clients that hold connections open without a request. Default: 15s.
    pub header_timeout: HumanDuration,
    /// Timeout from the end of the headers to the end of the request body; a streamed body gets one more second
    /// for each 128 KiB received. Raise it for large uploads over slow connections. Default: 60s.
    pub body_timeout: HumanDuration,
    /// Timeout for a client to read a part of a response; the connection is then closed. Raise it for clients
    /// that pause while they read. Default: 30s.
    pub write_timeout: HumanDuration,
    /// Timeout of an idle client connection. Set it above that of a load balancer in front. Default: 60s.
    pub keep_alive_timeout: HumanDuration,
    /// How long connections are still accepted after SIGTERM while `/readyz` returns 503, so that load
    /// balancers stop sending first. Set it a little above their health check interval. Default: none.
    pub drain_notice: Option<HumanDuration>,
    /// How long requests in flight may continue after the listener is closed. Set it to the longest response
    /// that a restart must not cut off. Default: 5m.
    pub drain: HumanDuration,
    /// Maximum memory of all instances of all plugins together. Default: 512MiB, or more if `limits.memory` of one is.
    pub plugin_memory: Option<ByteSize>,
    /// How many models that channels serve by a pattern have a name of their own in metrics, and health and statistics of
    /// their own, up to 2000: the first ones that a provider accepts. All others are `other` in metrics. Raise it if more
    /// are used. Default: 200.
    #[schemars(range(max = 2000))]
    pub pattern_models: u16,
}

/// Spooling of large request bodies to unlinked files.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct BodySpoolConfig {
    /// Request bodies above this size are written to an unlinked file instead of memory. Lower it to save
    /// memory, raise it if the disk is slow. Default: 8MiB.
    pub threshold: ByteSize,
    /// Folder of these files, on a local disk with room for all large bodies in flight. Default: the system's
    /// folder for temporary files.
    pub folder: Option<PathBuf>,
}

/// DNS resolution of provider hosts.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct DnsConfig {
    /// Name servers, up to 8, each `address` or `address:port`, queried in this order. Default: those of the system.
    #[schemars(length(max = 8))]
    pub servers: Vec<String>,
    /// Refresh interval of addresses without a TTL, such as those of the hosts file. Lower it if such addresses
    /// change often. Default: 30s.
    pub refresh_interval: HumanDuration,
}

/// One route.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteConfig {
    /// Name of the route in logs and metrics.
    #[schemars(length(min = 1))]
    pub name: String,
    /// `METHOD /path/{parameter}`, or several methods as `GET|DELETE /path`; a list for several paths. A
    /// parameter matches one path segment.
    pub r#match: OneOrMore,
    /// Protocol of the callers; selects the error format, the channels and the schema. Default: none.
    pub protocol: Option<ProtocolName>,
    /// Filters of the request, in order.
    pub request: Vec<ChainStepConfig>,
    /// Filters of the response, in order. Default: none.
    #[serde(default)]
    pub response: Vec<ChainStepConfig>,
    /// Timeouts that override those of the channel.
    #[serde(default)]
    pub timeouts: AttemptTimeoutsConfig,
    /// Failover to another channel before the first byte of the response.
    #[serde(default)]
    pub failover: FailoverConfig,
    /// Messages in traces. Default: none.
    #[serde(default)]
    pub traced_messages: RouteTracedMessagesConfig,
    /// Protocols of channels that may serve the route besides those of `protocol`: requests are translated into the first
    /// one of these that a channel has, and responses back. Channels of `protocol` precede those of the same tier. Default: none.
    #[serde(default)]
    pub translate: Vec<ProtocolName>,
    /// What becomes of a request with a member that changes its meaning and that the channel's protocol cannot say.
    /// Default: refuse.
    #[serde(default)]
    pub on_loss: OnLossConfig,
    /// WebSockets at the paths of the route, which must be `POST` and of protocol `responses`, or `GET` and of `realtime`. Default:
    /// none, and handshakes get 426; the defaults of its keys for `realtime`.
    pub websocket: Option<RouteWebSocketConfig>,
}

/// A step of a chain: a filter's name, `{filter: its settings}`, the same with `if` and `on_error`, or `{use: chain}`.
#[derive(Clone, Debug, PartialEq)]
pub enum ChainStepConfig {
    Use(String),
    Filter {
        name: String,
        settings: serde_json::Value,
        condition: Option<StepIfExpressionConfig>,
    },
}

/// The condition of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepIfExpressionConfig {
    /// An expression; the filter runs if it is true.
    pub r#if: String,
    /// What happens if the expression cannot be evaluated. Default: refuse in request chains, run in response chains.
    pub on_error: Option<OnConditionErrorConfig>,
}

/// What happens to a filter whose condition cannot be evaluated.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OnConditionErrorConfig {
    /// The filter does not run.
    Skip,
    /// The filter runs.
    Run,
    /// The request is refused.
    Refuse,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            admin: "127.0.0.1:9091".into(),
            admin_keys: Vec::new(),
            admin_hosts: Vec::new(),
            admin_open: vec![OpenAdminPageConfig::Healthz, OpenAdminPageConfig::Readyz],
            admin_without_keys: false,
            admin_tls: None,
            public_url: None,
            tls: None,
            workers: None,
            access_log: AccessLogTargetConfig::default(),
            limits: ServerLimitsConfig::default(),
            spool: BodySpoolConfig::default(),
            dns: DnsConfig::default(),
            client_address: ClientAddressConfig::default(),
        }
    }
}

impl Default for BodySpoolConfig {
    fn default() -> Self {
        Self {
            threshold: ByteSize::mebibytes(8),
            folder: None,
        }
    }
}

impl Default for DnsConfig {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            refresh_interval: HumanDuration::seconds(30),
        }
    }
}

impl Default for ServerLimitsConfig {
    fn default() -> Self {
        Self {
            connections: 10_000,
            header_size: ByteSize::kibibytes(64),
            header_timeout: HumanDuration::seconds(15),
            body_timeout: HumanDuration::seconds(60),
            write_timeout: HumanDuration::seconds(30),
            keep_alive_timeout: HumanDuration::seconds(60),
            drain_notice: None,
            drain: HumanDuration::seconds(300),
            plugin_memory: None,
            pattern_models: 200,
        }
    }
}

//! The environment of the measured gateway: its configuration, free addresses, and a temporary folder.

use crate::conversation::Conversation;
use crate::service::{self, CONTINUE, SPANS_TAKEN};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// A folder that is removed when the value is dropped.
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// A folder of this process in the system's temporary folder.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder can be made");
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Paths of routes that have one filter more than that of [`CHAT`](crate::request::CHAT).
pub const CONDITION: &str = "/condition/chat/completions";
pub const EDIT: &str = "/edit/chat/completions";
pub const CALLOUT: &str = "/callout/chat/completions";
pub const CACHE: &str = "/cache/chat/completions";
/// The path of creates of videos in the generic format, and models of families without and with expressions.
pub const VIDEO: &str = "/v1/video/generations";
pub const PLAIN_VIDEO_MODEL: &str = "bench-video";
pub const COMPUTED_VIDEO_MODEL: &str = "bench-video-computed";
/// Paths of routes with a plugin, which only [`add_plugins`] adds.
pub const PLUGIN_ON_HEADERS: &str = "/plugin-headers/chat/completions";
pub const PLUGIN_ON_BODIES: &str = "/plugin-bodies/chat/completions";

/// The certificate and the key of a listener with TLS, as PEM files.
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The connections of a measured program.
pub struct Endpoints {
    pub listen: SocketAddr,
    pub admin: SocketAddr,
    pub provider: SocketAddr,
    /// TLS of the listener, with which HTTP/2 is offered.
    pub tls: Option<TlsFiles>,
    /// Whether the provider gets HTTP/2, without TLS.
    pub provider_http2: bool,
}

/// The caller of the routes for text, with limits that are counted and never reached.
const CALLERS: &str = r#"callers:
  - name: bench
    key_sha256: f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7
    models: ["*"]
    limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000}"#;

/// A configuration with all features of the hot path: authentication, limits, routing, validation, rewriting, usage
/// metering, metrics, access log. Further routes each have one filter more, and one that sends the provider the path of
/// the first; the service that one of them calls runs in this process.
pub fn routes(endpoints: &Endpoints) -> String {
    let Endpoints {
        listen,
        admin,
        provider,
        ..
    } = endpoints;
    let service = service::start(CONTINUE);
    let version = match endpoints.provider_http2 {
        true => "http2",
        false => "auto",
    };
    let tls = endpoints.tls.as_ref().map_or_else(String::new, |files| {
        let TlsFiles { certificate, key } = files;
        format!(", tls: {{certificate: {certificate:?}, key: {key:?}}}")
    });
    format!(
        r#"
server: {{listen: "{listen}", admin: "{admin}", workers: 1{tls}}}
{CALLERS}
channels:
  provider:
    base_url: http://{provider}/v1
    http: {version}
    credential: {{bearer: sk-provider-credential}}
    protocols: [chat]
    models: {{bench-model: provider-model-2026-08}}
services:
  check: {{url: "http://{service}/check"}}
chains:
  chat: [require_json, authenticate, {{limit_body: 32MiB}}, route_model, validate, rate_limit]
  further:
    - use: chat
    - rewrite_path: {{match: "^/[^/]+(/.+)$", to: /v1$1}}
routes:
  - name: chat
    match: POST /v1/chat/completions
    protocol: chat
    request: [require_json, authenticate, {{limit_body: 32MiB}}, route_model, validate, rate_limit]
    response: [pass_sse, meter_usage]
  - name: condition
    match: POST {CONDITION}
    protocol: chat
    request: [{{use: further}}, {{if: 'request.headers["x-tier"] == "gold"', set_headers: {{x-pool: fast}}}}]
    response: [pass_sse, meter_usage]
  - name: edit
    match: POST {EDIT}
    protocol: chat
    request: [{{use: further}}, {{edit_json: {{set: {{/max_completion_tokens: 50}}}}}}]
    response: [pass_sse, meter_usage]
  - name: callout
    match: POST {CALLOUT}
    protocol: chat
    request: [{{use: further}}, {{callout: {{service: check}}}}]
    response: [pass_sse, meter_usage]
  - name: cache
    match: POST {CACHE}
    protocol: chat
    request: [{{use: further}}, {{cache: {{ttl: 1h}}}}]
    response: [pass_sse, meter_usage]
"#
    )
}

/// A configuration whose route creates videos, with the filters of the shipped one.
pub fn video_routes(endpoints: &Endpoints) -> String {
    let Endpoints {
        listen,
        admin,
        provider,
        ..
    } = endpoints;
    format!(
        r#"
server: {{listen: "{listen}", admin: "{admin}", workers: 1}}
callers:
  - name: bench
    key_sha256: f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7
    models: ["*"]
    limits: {{requests_per_minute: 100000000}}
channels:
  plain:
    base_url: http://{provider}/api/v3
    credential: {{bearer: sk-provider-credential}}
    family: family-a
    protocols: [video]
    models: {{{PLAIN_VIDEO_MODEL}: provider-video-2026-08}}
  computed:
    base_url: http://{provider}
    credential: {{bearer: sk-provider-credential}}
    family: runway
    protocols: [video]
    models: {{{COMPUTED_VIDEO_MODEL}: gen4.5}}
task_keys: [0123456789abcdef0123456789abcdef]
routes:
  - name: video
    match: POST {VIDEO}
    protocol: video
    request:
      - require_json
      - authenticate
      - limit_body: 32MiB
      - route_model
      - validate
      - idempotency
      - rate_limit
      - store_media
      - callbacks
      - map_task: {{operation: create}}
"#
    )
}

/// A configuration with a route for each protocol of conversations, which translates for channels of the others. The model
/// names the channel's protocol.
pub fn translating_routes(endpoints: &Endpoints) -> String {
    let Endpoints {
        listen,
        admin,
        provider,
        ..
    } = endpoints;
    let mut configuration = format!(
        r#"
server: {{listen: "{listen}", admin: "{admin}", workers: 1}}
{CALLERS}
task_keys: [0123456789abcdef0123456789abcdef]
channels:
"#
    );
    for name in Conversation::ALL.map(Conversation::name) {
        configuration.push_str(&format!(
            r#"  {name}:
    base_url: http://{provider}/v1
    credential: {{bearer: sk-provider-credential}}
    protocols: [{name}]
    models: {{{name}: provider-model-2026-08}}
"#
        ));
    }
    configuration.push_str("routes:\n");
    for caller in Conversation::ALL {
        let (name, path) = (caller.name(), caller.path());
        let others = Conversation::ALL.into_iter().filter(|one| *one != caller);
        let others: Vec<&str> = others.map(Conversation::name).collect();
        configuration.push_str(&format!(
            r#"  - name: {name}
    match: POST {path}
    protocol: {name}
    translate: [{}]
    request: [require_json, authenticate, {{limit_body: 32MiB}}, route_model, validate, rate_limit]
    response: [pass_sse, meter_usage]
"#,
            others.join(", ")
        ));
    }
    configuration
}

/// Adds the export of a trace of every request, to a collector in this process.
pub fn add_tracing(configuration: &mut String) {
    let collector = service::start(SPANS_TAKEN);
    configuration.push_str(&format!(
        "\ntracing: {{endpoint: \"http://{collector}\", sampling: {{ratio: 1.0}}}}\n"
    ));
}

/// Replaces the credential of the channel by a key of AWS, which signs requests with their bodies.
pub fn sign_requests(configuration: &mut String) {
    let key = "aws: {access_key_id: AKIDBENCH, secret_access_key: bench-secret-access-key, region: us-east-1}";
    *configuration = configuration.replace("bearer: sk-provider-credential", key);
}

/// A plugin with the path of its route. `header` changes a header of responses, `redact` reads and writes bodies in both
/// directions.
pub const PLUGINS: [(&str, &str); 2] =
    [("header", PLUGIN_ON_HEADERS), ("redact", PLUGIN_ON_BODIES)];

/// Adds a route for each plugin to the configuration. Their modules are in `plugins` beside it.
pub fn add_plugins(configuration: &mut String, plugins: &[(&str, &str)]) {
    for (name, path) in plugins {
        configuration.push_str(&format!(
            r#"
  - name: plugin-{name}
    match: POST {path}
    protocol: chat
    request: [{{use: further}}, {{plugin: {{use: {name}}}}}]
    response: [pass_sse, meter_usage]"#
        ));
    }
    configuration.push_str("\nplugins:\n");
    for (name, _) in plugins {
        configuration.push_str(&format!("  {name}: {{wasm: plugins/{name}.wasm}}\n"));
    }
}

/// Copies modules to where [`add_plugins`] expects them.
pub fn copy_plugins(from: &Path, folder: &TemporaryFolder) {
    let plugins = folder.path().join("plugins");
    fs::create_dir_all(&plugins).expect("a folder can be made");
    for (name, _) in PLUGINS {
        let module = format!("{name}.wasm");
        let copied = fs::copy(from.join(&module), plugins.join(&module));
        copied.unwrap_or_else(|error| panic!("{module}: {error}"));
    }
}

/// Addresses of this machine on which nothing listens yet.
pub fn free_addresses<const N: usize>() -> [SocketAddr; N] {
    let listeners: [TcpListener; N] =
        std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").expect("loopback has free ports"));
    listeners.map(|listener| listener.local_addr().expect("it is bound"))
}

//! Builds and checks `server`: listeners, certificates, limits and name servers.

use super::{ProblemCollector, client_address, pem};
use crate::routes::{
    AccessLogTargetConfig, DnsConfig, ListenerTlsConfig, ServerConfig, ServerLimitsConfig,
};
use headgate_core::catalog::base_url;
use headgate_core::catalog::client_address::ClientAddressResolver;
use headgate_core::catalog::public_url::PublicUrl;
use headgate_core::scalar::HumanDuration;
use rustls::RootCertStore;
use rustls::sign::CertifiedKey;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const DNS_PORT: u16 = 53;
/// The maximum size of a request head; Pingora accepts no larger one.
const HEADER_BYTES_MAX: usize = (1 << 20) - 1;

/// The settings of listeners and process limits. A change needs a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// `host:port` of the gateway.
    pub listen: String,
    /// `host:port` of the admin pages.
    pub admin: String,
    /// TLS of the admin pages; plain HTTP if `None`.
    pub admin_tls: Option<ListenerTlsPaths>,
    /// TLS of the gateway's listener; plain HTTP if `None`.
    pub tls: Option<ListenerTlsPaths>,
    /// The number of worker threads; the number of processors if `None`.
    pub workers: Option<u16>,
    pub access_log: AccessLogTarget,
    pub limits: ServerLimits,
    pub dns: DnsSettings,
    /// How clients' addresses are determined.
    pub client_addresses: Arc<ClientAddressResolver>,
}

impl ServerSettings {
    /// The number of worker threads, by default one for each processor.
    pub fn worker_threads(&self) -> usize {
        let processors = || std::thread::available_parallelism().ok().map(usize::from);
        let configured = self.workers.map(usize::from);
        configured.or_else(processors).unwrap_or(1)
    }

    /// Whether clients are asked for certificates.
    pub fn asks_certificates(&self) -> bool {
        let tls = self.tls.as_ref();
        tls.is_some_and(|tls| tls.client_ca.is_some())
    }
}

/// PEM files of a listener, relative to the configuration's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerTlsPaths {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub client_ca: Option<PathBuf>,
}

/// Where access-log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLogTarget {
    Stdout,
    Stderr,
    Off,
}

/// Limits of connections, and deadlines for slow clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    pub connections: u32,
    /// The maximum size of the request line and header fields together.
    pub header_bytes: usize,
    pub header_timeout: Duration,
    pub body_timeout: Duration,
    pub write_timeout: Duration,
    pub keep_alive_timeout: Duration,
    pub drain_notice: Option<Duration>,
    pub drain: Duration,
    /// Memory of all instances of plugins, in bytes; `None` for the default.
    pub plugin_memory: Option<usize>,
    /// Models of patterns with metrics and health of their own.
    pub pattern_models: usize,
}

impl ServerLimits {
    /// Whether a listener that was started with these limits needs no restart for `other`.
    pub fn is_same_listener(&self, other: &Self) -> bool {
        let (plugin_memory, pattern_models) = (self.plugin_memory, self.pattern_models);
        *self
            == Self {
                plugin_memory,
                pattern_models,
                ..other.clone()
            }
    }
}

/// How providers' names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsSettings {
    /// Name servers; the system's if empty.
    pub servers: Vec<SocketAddr>,
    /// The time to live of addresses that come without one.
    pub refresh_interval: Duration,
}

/// Builds the settings that `config` describes; reports problems.
pub(crate) fn build(
    config: &ServerConfig,
    folder: &Path,
    problems: &mut ProblemCollector<'_>,
) -> ServerSettings {
    check_addresses(config, problems);
    let ServerConfig {
        listen,
        admin,
        admin_keys: _,
        admin_hosts: _,
        admin_open: _,
        admin_without_keys: _,
        admin_tls,
        public_url: _,
        tls,
        workers,
        access_log,
        limits,
        spool: _,
        dns,
        client_address: addresses,
    } = config;
    let [tls, admin_tls] = [("tls", tls), ("admin_tls", admin_tls)].map(|(key, config)| {
        let files = tls_files(config.as_ref()?);
        check_tls(key, &files, folder, problems);
        Some(files)
    });
    let dns = build_dns(dns, problems);
    ServerSettings {
        listen: listen.clone(),
        admin: admin.clone(),
        admin_tls,
        tls,
        workers: *workers,
        access_log: match access_log {
            AccessLogTargetConfig::Stdout => AccessLogTarget::Stdout,
            AccessLogTargetConfig::Stderr => AccessLogTarget::Stderr,
            AccessLogTargetConfig::Off => AccessLogTarget::Off,
        },
        limits: build_limits(limits),
        dns,
        client_addresses: Arc::new(client_address::build(addresses, problems)),
    }
}

/// Builds `server.public_url`, which a reload may change; reports a problem.
pub(crate) fn build_public_url(
    config: &ServerConfig,
    problems: &mut ProblemCollector<'_>,
) -> Option<PublicUrl> {
    // An empty text is what a variable without a value leaves.
    let url = config.public_url.as_deref().filter(|url| !url.is_empty())?;
    match base_url::parse(url) {
        Ok(_) => Some(PublicUrl::new(url)),
        Err(reason) => {
            let hint = "write the URL that others reach this gateway by, such as `https://gate.example.com`";
            problems.error("/server/public_url", reason, Some(hint));
            None
        }
    }
}

fn tls_files(config: &ListenerTlsConfig) -> ListenerTlsPaths {
    let ListenerTlsConfig {
        certificate,
        key,
        client_ca,
    } = config.clone();
    ListenerTlsPaths {
        certificate,
        key,
        client_ca,
    }
}

fn build_limits(config: &ServerLimitsConfig) -> ServerLimits {
    let ServerLimitsConfig {
        connections,
        header_size,
        header_timeout,
        body_timeout,
        write_timeout,
        keep_alive_timeout,
        drain_notice,
        drain,
        plugin_memory,
        pattern_models,
    } = config;
    let header_bytes = usize::try_from(header_size.bytes());
    ServerLimits {
        connections: *connections,
        header_bytes: header_bytes.map_or(HEADER_BYTES_MAX, |bytes| bytes.min(HEADER_BYTES_MAX)),
        header_timeout: header_timeout.duration(),
        body_timeout: body_timeout.duration(),
        write_timeout: write_timeout.duration(),
        keep_alive_timeout: keep_alive_timeout.duration(),
        drain_notice: drain_notice.map(HumanDuration::duration),
        drain: drain.duration(),
        plugin_memory: plugin_memory
            .map(|memory| usize::try_from(memory.bytes()).unwrap_or(usize::MAX)),
        pattern_models: usize::from(*pattern_models),
    }
}

/// The TLS material of a listener.
pub struct ListenerTlsMaterial {
    pub identity: CertifiedKey,
    /// CA certificates for client certificates; no client certificate is requested if `None`.
    pub client_authorities: Option<RootCertStore>,
}

/// A file that cannot be used.
pub struct TlsFileError {
    /// The key of `server.tls` or `server.admin_tls` that names the file.
    pub member: &'static str,
    pub reason: String,
}

/// Reads `files`.
///
/// # Errors
/// Each file that cannot be used.
pub fn read_tls(
    files: &ListenerTlsPaths,
    folder: &Path,
) -> Result<ListenerTlsMaterial, Vec<TlsFileError>> {
    let ListenerTlsPaths {
        certificate,
        key,
        client_ca,
    } = files;
    let unusable = |member| move |reason| TlsFileError { member, reason };
    let chain = pem::certificates(&folder.join(certificate)).map_err(unusable("certificate"));
    let key = pem::private_key(&folder.join(key)).map_err(unusable("key"));
    let authorities = client_ca
        .as_ref()
        .map(|file| pem::authorities(&folder.join(file)).map_err(unusable("client_ca")))
        .transpose();
    match (chain, key, authorities) {
        (Ok(chain), Ok(key), Ok(client_authorities)) => Ok(ListenerTlsMaterial {
            identity: pem::certified_key(&chain, &key)
                .map_err(|reason| vec![unusable("key")(reason)])?,
            client_authorities,
        }),
        (chain, key, authorities) => Err([chain.err(), key.err(), authorities.err()]
            .into_iter()
            .flatten()
            .collect()),
    }
}

/// Reports invalid addresses, and the same address for both listeners.
fn check_addresses(config: &ServerConfig, problems: &mut ProblemCollector<'_>) {
    for (member, address) in [("listen", &config.listen), ("admin", &config.admin)] {
        let has_port = address
            .rsplit_once(':')
            .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
        if !has_port {
            let port = address.trim_start_matches(':');
            let hint = match port.parse::<u16>() {
                Ok(port) => format!(
                    "write `127.0.0.1:{port}`, or `0.0.0.0:{port}` for all addresses of this machine"
                ),
                Err(_) => "write host and port, such as `127.0.0.1:8080`".to_owned(),
            };
            problems.error(
                &format!("/server/{member}"),
                format!("`{address}` is not `host:port`"),
                Some(&hint),
            );
        }
    }
    if config.listen == config.admin && !config.listen.ends_with(":0") {
        problems.error("/server/admin", "`admin` must differ from `listen`", None);
    }
}

/// Parses a name server: `address` or `address:port`, with brackets around an IPv6 address with a port.
fn name_server(text: &str) -> Option<SocketAddr> {
    let with_port = text.parse().ok();
    with_port.or_else(|| Some(SocketAddr::new(text.parse().ok()?, DNS_PORT)))
}

/// Reports name servers that are not addresses: resolving their names would need a name server.
fn build_dns(config: &DnsConfig, problems: &mut ProblemCollector<'_>) -> DnsSettings {
    let DnsConfig {
        servers,
        refresh_interval,
    } = config;
    let mut addresses = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        match name_server(server) {
            Some(address) => addresses.push(address),
            None => problems.error(
                &format!("/server/dns/servers/{index}"),
                format!("`{server}` is not the address of a name server"),
                Some(
                    "write an IP address, with or without a port, such as `10.0.0.2` or `[::1]:5353`",
                ),
            ),
        }
    }
    DnsSettings {
        servers: addresses,
        refresh_interval: refresh_interval.duration(),
    }
}

/// Reports each of the `files` of `server.<key>` that cannot be used.
fn check_tls(
    key: &str,
    files: &ListenerTlsPaths,
    folder: &Path,
    problems: &mut ProblemCollector<'_>,
) {
    for TlsFileError { member, reason } in read_tls(files, folder).err().into_iter().flatten() {
        let hint = pem::hint(member);
        problems.error(&format!("/server/{key}/{member}"), reason, Some(hint));
    }
}

#[cfg(test)]
mod tests {
    use super::name_server;

    #[test]
    fn a_name_server_is_an_address_with_a_port_or_without() {
        for (text, expected) in [
            ("10.0.0.2", Some("10.0.0.2:53")),
            ("10.0.0.2:5353", Some("10.0.0.2:5353")),
            ("::1", Some("[::1]:53")),
            ("[::1]:5353", Some("[::1]:5353")),
            ("dns.provider.example", None),
            ("10.0.0.2:", None),
            ("", None),
        ] {
            let expected = expected.map(|address| address.parse().unwrap());
            assert_eq!(name_server(text), expected, "{text}");
        }
    }
}

//! `server`: its addresses, certificates and name servers, checked when the configuration is built, used when the process starts.

use super::{Problems, pem};
use crate::config::routes::{DnsConfig, ServerConfig, ServerTlsConfig};
use rustls::RootCertStore;
use rustls::sign::CertifiedKey;
use std::net::SocketAddr;
use std::path::Path;

const DNS_PORT: u16 = 53;

/// What a listener with TLS needs.
pub struct ServerTls {
    pub identity: CertifiedKey,
    /// Whom client certificates must come from; none are asked for without.
    pub client_authorities: Option<RootCertStore>,
}

/// A file that cannot be used.
pub struct Unusable {
    /// The key of `server.tls` that names it.
    pub member: &'static str,
    pub reason: String,
}

/// Reads the files that `config` names.
///
/// # Errors
/// Each file that cannot be used.
pub fn read_tls(config: &ServerTlsConfig, folder: &Path) -> Result<ServerTls, Vec<Unusable>> {
    let ServerTlsConfig {
        certificate,
        key,
        client_ca,
    } = config;
    let unusable = |member| move |reason| Unusable { member, reason };
    let chain = pem::certificates(&folder.join(certificate)).map_err(unusable("certificate"));
    let key = pem::private_key(&folder.join(key)).map_err(unusable("key"));
    let authorities = client_ca
        .as_ref()
        .map(|file| pem::authorities(&folder.join(file)).map_err(unusable("client_ca")))
        .transpose();
    match (chain, key, authorities) {
        (Ok(chain), Ok(key), Ok(client_authorities)) => Ok(ServerTls {
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

/// Reports addresses that are none, and the same one for both listeners.
pub(crate) fn check_addresses(config: &ServerConfig, problems: &mut Problems<'_>) {
    for (member, address) in [("listen", &config.listen), ("admin", &config.admin)] {
        let has_port = address
            .rsplit_once(':')
            .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
        if !has_port {
            problems.error(
                &format!("/server/{member}"),
                format!("`{address}` is not an address"),
                Some("write host and port, such as `127.0.0.1:8080`"),
            );
        }
    }
    if config.listen == config.admin && !config.listen.ends_with(":0") {
        problems.error(
            "/server/admin",
            "the admin pages cannot be at the gateway's own address",
            None,
        );
    }
}

/// A name server's address, `address` or `address:port`; an IPv6 address with a port stands in brackets.
pub fn name_server(text: &str) -> Option<SocketAddr> {
    let with_port = text.parse().ok();
    with_port.or_else(|| Some(SocketAddr::new(text.parse().ok()?, DNS_PORT)))
}

/// Reports name servers that are no addresses: their names would have to be asked for first.
pub(crate) fn check_dns(config: &DnsConfig, problems: &mut Problems<'_>) {
    for (index, server) in config.servers.iter().enumerate() {
        if name_server(server).is_none() {
            problems.error(
                &format!("/server/dns/servers/{index}"),
                format!("`{server}` is not the address of a name server"),
                Some(
                    "write an address, with a port or without, such as `10.0.0.2` or `[::1]:5353`",
                ),
            );
        }
    }
}

/// Reports each file that `config` names and that cannot be used.
pub(crate) fn check_tls(config: &ServerTlsConfig, folder: &Path, problems: &mut Problems<'_>) {
    for Unusable { member, reason } in read_tls(config, folder).err().into_iter().flatten() {
        problems.error(&format!("/server/tls/{member}"), reason, None);
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

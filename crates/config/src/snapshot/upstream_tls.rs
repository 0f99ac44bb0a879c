//! Builds TLS towards providers and services from its configuration.

use super::{ProblemCollector, pem};
use crate::channels::{ChannelConfig, UpstreamTlsConfig};
use headgate_core::catalog::base_url::BaseUrl;
use headgate_core::catalog::channel::{ClientCertificate, OriginTls};
use rustls_pki_types::ServerName;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files that the channels name: CA certificates, client certificates and their keys.
pub(crate) fn channel_files<'a>(
    configs: &'a BTreeMap<String, ChannelConfig>,
    folder: &'a Path,
) -> impl Iterator<Item = PathBuf> + 'a {
    configs
        .values()
        .flat_map(|config| tls_files(&config.tls))
        .map(|path| folder.join(path))
}

/// The files that TLS settings name.
pub(super) fn tls_files(tls: &UpstreamTlsConfig) -> impl Iterator<Item = &PathBuf> {
    [&tls.ca, &tls.certificate, &tls.key].into_iter().flatten()
}

/// The TLS settings of a server; `None` if they have problems.
pub(super) fn build(
    config: &UpstreamTlsConfig,
    base: &BaseUrl,
    folder: &Path,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<OriginTls> {
    let UpstreamTlsConfig {
        ca,
        certificate,
        key,
        server_name,
    } = config;
    let at = format!("{at}/tls");
    let before = problems.errors();
    let mut read =
        |member: &str, path: &Path, reader: fn(&Path) -> Result<Vec<Vec<u8>>, String>| {
            reader(&folder.join(path))
                .map_err(|reason| {
                    let hint = pem::hint(member);
                    problems.error(&format!("{at}/{member}"), reason, Some(hint));
                })
                .ok()
        };
    let authorities = ca.as_ref().and_then(|path| {
        read("ca", path, |path| {
            pem::authorities(path).and_then(|_| pem::certificates(path))
        })
    });
    let chain = certificate
        .as_ref()
        .and_then(|path| read("certificate", path, pem::certificates));
    let key_der = key.as_ref().and_then(|path| {
        read("key", path, |path| {
            pem::private_key(path).map(|key| vec![key])
        })
    });
    if certificate.is_some() != key.is_some() {
        problems.error(&at, "`certificate` and `key` must be set together", None);
    }
    let server_name = server_name.clone().unwrap_or_else(|| base.host.to_string());
    // In particular not an empty name, which would disable verification.
    if ServerName::try_from(server_name.as_str()).is_err() {
        problems.error(
            &format!("{at}/server_name"),
            format!("`{server_name}` is not a host name or IP address"),
            None,
        );
    }
    let identity = chain
        .zip(key_der.and_then(|mut keys| keys.pop()))
        .map(|(chain, key)| ClientCertificate { chain, key });
    if let Some(ClientCertificate { chain, key }) = &identity
        && let Err(reason) = pem::certified_key(chain, key)
    {
        problems.error(&format!("{at}/key"), reason, Some(pem::hint("key")));
    }
    (problems.errors() == before).then_some(OriginTls {
        server_name,
        authorities,
        identity,
    })
}

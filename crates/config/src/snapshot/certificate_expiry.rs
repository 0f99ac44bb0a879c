//! When the certificates that the gateway presents expire.

use super::pem;
use super::server::ListenerTlsPaths;
use headgate_core::catalog::Catalog;
use std::path::Path;
use x509_parser::parse_x509_certificate;

/// The setting of the gateway's listener.
pub const LISTENER: &str = "server.tls";
/// The setting of the admin listener.
pub const ADMIN_LISTENER: &str = "server.admin_tls";

/// When the first certificate of a listener's chain expires, in Unix seconds; `None` if the file cannot be read.
pub fn listener_expiry(files: &ListenerTlsPaths, folder: &Path) -> Option<i64> {
    let chain = pem::certificates(&folder.join(&files.certificate)).ok()?;
    first_expiry(&chain)
}

/// The same for the client certificates of channels, each with its setting, such as `channels.primary.tls`.
pub fn channel_expiries(catalog: &Catalog) -> impl Iterator<Item = (String, i64)> + '_ {
    catalog.channels().filter_map(|channel| {
        let identity = channel.origin.tls.as_ref()?.identity.as_ref()?;
        let expiry = first_expiry(&identity.chain)?;
        Some((format!("channels.{}.tls", channel.name), expiry))
    })
}

fn first_expiry(chain: &[Vec<u8>]) -> Option<i64> {
    let expiries = chain.iter().filter_map(|der| {
        let (_, certificate) = parse_x509_certificate(der).ok()?;
        Some(certificate.validity().not_after.timestamp())
    });
    expiries.min()
}

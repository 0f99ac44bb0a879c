//! Reads certificates and private keys from PEM files when the configuration is built.

use headgate_core::regular_file;
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;

/// Largest file of certificates or keys, in bytes.
const PEM_BYTES_MAX: u64 = 16 << 20;

/// What to do about a file under the key `member` of a mapping of TLS settings.
pub fn hint(member: &str) -> &'static str {
    match member {
        "certificate" => {
            "name a PEM file with the certificate and those of its issuers, `-----BEGIN CERTIFICATE-----`; a relative path starts at the folder of this file"
        }
        "key" => {
            "name a PEM file with the private key that the certificate was made for, `-----BEGIN PRIVATE KEY-----`; a relative path starts at the folder of this file"
        }
        _ => {
            "name a PEM file with CA certificates, `-----BEGIN CERTIFICATE-----`; a relative path starts at the folder of this file"
        }
    }
}

/// The content of a PEM file.
///
/// # Errors
/// A sentence: the file cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    regular_file::read(path, PEM_BYTES_MAX)
        .map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

/// The certificates of a PEM file, in DER.
///
/// # Errors
/// A sentence: the file cannot be read, or contains no certificate.
pub fn certificates(path: &Path) -> Result<Vec<Vec<u8>>, String> {
    let pem = read(path)?;
    let certificates: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(&pem)
        .map(|certificate| certificate.map(|der| der.to_vec()))
        .collect::<Result<_, _>>()
        .map_err(|error| malformed(path, &error))?;
    for der in &certificates {
        // An invalid certificate would otherwise be found only when a connection is made.
        let der = CertificateDer::from(der.as_slice());
        ParsedCertificate::try_from(&der).map_err(|error| {
            format!(
                "`{}` contains an invalid certificate: {error}",
                path.display()
            )
        })?;
    }
    if certificates.is_empty() {
        return Err(format!("`{}` contains no PEM certificate", path.display()));
    }
    Ok(certificates)
}

/// The private key of a PEM file, in DER.
///
/// # Errors
/// A sentence: the file cannot be read, or contains no key that TLS can use.
pub fn private_key(path: &Path) -> Result<Vec<u8>, String> {
    let key =
        PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| malformed(path, &error))?;
    default_provider()
        .key_provider
        .load_private_key(key.clone_key())
        .map_err(|error| {
            format!(
                "`{}` contains no usable private key: {error}",
                path.display()
            )
        })?;
    Ok(key.secret_der().to_vec())
}

/// The CA certificates of a PEM file.
///
/// # Errors
/// A sentence: the file cannot be read, or contains no certificate.
pub fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let mut authorities = RootCertStore::empty();
    for der in certificates(path)? {
        authorities
            .add(CertificateDer::from(der))
            .map_err(|error| {
                format!(
                    "`{}` contains no usable CA certificate: {error}",
                    path.display()
                )
            })?;
    }
    Ok(authorities)
}

/// A certificate chain with its key, both in DER.
///
/// # Errors
/// A sentence: the key does not belong to the certificate.
pub fn certified_key(chain: &[Vec<u8>], key: &[u8]) -> Result<CertifiedKey, String> {
    let chain = chain.iter().cloned().map(CertificateDer::from).collect();
    let key = PrivateKeyDer::try_from(key.to_vec()).map_err(String::from)?;
    CertifiedKey::from_der(chain, key, &default_provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => "`key` does not match `certificate`".to_owned(),
        other => format!("`key` does not match `certificate`: {other}"),
    })
}

fn malformed(path: &Path, error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => format!("`{}` contains no PEM private key", path.display()),
        _ => format!("`{}` is not valid PEM: {error}", path.display()),
    }
}

//! Certificates for one test, and TLS connections that use them.

use super::folder::Folder;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The name in server certificates, beside 127.0.0.1.
pub const SERVER: &str = "gate.test";

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key, in PEM.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        Self { issuer }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for these names and addresses.
    pub fn issue(&self, names: &[&str]) -> Identity {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// A certificate of a client with these names: `uri:`, `dns:`, `email:` or `cn:` and the name.
    pub fn client(&self, names: &[&str]) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        for name in names {
            let (kind, name) = name.split_once(':').unwrap();
            let text = || name.try_into().unwrap();
            match kind {
                "uri" => params.subject_alt_names.push(SanType::URI(text())),
                "dns" => params.subject_alt_names.push(SanType::DnsName(text())),
                "email" => params.subject_alt_names.push(SanType::Rfc822Name(text())),
                _ => params.distinguished_name.push(DnType::CommonName, name),
            }
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// A certificate for [`SERVER`] that expires in `days`.
    pub fn expiring(&self, days: u64) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([SERVER.to_owned()]).unwrap();
        params.not_after = (SystemTime::now() + Duration::from_secs(days * 86_400)).into();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// A certificate for [`SERVER`] and 127.0.0.1.
    pub fn server(&self) -> Identity {
        self.issue(&[SERVER, "127.0.0.1"])
    }

    /// Connects to [`SERVER`] at `address` and verifies its certificate with this authority.
    ///
    /// # Errors
    /// The handshake fails. With TLS 1.3 a refused client certificate shows only with the first read.
    pub async fn connect(
        &self,
        address: SocketAddr,
        offered: &[&str],
        identity: Option<&Identity>,
    ) -> io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        self.connect_over(stream, offered, identity).await
    }

    /// Like [`Self::connect`], on a connection that may have carried other bytes before.
    pub async fn connect_over(
        &self,
        stream: TcpStream,
        offered: &[&str],
        identity: Option<&Identity>,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut authorities = RootCertStore::empty();
        authorities.add(self.issuer.der().clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(authorities);
        let mut config = match identity {
            Some(identity) => builder
                .with_client_auth_cert(identity.chain(), identity.key())
                .unwrap(),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = offered.iter().map(|name| name.as_bytes().into()).collect();
        let name = ServerName::try_from(SERVER).unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await
    }
}

impl Identity {
    /// Writes the files of a `server.tls` or `channels.*.tls` section, and returns the section.
    pub fn write(&self, folder: &Folder, name: &str) -> Value {
        folder.write(&format!("{name}.pem"), &self.certificate);
        folder.write(&format!("{name}.key"), &self.key);
        json!({"certificate": format!("{name}.pem"), "key": format!("{name}.key")})
    }

    /// The TLS configuration of a server with this certificate.
    pub fn server_config(&self, offered: &[&str]) -> Arc<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(self.chain(), self.key())
            .unwrap();
        config.alpn_protocols = offered.iter().map(|name| name.as_bytes().into()).collect();
        Arc::new(config)
    }

    fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()]
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap()
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

//! Verification of client certificates, and what is read of them.

use async_trait::async_trait;
use headgate_config::snapshot::client_certificates::read_client_certificate;
use pingora_core::listeners::TlsAccept;
use pingora_core::protocols::tls::TlsRef;
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::any::Any;
use std::sync::Arc;

/// Reads the names in the certificate of each client, for the filter that authenticates.
pub struct ClientCertificateReader;

/// Accepts client certificates that one of `authorities` issued.
///
/// # Errors
/// A sentence that explains why no verifier can be built.
pub fn verifier(authorities: RootCertStore) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider)
        .build()
        .map_err(|error| error.to_string())
}

#[async_trait]
impl TlsAccept for ClientCertificateReader {
    async fn handshake_complete_callback(
        &self,
        tls: &TlsRef,
    ) -> Option<Arc<dyn Any + Send + Sync>> {
        let certificate = read_client_certificate(tls.peer_certificate_der()?);
        Some(Arc::new(certificate))
    }
}

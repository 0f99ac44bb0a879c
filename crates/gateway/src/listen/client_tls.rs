//! Verification of client certificates.

use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::sync::Arc;

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

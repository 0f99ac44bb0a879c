//! Client certificates: whom a listener lets in.

use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::sync::Arc;

/// Lets in those whose certificate comes from one of `authorities`.
///
/// # Errors
/// A sentence: there is none.
pub fn verifier(authorities: RootCertStore) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider)
        .build()
        .map_err(|error| error.to_string())
}

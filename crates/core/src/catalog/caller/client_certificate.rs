//! What a client's certificate says of its holder.

use super::KeyDigest;
use std::sync::Arc;

/// How names begin.
pub const NAME_KINDS: [&str; 4] = ["uri:", "dns:", "email:", "cn:"];

/// The names in a verified client certificate of a connection, each with its kind: those of the subject alternative names,
/// and the common name of the subject. In [`RequestFilterValues`](crate::filter::state::RequestFilterValues).
#[derive(Clone, Debug)]
pub struct CallerCertificate(Arc<[CertificateName]>);

/// A name, such as `uri:spiffe://prod/web`.
#[derive(Debug)]
pub struct CertificateName {
    pub text: Box<str>,
    /// By which a caller's key is found.
    pub digest: KeyDigest,
}

impl CallerCertificate {
    /// A certificate with these names, each with its kind.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().map(|text| CertificateName {
            digest: KeyDigest::from_certificate_name(&text),
            text: text.into(),
        });
        Self(names.collect())
    }

    pub fn names(&self) -> &[CertificateName] {
        &self.0
    }
}

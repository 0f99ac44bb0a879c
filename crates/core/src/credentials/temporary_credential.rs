//! Credentials that servers issue for minutes to hours, such as access tokens.

use crate::catalog::aws_signer::AwsSigner;
use crate::catalog::credential_secret::CredentialSecret;
use http::HeaderValue;
use std::fmt;
use std::time::Duration;

/// A credential as a server issued it.
pub struct TemporaryCredential {
    pub proof: CredentialProof,
    /// All that no response, log line or error may reveal.
    pub secrets: Vec<CredentialSecret>,
    /// How long it is valid, from the end of the fetch on.
    pub lifetime: Duration,
}

/// What makes requests authentic.
pub enum CredentialProof {
    /// `Authorization: Bearer …`, marked sensitive.
    Bearer(HeaderValue),
    /// A signature of AWS with a temporary access key.
    Aws(Box<AwsSigner>),
}

/// Why there is no credential, for the operator. It contains no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CredentialSourceError(pub String);

impl TemporaryCredential {
    /// A token that is valid for `lifetime`.
    ///
    /// # Errors
    /// The token is empty, or has bytes that no header can have.
    pub fn bearer(token: &str, lifetime: Duration) -> Result<Self, CredentialSourceError> {
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        let is_visible = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        let Some(mut value) = value.ok().filter(|_| is_visible) else {
            let reason = "the token has characters that no header may have".to_owned();
            return Err(CredentialSourceError(reason));
        };
        value.set_sensitive(true);
        Ok(Self {
            proof: CredentialProof::Bearer(value),
            secrets: vec![CredentialSecret::new(token)],
            lifetime,
        })
    }
}

impl fmt::Debug for TemporaryCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TemporaryCredential for {:?}", self.lifetime)
    }
}

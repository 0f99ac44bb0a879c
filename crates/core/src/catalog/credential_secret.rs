//! A secret of a credential, which no type prints.

use std::fmt;

/// A secret that cannot be printed.
#[derive(Clone)]
pub struct CredentialSecret(Box<str>);

impl CredentialSecret {
    pub fn new(secret: &str) -> Self {
        Self(secret.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CredentialSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

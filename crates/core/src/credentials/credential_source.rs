//! The interface to what asks a server for a credential.

use super::temporary_credential::{CredentialSourceError, TemporaryCredential};
use crate::callout::ServiceClient;
use std::future::Future;
use std::pin::Pin;

/// Issues credentials, each time it is asked.
pub trait CredentialSource: Send + Sync {
    /// Asks the server for a credential. The caller limits the time.
    ///
    /// # Errors
    /// The server cannot be asked, or issues none.
    fn issue<'a>(&'a self, client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a>;
}

/// A credential that is being issued.
pub type CredentialIssueFuture<'a> =
    Pin<Box<dyn Future<Output = Result<TemporaryCredential, CredentialSourceError>> + Send + 'a>>;

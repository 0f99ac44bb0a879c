//! The wait of a request for a credential that a server is about to issue.

use super::ChannelWithCredential;
use headgate_core::catalog::credential::Credential;
use headgate_core::state::clock::steady_ms;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// The longest wait. A fetch that takes longer goes on, and the request fails over.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// A wait for the end of a fetch.
pub type CredentialWait = Pin<Box<dyn Future<Output = ()> + Send>>;

impl ChannelWithCredential<'_> {
    /// Waits while the channel has no credential that is ready and one is being fetched; `None` if it has one, or needs none.
    pub fn credential_wait(self) -> Option<CredentialWait> {
        let state = self.credential.and_then(Credential::refresh_state)?;
        if state.is_ready(steady_ms()) {
            return None;
        }
        let state = state.clone();
        Some(Box::pin(async move {
            // Whether there is one shows when the request is signed.
            let _ = timeout(WAIT_MAX, state.wait(steady_ms())).await;
        }))
    }
}

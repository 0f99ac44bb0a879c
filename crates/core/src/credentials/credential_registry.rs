//! The credentials that are refreshed while the process runs, shared by all snapshots.

use super::credential_source::CredentialSource;
use super::refreshed_credential::RefreshedCredential;
use crate::state::lock::lock;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::Notify;

/// The credentials of all snapshots in use, by the settings of their sources: a reload that changes none of them fetches
/// nothing.
#[derive(Default)]
pub struct CredentialRegistry {
    credentials: Mutex<HashMap<u64, RegisteredCredential>>,
    /// Wakes whoever fetches, when a credential is added or is to be fetched at once.
    pub wake: Arc<Notify>,
}

/// A credential, and where it comes from.
#[derive(Clone)]
pub struct CredentialWithSource {
    pub credential: Arc<RefreshedCredential>,
    pub source: Arc<dyn CredentialSource>,
}

struct RegisteredCredential {
    credential: Weak<RefreshedCredential>,
    source: Arc<dyn CredentialSource>,
}

impl CredentialRegistry {
    /// The credential of the source with these settings, of which `fingerprint` is a hash; a new one if no snapshot in use
    /// has it.
    pub fn get_or_add(
        &self,
        fingerprint: u64,
        source: Arc<dyn CredentialSource>,
    ) -> Arc<RefreshedCredential> {
        let mut credentials = lock(&self.credentials);
        let known = credentials.get(&fingerprint);
        if let Some(known) = known.and_then(|known| known.credential.upgrade()) {
            return known;
        }
        credentials.retain(|_, registered| registered.credential.strong_count() > 0);
        let added = Arc::new(RefreshedCredential::new(self.wake.clone()));
        let credential = Arc::downgrade(&added);
        credentials.insert(fingerprint, RegisteredCredential { credential, source });
        self.wake.notify_one();
        added
    }

    /// The credentials that a snapshot uses.
    pub fn in_use(&self) -> Vec<CredentialWithSource> {
        let credentials = lock(&self.credentials);
        let in_use = credentials.values().filter_map(|registered| {
            Some(CredentialWithSource {
                credential: registered.credential.upgrade()?,
                source: registered.source.clone(),
            })
        });
        in_use.collect()
    }
}

impl fmt::Debug for CredentialRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialRegistry")
    }
}

#[cfg(test)]
mod tests {
    use super::super::credential_source::CredentialIssueFuture;
    use super::*;
    use crate::callout::ServiceClient;

    struct UnusedSource;

    impl CredentialSource for UnusedSource {
        fn issue<'a>(&'a self, _client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a> {
            unreachable!("nothing is fetched here")
        }
    }

    #[test]
    fn equal_settings_share_a_credential_for_as_long_as_a_snapshot_uses_it() {
        let registry = CredentialRegistry::default();
        let first = registry.get_or_add(1, Arc::new(UnusedSource));
        let same = registry.get_or_add(1, Arc::new(UnusedSource));
        let other = registry.get_or_add(2, Arc::new(UnusedSource));
        assert!(Arc::ptr_eq(&first, &same) && !Arc::ptr_eq(&first, &other));
        assert_eq!(registry.in_use().len(), 2);
        drop((first, same));
        assert_eq!(registry.in_use().len(), 1);
        registry.get_or_add(1, Arc::new(UnusedSource));
        assert_eq!(registry.in_use().len(), 1, "nothing uses the new one");
    }
}

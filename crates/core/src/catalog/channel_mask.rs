//! What no response of a channel may reveal: the secrets of its configuration, and credentials that servers issued for it.

use super::credential::Credential;
use crate::credentials::refreshed_credential::RefreshedCredential;
use crate::state::lock::lock;
use headgate_protocol::mask::ChannelSecrets;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex};

/// The secrets of a channel as they are now.
pub struct ChannelMask {
    fixed: Arc<ChannelSecrets>,
    issued: Option<Box<IssuedSecrets>>,
}

/// The secrets of a channel of which some are issued anew.
struct IssuedSecrets {
    fixed: Vec<String>,
    credentials: Vec<Arc<RefreshedCredential>>,
    current: Mutex<MaskOfGeneration>,
}

/// The secrets together, as of the generation of each credential.
struct MaskOfGeneration {
    generations: Vec<u64>,
    secrets: Arc<ChannelSecrets>,
}

impl ChannelMask {
    /// The secrets of `values`, and those that are issued for `credentials`.
    pub fn new<'v>(credentials: &[Credential], values: impl IntoIterator<Item = &'v str>) -> Self {
        let values: Vec<String> = values.into_iter().map(str::to_owned).collect();
        let fixed = Arc::new(ChannelSecrets::new(values.iter().map(String::as_str)));
        let refreshed = credentials.iter().filter_map(Credential::refresh_state);
        let credentials: Vec<_> = refreshed.cloned().collect();
        let issued = (!credentials.is_empty()).then(|| {
            Box::new(IssuedSecrets {
                fixed: values,
                current: Mutex::new(MaskOfGeneration {
                    generations: vec![0; credentials.len()],
                    secrets: fixed.clone(),
                }),
                credentials,
            })
        });
        Self { fixed, issued }
    }

    /// The secrets that a response may contain now.
    pub fn current(&self) -> Cow<'_, Arc<ChannelSecrets>> {
        match &self.issued {
            None => Cow::Borrowed(&self.fixed),
            Some(issued) => Cow::Owned(issued.current()),
        }
    }
}

impl IssuedSecrets {
    fn current(&self) -> Arc<ChannelSecrets> {
        let credentials = self.credentials.iter();
        let generations: Vec<u64> = credentials.map(|one| one.generation()).collect();
        let mut current = lock(&self.current);
        if current.generations != generations {
            let issued: Vec<_> = self.credentials.iter().map(|one| one.secrets()).collect();
            let issued = issued.iter().flatten().map(|secret| secret.expose());
            let fixed = self.fixed.iter().map(String::as_str);
            *current = MaskOfGeneration {
                generations,
                secrets: Arc::new(ChannelSecrets::new(fixed.chain(issued))),
            };
        }
        current.secrets.clone()
    }
}

impl fmt::Debug for ChannelMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChannelMask")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::temporary_credential::TemporaryCredential;
    use std::time::Duration;

    #[test]
    fn what_a_server_issued_is_masked_as_soon_as_it_is_used() {
        let source = RefreshedCredential::new(Arc::default());
        let source = Arc::new(source);
        let credential = Credential::refreshed(source.clone(), false, "client-1", Vec::new(), 1);
        let mask = ChannelMask::new(&[credential], ["client-secret-1"]);
        let is_masked = |text: &str| !mask.current().find(text.as_bytes()).is_empty();
        assert!(is_masked("client-secret-1") && !is_masked("issued-token-1"));
        for number in 1..=3 {
            let token = format!("issued-token-{number}");
            let issued = TemporaryCredential::bearer(&token, Duration::from_secs(60));
            source.end_fetch(issued, number);
            assert!(is_masked(&token) && is_masked("client-secret-1"));
        }
        assert!(is_masked("issued-token-2") && !is_masked("issued-token-1"));
        assert_eq!(format!("{mask:?}"), "ChannelMask");
    }
}

//! Fetches credentials in the background: the first time when a configuration names them, and before they expire.

use headgate_core::callout::ServiceClient;
use headgate_core::credentials::credential_registry::{CredentialRegistry, CredentialWithSource};
use headgate_core::credentials::refreshed_credential::RefreshedCredential;
use headgate_core::credentials::temporary_credential::{
    CredentialSourceError, TemporaryCredential,
};
use headgate_core::state::clock::steady_ms;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long a fetch may take, with all its requests.
const WITHIN: Duration = Duration::from_secs(20);
/// The longest time without a look at what is due.
const IDLE: Duration = Duration::from_secs(60);

/// Keeps the credentials of `registry` valid, while the process serves.
pub async fn run(registry: Arc<CredentialRegistry>, client: Arc<dyn ServiceClient>) {
    let mut fetches = JoinSet::new();
    loop {
        let now = steady_ms();
        let mut next = IDLE;
        for known in registry.in_use() {
            match known.credential.due_ms() {
                None => {}
                Some(due) if due <= now => {
                    let client = client.clone();
                    fetches.spawn(async move { fetch(&known, &*client).await });
                }
                Some(due) => next = next.min(Duration::from_millis(due - now)),
            }
        }
        tokio::select! {
            () = sleep(next) => {}
            () = registry.wake.notified() => {}
            Some(_) = fetches.join_next() => {}
        }
    }
}

/// Fetches a credential now, unless a fetch of it is under way.
pub async fn fetch(known: &CredentialWithSource, client: &dyn ServiceClient) {
    let CredentialWithSource { credential, source } = known;
    if !credential.begin_fetch(steady_ms()) {
        return;
    }
    let mut ending = FetchEnd {
        credential,
        result: None,
    };
    let issued = timeout(WITHIN, source.issue(client)).await;
    let issued = issued.unwrap_or_else(|_| {
        let reason = format!("no answer within {} s", WITHIN.as_secs());
        Err(CredentialSourceError(reason))
    });
    if let Err(error) = &issued {
        tracing::warn!(%error, "a credential cannot be fetched");
    }
    ending.result = Some(issued);
}

/// Ends a fetch, also one whose future is dropped.
struct FetchEnd<'c> {
    credential: &'c RefreshedCredential,
    result: Option<Result<TemporaryCredential, CredentialSourceError>>,
}

impl Drop for FetchEnd<'_> {
    fn drop(&mut self) {
        let result = self.result.take();
        let dropped = || Err(CredentialSourceError("the fetch was cancelled".into()));
        self.credential
            .end_fetch(result.unwrap_or_else(dropped), steady_ms());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::callout::{ServiceCallError, ServiceRequest, ServiceResponseFuture};
    use headgate_core::credentials::credential_source::{CredentialIssueFuture, CredentialSource};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Issues tokens with numbers, each after a moment, or never.
    struct NumberedTokens {
        issued: Arc<AtomicUsize>,
        answers: bool,
    }

    impl CredentialSource for NumberedTokens {
        fn issue<'a>(&'a self, _client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a> {
            Box::pin(async {
                let number = self.issued.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(20)).await;
                if !self.answers {
                    sleep(WITHIN * 2).await;
                }
                TemporaryCredential::bearer(&format!("token-{number}"), Duration::from_secs(3_600))
            })
        }
    }

    struct UnusedClient;

    impl ServiceClient for UnusedClient {
        fn send<'a>(&'a self, _request: ServiceRequest<'a>) -> ServiceResponseFuture<'a> {
            Box::pin(async { Err(ServiceCallError::Connect("unused".into())) })
        }
    }

    #[tokio::test]
    async fn a_credential_is_fetched_once_as_soon_as_a_configuration_names_it() {
        let registry = Arc::new(CredentialRegistry::default());
        let running = tokio::spawn(run(registry.clone(), Arc::new(UnusedClient)));
        tokio::task::yield_now().await;
        let issued = Arc::new(AtomicUsize::new(0));
        let source = NumberedTokens {
            issued: issued.clone(),
            answers: true,
        };
        let credential = registry.get_or_add(1, Arc::new(source));
        let waits = (0..10).map(|_| credential.wait(steady_ms()));
        for wait in waits {
            wait.await;
        }
        assert!(credential.issued(steady_ms()).is_ok());
        assert_eq!(issued.load(Ordering::Relaxed), 1);
        running.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_without_an_answer_ends_and_so_does_one_that_is_dropped() {
        let source = NumberedTokens {
            issued: Arc::default(),
            answers: false,
        };
        let credential = Arc::new(RefreshedCredential::new(Arc::default()));
        let known = CredentialWithSource {
            credential: credential.clone(),
            source: Arc::new(source),
        };
        fetch(&known, &UnusedClient).await;
        let error = credential.report(steady_ms()).error.unwrap();
        assert_eq!(&*error, "no answer within 20 s");
        drop(timeout(Duration::from_secs(1), fetch(&known, &UnusedClient)).await);
        let error = credential.report(steady_ms()).error.unwrap();
        assert_eq!(&*error, "the fetch was cancelled");
    }
}

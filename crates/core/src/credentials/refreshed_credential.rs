//! A credential that is issued anew before it expires: the current one, and when the next fetch is due.

use super::temporary_credential::{CredentialProof, CredentialSourceError, TemporaryCredential};
use crate::catalog::credential_secret::CredentialSecret;
use crate::random::random_fraction;
use crate::state::calendar::whole_ms;
use crate::state::lock::lock;
use arc_swap::ArcSwapOption;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// The credential that a source issues. All times are of [`crate::state::clock::steady_ms`].
pub struct RefreshedCredential {
    current: ArcSwapOption<IssuedCredential>,
    /// How many credentials were issued.
    generation: AtomicU64,
    /// Whether a provider has refused the current one, so that another one is being fetched.
    is_refused: AtomicBool,
    schedule: Mutex<RefreshSchedule>,
    /// Wakes requests that wait for the end of a fetch.
    fetch_ended: Notify,
    /// Wakes whoever fetches.
    wake: Arc<Notify>,
}

/// A credential until it expires.
pub struct IssuedCredential {
    pub proof: CredentialProof,
    expires_ms: u64,
    secrets: Vec<CredentialSecret>,
    /// Those of the credential before it: a response to a request with that one may still come.
    earlier_secrets: Vec<CredentialSecret>,
}

/// What is known about a credential at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialRefreshReport {
    /// How long the current one is still valid; `None` if there is none.
    pub valid_for: Option<Duration>,
    /// Why the last fetch failed; `None` if it did not.
    pub error: Option<Arc<str>>,
}

struct RefreshSchedule {
    due_ms: u64,
    /// When the last fetch began.
    began_ms: u64,
    /// When the last one ended that issued a credential.
    issued_ms: Option<u64>,
    is_fetching: bool,
    /// How many fetches have failed since the last one that did not.
    failures: u32,
    error: Option<Arc<str>>,
}

/// The first wait after a fetch that failed. Each further one is twice as long, up to [`RETRY_MAX`]: as long do requests fail after
/// an outage of the server that outlasts the credential.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(10);
/// A wait is lengthened by up to this share of it, so that many gateways do not fetch in step.
const JITTER: f64 = 0.1;
/// The shortest time between two fetches: a server that issues what has nearly expired is not asked without pause.
const INTERVAL_MIN: Duration = Duration::from_secs(1);
/// A credential that is refused sooner after its fetch is not refused for its age.
const REFUSED_AGE_MIN: Duration = Duration::from_secs(5);

impl RefreshedCredential {
    /// A credential that is fetched as soon as possible; `wake` wakes whoever does it.
    pub fn new(wake: Arc<Notify>) -> Self {
        Self {
            current: ArcSwapOption::empty(),
            generation: AtomicU64::new(0),
            is_refused: AtomicBool::new(false),
            schedule: Mutex::new(RefreshSchedule {
                due_ms: 0,
                began_ms: 0,
                issued_ms: None,
                is_fetching: false,
                failures: 0,
                error: None,
            }),
            fetch_ended: Notify::new(),
            wake,
        }
    }

    /// The credential that is valid now.
    ///
    /// # Errors
    /// There is none: the reason of the last fetch, or that none has ended yet.
    pub fn issued(&self, now_ms: u64) -> Result<Arc<IssuedCredential>, CredentialSourceError> {
        let current = self.current.load_full();
        let current = current.filter(|current| now_ms < current.expires_ms);
        current.ok_or_else(|| {
            let error = lock(&self.schedule).error.clone();
            let error = error.unwrap_or_else(|| "none has been issued yet".into());
            CredentialSourceError((*error).to_owned())
        })
    }

    /// Whether there is a valid credential that no provider has refused.
    pub fn is_ready(&self, now_ms: u64) -> bool {
        let current = self.current.load();
        let is_valid = current.as_ref().is_some_and(|one| now_ms < one.expires_ms);
        is_valid && !self.is_refused.load(Ordering::Relaxed)
    }

    /// Waits until the fetch that is under way has ended, if there is no credential that is ready.
    pub async fn wait(&self, now_ms: u64) {
        let mut ended = pin!(self.fetch_ended.notified());
        ended.as_mut().enable();
        let is_pending = {
            let schedule = lock(&self.schedule);
            schedule.is_fetching || schedule.due_ms <= now_ms
        };
        if is_pending && !self.is_ready(now_ms) {
            ended.await;
        }
    }

    /// When the next fetch is due; `None` while one is under way.
    pub fn due_ms(&self) -> Option<u64> {
        let schedule = lock(&self.schedule);
        (!schedule.is_fetching).then_some(schedule.due_ms)
    }

    /// Begins a fetch, unless another one is under way. It ends with [`Self::end_fetch`].
    pub fn begin_fetch(&self, now_ms: u64) -> bool {
        let mut schedule = lock(&self.schedule);
        schedule.began_ms = now_ms;
        !std::mem::replace(&mut schedule.is_fetching, true)
    }

    /// Takes the result of a fetch, and determines when the next one is due. A credential that is still valid stays in
    /// use when a fetch fails.
    pub fn end_fetch(
        &self,
        result: Result<TemporaryCredential, CredentialSourceError>,
        now_ms: u64,
    ) {
        let wait = match result {
            Ok(issued) => {
                let wait = (issued.lifetime * 3 / 4).max(INTERVAL_MIN);
                self.replace(issued, now_ms);
                let mut schedule = lock(&self.schedule);
                schedule.failures = 0;
                schedule.error = None;
                schedule.issued_ms = Some(now_ms);
                wait
            }
            Err(error) => {
                let mut schedule = lock(&self.schedule);
                let doublings = schedule.failures.min(6);
                schedule.failures = schedule.failures.saturating_add(1);
                schedule.error = Some(error.0.into());
                let wait = (RETRY_FIRST * 2_u32.pow(doublings)).min(RETRY_MAX);
                wait.mul_f64(1.0 + JITTER * random_fraction())
            }
        };
        let mut schedule = lock(&self.schedule);
        schedule.due_ms = now_ms.saturating_add(whole_ms(wait));
        schedule.is_fetching = false;
        self.is_refused.store(false, Ordering::Relaxed);
        drop(schedule);
        self.fetch_ended.notify_waiters();
    }

    /// Notes that a provider refused a request that was signed at `signed_ms` or later. Returns whether another request has
    /// another credential: one was issued since then, or will be at once, unless the one in use is younger than 5 s.
    pub fn refuse(&self, signed_ms: u64, now_ms: u64) -> bool {
        let mut schedule = lock(&self.schedule);
        let is_replaced = schedule.issued_ms.is_some_and(|issued| issued > signed_ms);
        if schedule.is_fetching || is_replaced {
            return true;
        }
        let age = now_ms.saturating_sub(schedule.began_ms);
        let is_old = age >= whole_ms(REFUSED_AGE_MIN);
        if is_old {
            self.is_refused.store(true, Ordering::Relaxed);
            schedule.due_ms = now_ms;
            self.wake.notify_one();
        }
        is_old
    }

    /// The secrets that were issued and may still be seen.
    pub fn secrets(&self) -> Vec<CredentialSecret> {
        let current = self.current.load();
        let current = current.iter();
        let secrets = current.flat_map(|one| one.secrets.iter().chain(&one.earlier_secrets));
        secrets.cloned().collect()
    }

    /// Changes whenever [`Self::secrets`] does.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub fn report(&self, now_ms: u64) -> CredentialRefreshReport {
        let current = self.current.load();
        let left = current.as_ref().and_then(|current| {
            let left = current.expires_ms.checked_sub(now_ms)?;
            (left > 0).then(|| Duration::from_millis(left))
        });
        CredentialRefreshReport {
            valid_for: left,
            error: lock(&self.schedule).error.clone(),
        }
    }

    fn replace(&self, issued: TemporaryCredential, now_ms: u64) {
        let earlier = self.current.load();
        let earlier_secrets = earlier.as_ref().map(|earlier| earlier.secrets.clone());
        self.current.store(Some(Arc::new(IssuedCredential {
            proof: issued.proof,
            expires_ms: now_ms.saturating_add(whole_ms(issued.lifetime)),
            secrets: issued.secrets,
            earlier_secrets: earlier_secrets.unwrap_or_default(),
        })));
        self.generation.fetch_add(1, Ordering::Release);
    }
}

impl fmt::Debug for RefreshedCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefreshedCredential")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential() -> RefreshedCredential {
        RefreshedCredential::new(Arc::default())
    }

    fn token(text: &str, seconds: u64) -> Result<TemporaryCredential, CredentialSourceError> {
        TemporaryCredential::bearer(text, Duration::from_secs(seconds))
    }

    fn failure(reason: &str) -> Result<TemporaryCredential, CredentialSourceError> {
        Err(CredentialSourceError(reason.into()))
    }

    fn bearer(credential: &RefreshedCredential, now_ms: u64) -> Result<String, String> {
        let issued = credential.issued(now_ms).map_err(|error| error.0)?;
        match &issued.proof {
            CredentialProof::Bearer(value) => Ok(value.to_str().unwrap().to_owned()),
            CredentialProof::Aws(_) => unreachable!("only tokens are issued here"),
        }
    }

    #[test]
    fn a_credential_is_used_to_its_end_while_fetches_fail() {
        let credential = credential();
        assert_eq!(credential.due_ms(), Some(0));
        assert_eq!(
            bearer(&credential, 5),
            Err("none has been issued yet".into())
        );
        assert!(credential.begin_fetch(5));
        assert!(!credential.begin_fetch(6), "one fetch at a time");
        assert_eq!(credential.due_ms(), None);
        credential.end_fetch(token("token-1", 1_000), 10);
        assert_eq!(bearer(&credential, 10), Ok("Bearer token-1".into()));
        assert_eq!(credential.due_ms(), Some(750_010));

        let mut now = 750_010;
        let mut waits = Vec::new();
        while now < 1_000_010 {
            assert!(credential.begin_fetch(now));
            credential.end_fetch(failure("no route"), now);
            assert_eq!(bearer(&credential, now), Ok("Bearer token-1".into()));
            let due = credential.due_ms().unwrap();
            waits.push((due - now) / 1_000);
            now = due;
        }
        assert_eq!(bearer(&credential, 1_000_010), Err("no route".into()));
        assert_eq!(&waits[..3], [1, 2, 4]);
        assert!(waits.iter().all(|wait| *wait <= 11), "{waits:?}");
        let report = credential.report(1_000_010);
        assert_eq!(report.valid_for, None);
        assert_eq!(report.error.as_deref(), Some("no route"));

        credential.end_fetch(token("token-2", 1_000), now);
        assert_eq!(bearer(&credential, now), Ok("Bearer token-2".into()));
        assert_eq!(credential.report(now).error, None);
    }

    #[test]
    fn the_secrets_are_those_of_the_current_credential_and_the_one_before() {
        let credential = credential();
        let mut generations = vec![credential.generation()];
        for number in 1..=3 {
            credential.end_fetch(token(&format!("token-{number}"), 60), number);
            generations.push(credential.generation());
        }
        let secrets = credential.secrets();
        let secrets: Vec<_> = secrets.iter().map(CredentialSecret::expose).collect();
        assert_eq!(secrets, ["token-3", "token-2"]);
        assert!(generations.is_sorted_by(|one, next| one < next));
        assert_eq!(format!("{credential:?}"), "RefreshedCredential");
    }

    #[test]
    fn a_refused_credential_is_due_at_once_unless_it_is_fresh() {
        let credential = credential();
        credential.begin_fetch(0);
        assert!(credential.refuse(1, 1), "the fetch is under way");
        credential.end_fetch(token("token-1", 1_000), 10);
        assert!(credential.refuse(9, 20), "it was replaced since then");
        assert!(!credential.refuse(4_990, 4_999));
        assert_eq!(credential.due_ms(), Some(750_010));
        assert!(credential.is_ready(5_000));
        assert!(credential.refuse(4_990, 5_000));
        assert!(!credential.is_ready(5_000), "the next request waits");
        assert_eq!(credential.due_ms(), Some(5_000));
    }

    #[test]
    fn a_short_lifetime_does_not_lead_to_a_fetch_without_pause() {
        let credential = credential();
        credential.end_fetch(token("token-1", 0), 100);
        assert_eq!(credential.due_ms(), Some(1_100));
        assert!(credential.issued(100).is_err());
    }

    #[test]
    fn a_token_that_no_header_can_have_is_refused() {
        for text in ["", "a b", "a\nb", "tökén"] {
            assert!(token(text, 60).is_err(), "{text:?}");
        }
    }

    #[tokio::test]
    async fn a_request_waits_for_the_first_credential_and_not_for_later_ones() {
        let credential = Arc::new(credential());
        credential.begin_fetch(0);
        let waiting = tokio::spawn({
            let credential = credential.clone();
            async move { credential.wait(1).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        credential.end_fetch(token("token-1", 60), 2);
        waiting.await.unwrap();
        credential.begin_fetch(45_000);
        credential.wait(45_001).await;
        credential.end_fetch(failure("no route"), 45_002);
        // The credential has expired, and the next fetch is not due yet.
        credential.end_fetch(failure("no route"), 70_000);
        credential.wait(70_001).await;
    }
}

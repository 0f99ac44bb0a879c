//! A bounded cache of task statuses: the last report of each task, or the last error.

use super::report::ProviderStatusReport;
use super::{PollResult, PolledStatus, QueryResult, StatusQueryError};
use headgate_core::state::bounded_cache::{BoundedCache, CacheBounds};
use headgate_core::task::family::TaskQueryCall;
use std::sync::Arc;
use std::time::{Duration, Instant};

const BOUNDS: CacheBounds = CacheBounds {
    entries: 100_000,
    // Reports and providers' error responses.
    bytes: 64 << 20,
};
/// A longer report is returned to those who wait for it, and not cached.
const REPORT_BYTES_MAX: usize = 64 << 10;
/// The memory of a report's tape of spans, as a multiple of the report's size.
const TAPE_SHARE: usize = 3;
/// The memory of an entry besides the body of its report or error: its key, its place in the map, and what points to the body.
const ENTRY_BYTES: usize = 512;
/// How long an error is returned again before the provider is queried again.
const ERROR_TTL: Duration = Duration::from_secs(1);

/// Statuses by task key.
pub(super) struct StatusCache {
    entries: BoundedCache<Arc<str>, CachedStatus>,
}

struct CachedStatus {
    report: Option<Arc<ProviderStatusReport>>,
    /// Why the last query brought no report.
    error: Option<Arc<StatusQueryError>>,
    queried_at: Instant,
}

impl StatusCache {
    /// The cached status of a task, if it is fresh enough that the provider need not be queried.
    pub fn fresh(&mut self, key: &str, query: &TaskQueryCall, now: Instant) -> Option<PollResult> {
        let entry = self.entries.get(key)?;
        let age = now.saturating_duration_since(entry.queried_at);
        if let Some(error) = &entry.error {
            return (age < ERROR_TTL.min(query.cache_ttl)).then(|| Err(error.clone()));
        }
        let report = entry.report.as_ref()?;
        let fresh = query.cache_ttl(report.state);
        (age < fresh).then(|| Ok(PolledStatus::until(report.clone(), fresh - age)))
    }

    /// The last report of a task.
    pub fn last(&mut self, key: &str) -> Option<Arc<ProviderStatusReport>> {
        self.entries.get(key)?.report.clone()
    }

    /// Caches the result of a query; returns the status that applies now. A terminal state is never replaced, and a
    /// running task does not become queued again.
    pub fn record(
        &mut self,
        key: &Arc<str>,
        reported: QueryResult,
        queried_at: Instant,
    ) -> QueryResult {
        let known = self.last(key);
        let (report, error) = match (known, reported) {
            (Some(known), Ok(new)) if new.state.after(known.state) != new.state => {
                (Some(known), None)
            }
            (_, Ok(new)) => (Some(new), None),
            (Some(known), Err(_)) if known.state.is_terminal() => (Some(known), None),
            (known, Err(error)) => (known, Some(error)),
        };
        let holds = match (&error, &report) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(report)) => Ok(report.clone()),
            (None, None) => unreachable!("either a report or an error"),
        };
        let report = report.filter(|report| report.response.body().len() <= REPORT_BYTES_MAX);
        let entry = CachedStatus {
            report,
            error,
            queried_at,
        };
        let bytes = entry.bytes();
        self.entries.insert(key.clone(), entry, bytes);
        holds
    }

    /// Removes the cached status, unless the task has ended.
    pub fn invalidate(&mut self, key: &str) {
        let last = self.last(key);
        if !last.is_some_and(|report| report.state.is_terminal()) {
            self.entries.remove(key);
        }
    }
}

impl Default for StatusCache {
    fn default() -> Self {
        Self {
            entries: BoundedCache::new(BOUNDS),
        }
    }
}

impl CachedStatus {
    fn bytes(&self) -> usize {
        let report = self.report.as_ref();
        let report = report.map_or(0, |report| report.response.body().len() * (1 + TAPE_SHARE));
        let error = self.error.as_ref();
        ENTRY_BYTES + report + error.map_or(0, |error| error.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::subrequest::SubrequestResponse;
    use headgate_core::task::state::TaskState;
    use headgate_protocol::json::{JsonDocument, JsonLimits};

    #[test]
    fn statuses_stay_within_their_bytes_and_the_newest_of_them_stay() {
        let mut cache = StatusCache::default();
        let body = format!("\"{}\"", "x".repeat(REPORT_BYTES_MAX - 2));
        let report = |state| {
            let response =
                JsonDocument::parse(body.clone().into(), &JsonLimits::default()).unwrap();
            Ok(Arc::new(ProviderStatusReport {
                response,
                state,
                reported_ms: 0,
            }))
        };
        let key = |number: usize| Arc::from(number.to_string());
        for number in 0..1_000 {
            let recorded = cache.record(&key(number), report(TaskState::Running), Instant::now());
            assert!(recorded.is_ok());
        }
        let kept = (0..1_000).filter(|number| cache.last(&key(*number)).is_some());
        let bytes_of_each = ENTRY_BYTES + REPORT_BYTES_MAX * (1 + TAPE_SHARE);
        assert_eq!(kept.count(), BOUNDS.bytes / bytes_of_each);
        assert!(cache.last("999").is_some());
        cache.invalidate("999");
        assert!(cache.last("999").is_none());
    }

    #[test]
    fn long_refusals_stay_within_the_bounds_too() {
        let mut cache = StatusCache::default();
        let key = |number: usize| Arc::from(number.to_string());
        for number in 0..400 {
            let refused = SubrequestResponse {
                inline_file: None,
                status: http::StatusCode::BAD_GATEWAY,
                headers: http::HeaderMap::new(),
                body: vec![b' '; 1 << 20].into(),
            };
            let error = Arc::new(StatusQueryError::Refused(refused));
            let recorded = cache.record(&key(number), Err(error), Instant::now());
            assert!(recorded.is_err());
        }
        let kept = (0..400).filter(|number| cache.entries.get(&*key(*number)).is_some());
        assert_eq!(kept.count(), BOUNDS.bytes / (ENTRY_BYTES + (1 << 20)));
    }
}

//! Status polls of video tasks with as few provider queries as possible.
//!
//! Concurrent polls share a query (single flight), statuses are cached for a short time while a task runs and for a
//! long time after its end, and each account has a query budget.

mod counters;
mod ended_tasks;
pub(crate) mod findings;
mod metrics;
mod paused;
mod poll_result;
mod query_budget;
mod report;
mod single_flight;
mod status_cache;
mod task_key;
mod task_states;
#[cfg(test)]
mod tests;

pub use counters::{PollAnswerSource, PollCounters};
pub use ended_tasks::{EndedTask, EndedTaskQueue};
pub(crate) use metrics::PollMetrics;
pub use poll_result::{PollResult, PolledStatus, StatusQueryError};
pub use report::ProviderStatusReport;
pub use task_key::task_key;
pub use task_states::LastSeenTaskStates;

use bytes::Bytes;
use headgate_core::state::StateStore;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::lock::lock;
use headgate_core::state::per_second_limiter::PerSecondLimiter;
use headgate_core::subrequest::SubrequestFuture;
use headgate_core::task::family::VideoFamily;
use headgate_core::task::id::TaskId;
use headgate_protocol::fault::{Fault, FaultKind};
use poll_result::QueryResult;
use query_budget::NO_ROOM_RETRY;
use single_flight::{FlightRole, SingleFlight};
use status_cache::StatusCache;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The status cache and the queries in flight. Outlives snapshots.
#[derive(Default)]
pub struct TaskStatusFetcher {
    statuses: Mutex<StatusCache>,
    single_flight: Arc<SingleFlight<PollResult>>,
    /// Queries that wait for a slot in an account's budget, one queue per channel.
    queues: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// Counts queries here while the state store is unreachable.
    local_limiter: Mutex<PerSecondLimiter>,
    counters: PollCounters,
    ended: EndedTaskQueue,
    states: LastSeenTaskStates,
}

/// A poll for a task by the caller who owns it.
#[derive(Clone)]
pub struct CallerStatusPoll {
    pub family: Arc<VideoFamily>,
    /// The opened task id, verified to belong to the caller.
    pub task: TaskId,
    pub state: Arc<dyn StateStore>,
}

impl TaskStatusFetcher {
    /// The status of the task, from the cache if it is fresh; otherwise `subrequest`, which is sent when awaited,
    /// queries the provider. The last known status, if the provider may not be queried now.
    ///
    /// # Errors
    /// Why the status is unknown.
    pub async fn status(
        self: &Arc<Self>,
        status_query: CallerStatusPoll,
        subrequest: SubrequestFuture,
    ) -> PollResult {
        let key = task_key(&status_query.task);
        let polled = self.poll(&key, status_query.clone(), subrequest).await;
        self.or_last_known(&key, &status_query, polled)
    }

    async fn poll(
        self: &Arc<Self>,
        key: &Arc<str>,
        status_query: CallerStatusPoll,
        subrequest: SubrequestFuture,
    ) -> PollResult {
        let query = status_query.family.query.clone();
        let fresh = self.statuses().fresh(key, &query, Instant::now());
        if let Some(polled) = fresh {
            self.counters.count(PollAnswerSource::Fresh);
            return match polled {
                Ok(known) if !known.report.state.is_terminal() => Ok(self
                    .end_seen_elsewhere(key, &status_query)
                    .await
                    .unwrap_or(known)),
                polled => polled,
            };
        }
        let (polls, of) = (self.clone(), key.clone());
        let work = move || async move {
            polls
                .query_unless_known(&of, &status_query, subrequest)
                .await
        };
        let (polled, part) = self.single_flight.run(key, work).await;
        if part == FlightRole::Follower {
            self.counters.count(PollAnswerSource::Shared);
        }
        polled.unwrap_or_else(|| Err(Arc::new(StatusQueryError::Failed(aborted_query_fault()))))
    }

    /// The current status of the task, by a query that begins now, unless the task is known to have ended. First as
    /// many slots are taken from the account's budget as the caller needs: for this query, and for another request that
    /// depends on it and is to follow at once.
    ///
    /// # Errors
    /// Why the status is unknown.
    pub async fn status_now(
        &self,
        status_query: &CallerStatusPoll,
        subrequest: SubrequestFuture,
        slots: u32,
    ) -> QueryResult {
        let key = task_key(&status_query.task);
        let known = self.statuses().last(&key);
        if let Some(known) = known.filter(|known| known.state.is_terminal()) {
            self.counters.count(PollAnswerSource::Fresh);
            return Ok(known);
        }
        if let Some(noted) = self.terminal_status_noted(&key, status_query).await {
            self.counters.count(PollAnswerSource::Fresh);
            return Ok(noted);
        }
        self.take_budget(slots, status_query)
            .await
            .map_err(|fault| {
                self.counters.count(PollAnswerSource::OverBudget);
                Arc::new(StatusQueryError::Failed(fault))
            })?;
        let (reported, cached) = self.query(&key, status_query, subrequest).await;
        match cached {
            Ok(cached) if cached.state.is_terminal() => Ok(cached),
            // An older cached status must not replace the provider's current one.
            cached => reported.map_or(cached, Ok),
        }
    }

    /// Records the status in a provider's response that has the same form as the response to a query.
    pub fn record_response(&self, status_query: &CallerStatusPoll, response: Bytes) {
        let CallerStatusPoll { family, task, .. } = status_query;
        match ProviderStatusReport::read(family, task, response, unix_ms()) {
            Ok(report) => drop(self.store(&task_key(task), status_query, Ok(Arc::new(report)))),
            Err(_) => self.invalidate(task),
        }
    }

    /// Removes the cached status of a task, unless the task has ended.
    pub fn invalidate(&self, task: &TaskId) {
        self.statuses().invalidate(&task_key(task));
    }

    /// The tasks that were found to have ended.
    pub fn ended_tasks(&self) -> &EndedTaskQueue {
        &self.ended
    }

    /// Counts of polls by outcome.
    pub fn counters(&self) -> &PollCounters {
        &self.counters
    }

    async fn query_unless_known(
        &self,
        key: &Arc<str>,
        status_query: &CallerStatusPoll,
        subrequest: SubrequestFuture,
    ) -> PollResult {
        let query = &status_query.family.query;
        self.terminal_status_noted(key, status_query).await;
        let fresh = self.statuses().fresh(key, query, Instant::now());
        if let Some(polled @ Ok(_)) = fresh {
            self.counters.count(PollAnswerSource::Fresh);
            return polled;
        }
        let last = self.statuses().last(key);
        let room = match last {
            Some(_) => self.try_take_budget(status_query).await,
            None => self.take_budget(1, status_query).await,
        };
        if let Err(fault) = room {
            self.counters.count(PollAnswerSource::OverBudget);
            let poll_after = fault.retry_after.unwrap_or(NO_ROOM_RETRY);
            return match last {
                Some(report) => Ok(PolledStatus::until(report, poll_after)),
                None => Err(Arc::new(StatusQueryError::Failed(fault))),
            };
        }
        let (_, cached) = self.query(key, status_query, subrequest).await;
        let report = cached?;
        let poll_after = query.cache_ttl(report.state);
        Ok(PolledStatus::until(report, poll_after))
    }

    /// Queries the provider; returns its report, and the status that applies after comparison with the cache.
    async fn query(
        &self,
        key: &Arc<str>,
        status_query: &CallerStatusPoll,
        subrequest: SubrequestFuture,
    ) -> (QueryResult, QueryResult) {
        self.counters.count(PollAnswerSource::Queried);
        let CallerStatusPoll { family, task, .. } = status_query;
        let reported = match subrequest.await {
            Ok(returned) if returned.status.is_success() => {
                ProviderStatusReport::read(family, task, returned.body, unix_ms())
                    .map(Arc::new)
                    .map_err(|why| StatusQueryError::Failed(unreadable_status_fault().detail(why)))
            }
            Ok(refused) => Err(StatusQueryError::Refused(refused)),
            Err(fault) => Err(StatusQueryError::Failed(fault)),
        };
        let reported = reported.map_err(Arc::new);
        let cached = self.store(key, status_query, reported.clone());
        (reported, cached)
    }

    /// Caches the result of a query, and stores the final status of a task for other gateways.
    fn store(
        &self,
        key: &Arc<str>,
        status_query: &CallerStatusPoll,
        reported: QueryResult,
    ) -> QueryResult {
        let new = reported.as_ref().ok().cloned();
        let now = Instant::now();
        let cached = self.statuses().record(key, reported, now);
        if let Ok(cached) = &cached {
            self.states.record(key, cached.state, now);
        }
        if let (Ok(cached), Some(new)) = (&cached, new)
            && Arc::ptr_eq(cached, &new)
            && cached.state.is_terminal()
        {
            status_query.state.put_note(key, &cached.to_note());
            self.put_ended(key, status_query, cached);
        }
        cached
    }

    fn put_ended(
        &self,
        key: &Arc<str>,
        status_query: &CallerStatusPoll,
        report: &ProviderStatusReport,
    ) {
        self.ended.put(EndedTask {
            key: key.clone(),
            charge: status_query.family.charge(&report.response, report.state),
        });
    }

    /// The final status of a task from the state store, where any gateway may have put it; it is cached here.
    async fn terminal_status_noted(
        &self,
        key: &Arc<str>,
        status_query: &CallerStatusPoll,
    ) -> Option<Arc<ProviderStatusReport>> {
        let note = match status_query.state.get_note(key).get().await {
            Ok(note) => note?,
            Err(unavailable) => {
                tracing::debug!(%unavailable, "cannot look up the final status of a task");
                return None;
            }
        };
        let report =
            ProviderStatusReport::from_note(&status_query.family, &status_query.task, &note)?;
        let age = Duration::from_millis(unix_ms().saturating_sub(report.reported_ms));
        // The gateway that saw the end may have died before it did what depends on it.
        self.put_ended(key, status_query, &report);
        let now = Instant::now();
        // The monotonic clock may have started after the report.
        let polled_at = now.checked_sub(age).unwrap_or(now);
        self.statuses()
            .record(key, Ok(Arc::new(report)), polled_at)
            .ok()
    }

    /// The final status of a task that another gateway has stored since this one queried the provider.
    async fn end_seen_elsewhere(
        &self,
        key: &Arc<str>,
        status_query: &CallerStatusPoll,
    ) -> Option<PolledStatus> {
        let report = self.terminal_status_noted(key, status_query).await?;
        let poll_after = status_query.family.query.cache_ttl(report.state);
        Some(PolledStatus::until(report, poll_after))
    }

    fn statuses(&self) -> MutexGuard<'_, StatusCache> {
        lock(&self.statuses)
    }
}

fn unreadable_status_fault() -> Fault {
    Fault::new(
        FaultKind::UnreadableResponse,
        "the provider's response has no status of this task; query it again",
    )
}

fn aborted_query_fault() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "internal error: the query was aborted; query the task again",
    )
}

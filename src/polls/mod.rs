//! How tasks stand, asked of providers as seldom as will do: one question for all who wait, a short memory
//! while a task is under way, a long one when it is over, and a budget for each account.

mod counters;
mod poll_result;
mod report;
mod single_flight;
mod status_cache;
#[cfg(test)]
mod tests;

pub use counters::{PollCounters, PollOutcome};
pub use poll_result::{PollResult, PolledStatus, QueryError};
pub use report::StatusReport;

use crate::protocol::fault::{Fault, FaultKind};
use crate::state::calendar::unix_ms;
use crate::state::clock::steady_ms;
use crate::state::per_second_limiter::{PerSecondDecision, PerSecondLimiter};
use crate::state::{OnStoreFailure, StateStore};
use crate::subrequest::SubrequestFuture;
use crate::task::family::VideoFamily;
use crate::task::id::TaskId;
use bytes::Bytes;
use poll_result::QueryResult;
use sha2::{Digest, Sha256};
use single_flight::{FlightRole, SingleFlight};
use status_cache::StatusCache;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long a question waits for each place in its account's budget.
const BUDGET_MAX_WAIT: Duration = Duration::from_secs(2);
/// When to come back where there was no room for so long.
const NO_ROOM_RETRY: Duration = Duration::from_secs(2);

/// What is known of tasks, and what is being asked. Outlives snapshots.
#[derive(Default)]
pub struct TaskStatusPoller {
    statuses: Mutex<StatusCache>,
    single_flight: Arc<SingleFlight<PollResult>>,
    /// Who waits for room in an account's budget, one behind the other.
    queues: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// Counted here while the store is away.
    local_limiter: Mutex<PerSecondLimiter>,
    counters: PollCounters,
}

/// A task that is asked for, by somebody whose it is.
#[derive(Clone)]
pub struct StatusQuery {
    pub family: Arc<VideoFamily>,
    /// Opened, and checked to be the caller's: what is known of it is told.
    pub task: TaskId,
    pub state: Arc<dyn StateStore>,
}

impl TaskStatusPoller {
    /// How the task stands, as far as it is worth asking; `subrequest` asks the provider, once it is awaited.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub async fn status(
        self: &Arc<Self>,
        status_query: StatusQuery,
        subrequest: SubrequestFuture,
    ) -> PollResult {
        let key = key(&status_query.task);
        let query = status_query.family.query.clone();
        let fresh = self.statuses().fresh(&key, &query, Instant::now());
        if let Some(polled) = fresh {
            self.counters.count(PollOutcome::Fresh);
            return match polled {
                Ok(known) if !known.report.state.is_terminal() => Ok(self
                    .end_seen_elsewhere(&key, &status_query)
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
        let (polled, part) = self.single_flight.run(&key, work).await;
        if part == FlightRole::Follower {
            self.counters.count(PollOutcome::Shared);
        }
        polled.unwrap_or_else(|| Err(Arc::new(QueryError::Failed(aborted_query_fault()))))
    }

    /// How the task stands now, for who asks the provider something else next, which depends on it: the
    /// account's budget then has room for that, too, so that no time passes in between. The provider is
    /// asked unless the task is known to be over.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub async fn status_now(
        &self,
        status_query: &StatusQuery,
        subrequest: SubrequestFuture,
    ) -> QueryResult {
        let key = key(&status_query.task);
        let known = self.statuses().last(&key);
        if let Some(known) = known.filter(|known| known.state.is_terminal()) {
            self.counters.count(PollOutcome::Fresh);
            return Ok(known);
        }
        if let Some(noted) = self.terminal_status_noted(&key, status_query).await {
            self.counters.count(PollOutcome::Fresh);
            return Ok(noted);
        }
        self.take_budget(2, status_query).await.map_err(|fault| {
            self.counters.count(PollOutcome::OverBudget);
            Arc::new(QueryError::Failed(fault))
        })?;
        let (reported, cached) = self.query(&key, status_query, subrequest).await;
        match cached {
            Ok(cached) if cached.state.is_terminal() => Ok(cached),
            // What was guessed before must not stand in the way of what is so.
            cached => reported.map_or(cached, Ok),
        }
    }

    /// Takes what is known to have become of a task, by an answer in the words of a query's.
    pub fn record_response(&self, status_query: &StatusQuery, response: Bytes) {
        let StatusQuery {
            family,
            task,
            state,
        } = status_query;
        match StatusReport::read(family, task, response, unix_ms()) {
            Ok(report) => drop(self.store(&key(task), &**state, Ok(Arc::new(report)))),
            Err(_) => self.invalidate(task),
        }
    }

    /// What was said of a task so far is not to be told again, unless it was its end.
    pub fn invalidate(&self, task: &TaskId) {
        self.statuses().invalidate(&key(task));
    }

    /// What came of questions.
    pub fn counters(&self) -> &PollCounters {
        &self.counters
    }

    async fn query_unless_known(
        &self,
        key: &Arc<str>,
        status_query: &StatusQuery,
        subrequest: SubrequestFuture,
    ) -> PollResult {
        let query = &status_query.family.query;
        self.terminal_status_noted(key, status_query).await;
        let fresh = self.statuses().fresh(key, query, Instant::now());
        if let Some(polled @ Ok(_)) = fresh {
            self.counters.count(PollOutcome::Fresh);
            return polled;
        }
        let last = self.statuses().last(key);
        let room = match last {
            Some(_) => self.try_take_budget(status_query).await,
            None => self.take_budget(1, status_query).await,
        };
        if let Err(fault) = room {
            self.counters.count(PollOutcome::OverBudget);
            let poll_after = fault.retry_after.unwrap_or(NO_ROOM_RETRY);
            return match last {
                Some(report) => Ok(PolledStatus::until(report, poll_after)),
                None => Err(Arc::new(QueryError::Failed(fault))),
            };
        }
        let (_, cached) = self.query(key, status_query, subrequest).await;
        let report = cached?;
        let poll_after = query.fresh_while(report.state);
        Ok(PolledStatus::until(report, poll_after))
    }

    /// Asks the provider; gives what it said, and what holds now.
    async fn query(
        &self,
        key: &Arc<str>,
        status_query: &StatusQuery,
        subrequest: SubrequestFuture,
    ) -> (QueryResult, QueryResult) {
        self.counters.count(PollOutcome::Queried);
        let StatusQuery {
            family,
            task,
            state,
        } = status_query;
        let reported = match subrequest.await {
            Ok(returned) if returned.status.is_success() => {
                StatusReport::read(family, task, returned.body, unix_ms())
                    .map(Arc::new)
                    .map_err(|why| QueryError::Failed(unreadable_status_fault().detail(why)))
            }
            Ok(refused) => Err(QueryError::Refused(refused)),
            Err(fault) => Err(QueryError::Failed(fault)),
        };
        let reported = reported.map_err(Arc::new);
        let cached = self.store(key, &**state, reported.clone());
        (reported, cached)
    }

    /// Remembers what came of a question; the end of a task is noted for other gateways, too.
    fn store(&self, key: &Arc<str>, state: &dyn StateStore, came: QueryResult) -> QueryResult {
        let new = came.as_ref().ok().cloned();
        let cached = self.statuses().record(key, came, Instant::now());
        if let (Ok(cached), Some(new)) = (&cached, new)
            && Arc::ptr_eq(cached, &new)
            && cached.state.is_terminal()
        {
            state.put_note(key, &cached.to_note());
        }
        cached
    }

    /// The end of a task, where any gateway has seen it; it is put among what is known.
    async fn terminal_status_noted(
        &self,
        key: &Arc<str>,
        status_query: &StatusQuery,
    ) -> Option<Arc<StatusReport>> {
        let note = match status_query.state.get_note(key).get().await {
            Ok(note) => note?,
            Err(unavailable) => {
                tracing::debug!(%unavailable, "cannot look up the final status of a task");
                return None;
            }
        };
        let report = StatusReport::of_note(&status_query.family, &status_query.task, &note)?;
        let age = Duration::from_millis(unix_ms().saturating_sub(report.reported_ms));
        let now = Instant::now();
        // The clock may have begun after that.
        let asked = now.checked_sub(age).unwrap_or(now);
        self.statuses()
            .record(key, Ok(Arc::new(report)), asked)
            .ok()
    }

    /// The end of a task that another gateway has seen since this one asked.
    async fn end_seen_elsewhere(
        &self,
        key: &Arc<str>,
        status_query: &StatusQuery,
    ) -> Option<PolledStatus> {
        let report = self.terminal_status_noted(key, status_query).await?;
        let poll_after = status_query.family.query.fresh_while(report.state);
        Some(PolledStatus::until(report, poll_after))
    }

    /// Takes a place in the account's budget if there is one, and nobody waits for it already.
    async fn try_take_budget(&self, status_query: &StatusQuery) -> Result<(), Fault> {
        let Some(per_second) = status_query.family.query.per_second else {
            return Ok(());
        };
        let queue = self.queue(&status_query.task.channel);
        let Ok(_turn) = queue.try_lock() else {
            return Err(budget_exhausted_fault(NO_ROOM_RETRY));
        };
        match self.take(status_query, per_second).await? {
            PerSecondDecision::Allowed => Ok(()),
            PerSecondDecision::RetryAfter(wait) => Err(budget_exhausted_fault(wait)),
        }
    }

    /// Takes places in the account's budget, one right behind the other, and waits a moment for each.
    async fn take_budget(&self, queries: u32, status_query: &StatusQuery) -> Result<(), Fault> {
        let Some(per_second) = status_query.family.query.per_second else {
            return Ok(());
        };
        let queue = self.queue(&status_query.task.channel);
        let taken = async {
            let _turn = queue.lock().await;
            let mut left = queries;
            while left > 0 {
                match self.take(status_query, per_second).await? {
                    PerSecondDecision::Allowed => left -= 1,
                    PerSecondDecision::RetryAfter(wait) => sleep(wait).await,
                }
            }
            Ok(())
        };
        let in_time = timeout(BUDGET_MAX_WAIT * queries, taken).await;
        in_time.unwrap_or_else(|_| Err(budget_exhausted_fault(NO_ROOM_RETRY)))
    }

    /// While the store is away, and requests pass all the same, this gateway counts for itself.
    async fn take(
        &self,
        status_query: &StatusQuery,
        per_second: u16,
    ) -> Result<PerSecondDecision, Fault> {
        let (state, channel) = (&status_query.state, &*status_query.task.channel);
        match state.take_per_second(channel, per_second).get().await {
            Ok(pace) => Ok(pace),
            Err(unavailable) => match state.on_store_failure() {
                OnStoreFailure::Allow => Ok(lock(&self.local_limiter).take(channel, per_second, steady_ms())),
                OnStoreFailure::Deny => Err(Fault::new(
                    FaultKind::Overloaded,
                    "the gateway cannot check the provider's query limit: its state store is unreachable; try again",
                )
                .retry_after(NO_ROOM_RETRY)
                .source(unavailable)),
            },
        }
    }

    fn queue(&self, channel: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = lock(&self.queues);
        if let Some(queue) = queues.get(channel) {
            return queue.clone();
        }
        // What nobody waits in may belong to a channel that is no longer there.
        queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        queues.entry(channel.to_owned()).or_default().clone()
    }

    fn statuses(&self) -> MutexGuard<'_, StatusCache> {
        lock(&self.statuses)
    }
}

impl QueryError {
    /// What it holds in memory, about.
    fn bytes(&self) -> usize {
        match self {
            Self::Refused(returned) => returned.body.len(),
            Self::Failed(fault) => fault.detail.as_ref().map_or(0, String::len),
        }
    }
}

impl PolledStatus {
    fn until(report: Arc<StatusReport>, poll_after: Duration) -> Self {
        Self { report, poll_after }
    }
}

/// One key for a task, whoever asks and wherever.
fn key(task: &TaskId) -> Arc<str> {
    let hash = Sha256::new().chain_update(&task.channel).chain_update([0]);
    let hash = hash.chain_update(&task.upstream).finalize();
    let mut key = String::with_capacity(5 + 2 * hash.len());
    key.push_str("task-");
    for byte in hash {
        write!(key, "{byte:02x}").expect("writing to a String does not fail");
    }
    key.into()
}

fn budget_exhausted_fault(wait: Duration) -> Fault {
    Fault::new(
        FaultKind::TooManyRequests,
        "too many status queries for this provider; query this task again later",
    )
    .retry_after(wait)
    .detail("the family's `per_second` is reached")
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

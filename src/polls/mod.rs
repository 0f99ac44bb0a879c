//! How tasks stand, asked of providers as seldom as will do: one question for all who wait, a short memory
//! while a task is under way, a long one when it is over, and a budget for each account.

mod flights;
mod report;
mod status_cache;
mod tally;
#[cfg(test)]
mod tests;

pub use report::Report;
pub use tally::{Outcome, Tally};

use crate::protocol::fault::{Fault, FaultKind};
use crate::state::calendar::unix_ms;
use crate::state::clock::steady_ms;
use crate::state::paces::{Pace, Paces};
use crate::state::{Store, WhenAway};
use crate::subrequest::{PendingResponse, SubrequestResponse};
use crate::task::family::Family;
use crate::task::id::TaskId;
use bytes::Bytes;
use flights::{Flights, Part};
use sha2::{Digest, Sha256};
use status_cache::StatusCache;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long a question waits for each place in its account's budget.
const ROOM_PATIENCE: Duration = Duration::from_secs(2);
/// When to come back where there was no room for so long.
const NO_ROOM_RETRY: Duration = Duration::from_secs(2);

/// What is known of tasks, and what is being asked. Outlives snapshots.
#[derive(Default)]
pub struct Polls {
    statuses: Mutex<StatusCache>,
    flights: Arc<Flights<Told>>,
    /// Who waits for room in an account's budget, one behind the other.
    queues: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// Counted here while the store is away.
    own_paces: Mutex<Paces>,
    tally: Tally,
}

/// How a task stands, or why that cannot be told.
pub type Told = Result<Known, Arc<Trouble>>;

/// What was said of a task, or why nothing was.
type Holds = Result<Arc<Report>, Arc<Trouble>>;

/// How a task stands.
#[derive(Clone, Debug)]
pub struct Known {
    pub report: Arc<Report>,
    /// Before that nobody is told anything else.
    pub again: Duration,
}

/// Why a question brought no report.
#[derive(Debug)]
pub enum Trouble {
    /// The provider's own refusal.
    Refused(SubrequestResponse),
    Failed(Fault),
}

/// A task that is asked for, by somebody whose it is.
#[derive(Clone)]
pub struct Question {
    pub family: Arc<Family>,
    /// Opened, and checked to be the caller's: what is known of it is told.
    pub task: TaskId,
    pub state: Arc<dyn Store>,
}

impl Polls {
    /// How the task stands, as far as it is worth asking; `ask` asks the provider, once it is awaited.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub async fn report(self: &Arc<Self>, question: Question, ask: PendingResponse) -> Told {
        let key = key(&question.task);
        let query = question.family.query.clone();
        let fresh = self.statuses().fresh(&key, &query, Instant::now());
        if let Some(told) = fresh {
            self.tally.count(Outcome::Fresh);
            return match told {
                Ok(known) if !known.report.state.is_terminal() => {
                    Ok(self.ended(&key, &question).await.unwrap_or(known))
                }
                told => told,
            };
        }
        let (polls, of) = (self.clone(), key.clone());
        let work = move || async move { polls.find_out(&of, &question, ask).await };
        let (told, part) = self.flights.share(&key, work).await;
        if part == Part::Joined {
            self.tally.count(Outcome::Shared);
        }
        told.unwrap_or_else(|| Err(Arc::new(Trouble::Failed(broken_off()))))
    }

    /// How the task stands now, for who asks the provider something else next, which depends on it: the
    /// account's budget then has room for that, too, so that no time passes in between. The provider is
    /// asked unless the task is known to be over.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub async fn report_now(&self, question: &Question, ask: PendingResponse) -> Holds {
        let key = key(&question.task);
        let known = self.statuses().last(&key);
        if let Some(known) = known.filter(|known| known.state.is_terminal()) {
            self.tally.count(Outcome::Fresh);
            return Ok(known);
        }
        if let Some(noted) = self.noted(&key, question).await {
            self.tally.count(Outcome::Fresh);
            return Ok(noted);
        }
        self.room_for(2, question).await.map_err(|fault| {
            self.tally.count(Outcome::OverBudget);
            Arc::new(Trouble::Failed(fault))
        })?;
        let (said, held) = self.ask(&key, question, ask).await;
        match held {
            Ok(held) if held.state.is_terminal() => Ok(held),
            // What was guessed before must not stand in the way of what is so.
            held => said.map_or(held, Ok),
        }
    }

    /// Takes what is known to have become of a task, by an answer in the words of a query's.
    pub fn tell(&self, question: &Question, answer: Bytes) {
        let Question {
            family,
            task,
            state,
        } = question;
        match Report::read(family, task, answer, unix_ms()) {
            Ok(report) => drop(self.file(&key(task), &**state, Ok(Arc::new(report)))),
            Err(_) => self.doubt(task),
        }
    }

    /// What was said of a task so far is not to be told again, unless it was its end.
    pub fn doubt(&self, task: &TaskId) {
        self.statuses().invalidate(&key(task));
    }

    /// What came of questions.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    async fn find_out(&self, key: &Arc<str>, question: &Question, ask: PendingResponse) -> Told {
        let query = &question.family.query;
        self.noted(key, question).await;
        let fresh = self.statuses().fresh(key, query, Instant::now());
        if let Some(told @ Ok(_)) = fresh {
            self.tally.count(Outcome::Fresh);
            return told;
        }
        let last = self.statuses().last(key);
        let room = match last {
            Some(_) => self.room_now(question).await,
            None => self.room_for(1, question).await,
        };
        if let Err(fault) = room {
            self.tally.count(Outcome::OverBudget);
            let again = fault.retry_after.unwrap_or(NO_ROOM_RETRY);
            return match last {
                Some(report) => Ok(Known::until(report, again)),
                None => Err(Arc::new(Trouble::Failed(fault))),
            };
        }
        let (_, held) = self.ask(key, question, ask).await;
        let report = held?;
        let again = query.fresh_while(report.state);
        Ok(Known::until(report, again))
    }

    /// Asks the provider; gives what it said, and what holds now.
    async fn ask(
        &self,
        key: &Arc<str>,
        question: &Question,
        ask: PendingResponse,
    ) -> (Holds, Holds) {
        self.tally.count(Outcome::Asked);
        let Question {
            family,
            task,
            state,
        } = question;
        let said = match ask.await {
            Ok(returned) if returned.status.is_success() => {
                Report::read(family, task, returned.body, unix_ms())
                    .map(Arc::new)
                    .map_err(|why| Trouble::Failed(not_told().detail(why)))
            }
            Ok(refused) => Err(Trouble::Refused(refused)),
            Err(fault) => Err(Trouble::Failed(fault)),
        };
        let said = said.map_err(Arc::new);
        let held = self.file(key, &**state, said.clone());
        (said, held)
    }

    /// Remembers what came of a question; the end of a task is noted for other gateways, too.
    fn file(&self, key: &Arc<str>, state: &dyn Store, came: Holds) -> Holds {
        let new = came.as_ref().ok().cloned();
        let held = self.statuses().record(key, came, Instant::now());
        if let (Ok(held), Some(new)) = (&held, new)
            && Arc::ptr_eq(held, &new)
            && held.state.is_terminal()
        {
            state.note(key, &held.to_note());
        }
        held
    }

    /// The end of a task, where any gateway has seen it; it is put among what is known.
    async fn noted(&self, key: &Arc<str>, question: &Question) -> Option<Arc<Report>> {
        let note = match question.state.noted(key).get().await {
            Ok(note) => note?,
            Err(unavailable) => {
                tracing::debug!(%unavailable, "no note of a task can be looked up");
                return None;
            }
        };
        let report = Report::of_note(&question.family, &question.task, &note)?;
        let age = Duration::from_millis(unix_ms().saturating_sub(report.said_ms));
        let now = Instant::now();
        // The clock may have begun after that.
        let asked = now.checked_sub(age).unwrap_or(now);
        self.statuses()
            .record(key, Ok(Arc::new(report)), asked)
            .ok()
    }

    /// The end of a task that another gateway has seen since this one asked.
    async fn ended(&self, key: &Arc<str>, question: &Question) -> Option<Known> {
        let report = self.noted(key, question).await?;
        let again = question.family.query.fresh_while(report.state);
        Some(Known::until(report, again))
    }

    /// Takes a place in the account's budget if there is one, and nobody waits for it already.
    async fn room_now(&self, question: &Question) -> Result<(), Fault> {
        let Some(per_second) = question.family.query.per_second else {
            return Ok(());
        };
        let queue = self.queue(&question.task.channel);
        let Ok(_turn) = queue.try_lock() else {
            return Err(no_room(NO_ROOM_RETRY));
        };
        match self.take(question, per_second).await? {
            Pace::Now => Ok(()),
            Pace::In(wait) => Err(no_room(wait)),
        }
    }

    /// Takes places in the account's budget, one right behind the other, and waits a moment for each.
    async fn room_for(&self, places: u32, question: &Question) -> Result<(), Fault> {
        let Some(per_second) = question.family.query.per_second else {
            return Ok(());
        };
        let queue = self.queue(&question.task.channel);
        let taken = async {
            let _turn = queue.lock().await;
            let mut left = places;
            while left > 0 {
                match self.take(question, per_second).await? {
                    Pace::Now => left -= 1,
                    Pace::In(wait) => sleep(wait).await,
                }
            }
            Ok(())
        };
        let in_time = timeout(ROOM_PATIENCE * places, taken).await;
        in_time.unwrap_or_else(|_| Err(no_room(NO_ROOM_RETRY)))
    }

    /// While the store is away, and requests pass all the same, this gateway counts for itself.
    async fn take(&self, question: &Question, per_second: u16) -> Result<Pace, Fault> {
        let (state, channel) = (&question.state, &*question.task.channel);
        match state.pace(channel, per_second).get().await {
            Ok(pace) => Ok(pace),
            Err(unavailable) => match state.when_away() {
                WhenAway::Open => Ok(lock(&self.own_paces).take(channel, per_second, steady_ms())),
                WhenAway::Closed => Err(Fault::new(
                    FaultKind::Overloaded,
                    "the gateway cannot look at its provider's limits now; try again",
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

impl Trouble {
    /// What it holds in memory, about.
    fn bytes(&self) -> usize {
        match self {
            Self::Refused(returned) => returned.body.len(),
            Self::Failed(fault) => fault.detail.as_ref().map_or(0, String::len),
        }
    }
}

impl Known {
    fn until(report: Arc<Report>, again: Duration) -> Self {
        Self { report, again }
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

fn no_room(wait: Duration) -> Fault {
    Fault::new(
        FaultKind::TooManyRequests,
        "the provider may not be asked more often now; ask for this task again later",
    )
    .retry_after(wait)
    .detail("the channel's queries of this second are used up")
}

fn not_told() -> Fault {
    Fault::new(
        FaultKind::UnreadableAnswer,
        "the provider's answer says nothing of this task; ask again",
    )
}

fn broken_off() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "the gateway could not ask for this task; ask again",
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The state store of one machine: memory, with an SQLite file for what must survive a restart.
//!
//! Ids, budgets and notes are in the file. Counters of seconds and minutes and concurrency leases mean nothing after a
//! restart, and are only in memory. Money is counted in the file alone, in the transaction that reserves it.

mod file;
mod money_admission;
mod money_table;
mod new_file;
mod reader;
mod record_table;
mod records;
mod run_table;
mod writer;

use bytes::Bytes;
pub use file::StateFileError;
use file::{StateDatabase, StateFileWrite};
use headgate_core::state::admission::{
    AdmissionRequest, AdmissionResult, AdmissionTicket, CounterKey,
};
use headgate_core::state::affinity::{IdChannelCache, IdChannelEntry};
use headgate_core::state::calendar::period;
use headgate_core::state::clock::Clock;
use headgate_core::state::health::{StoreHealthCounters, StoreHealthReport};
use headgate_core::state::limit_counters::LocalLimitCounters;
use headgate_core::state::local_limits::LocalLimiter;
use headgate_core::state::lock::lock;
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::note_cache::NOTE_BYTES_MAX;
use headgate_core::state::per_second_limiter::PerSecondDecision;
use headgate_core::state::records::RecordStore;
use headgate_core::state::run::RunCallEnd;
use headgate_core::state::run_usage::RunStatus;
use headgate_core::state::{StateStore, StoreFuture, StoreUnavailable};
use money_admission::MoneyAdmission;
use reader::StateReaderHandle;
use records::SqliteRecordStore;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use writer::{StateFileWriter, WriteQueue};

/// State in memory and in a file. Two processes may share the file, for example during an upgrade.
pub struct SqliteStore {
    affinity: Arc<Mutex<IdChannelCache>>,
    limits: LocalLimiter,
    records: SqliteRecordStore,
    queue: Arc<WriteQueue>,
    reader: StateReaderHandle,
    tally: Arc<StoreHealthCounters>,
}

impl SqliteStore {
    /// Opens the file, and creates it if it does not exist; ids that were not used for `id_ttl` are removed from it.
    ///
    /// # Errors
    /// The file cannot be created or used.
    pub fn open(path: &Path, id_ttl: Duration, clock: Clock) -> Result<Self, StateFileError> {
        let file = StateDatabase::open(path)?;
        let mut counts = LocalLimitCounters::default();
        for (counter, since, tokens) in file.budgets(clock.now().unix_ms)? {
            counts.restore(counter, since, tokens);
        }
        let limits = LocalLimiter::new(counts, clock.clone());
        let queue = Arc::new(WriteQueue::default());
        let affinity = Arc::new(Mutex::default());
        let tally = Arc::new(StoreHealthCounters::new(true));
        let records = SqliteRecordStore::open(path, clock.clone(), tally.clone())?;
        let reader = StateReaderHandle::start(
            StateDatabase::open(path)?,
            path.to_path_buf(),
            tally.clone(),
        )?;
        let writer = StateFileWriter {
            path: path.to_path_buf(),
            file,
            id_ttl,
            queue: queue.clone(),
            affinity: affinity.clone(),
            counts: limits.counters.clone(),
            clock,
            tally: tally.clone(),
        };
        writer.start()?;
        Ok(Self {
            affinity,
            limits,
            records,
            queue,
            reader,
            tally,
        })
    }

    /// Opens a file that exists, and leaves it as it is if it is not a valid database.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open_existing(
        path: &Path,
        id_ttl: Duration,
        clock: Clock,
    ) -> Result<Self, StateFileError> {
        StateDatabase::check(path)?;
        Self::open(path, id_ttl, clock)
    }

    fn write(&self, write: StateFileWrite) {
        self.queue.push(write, &self.tally);
    }

    /// Adds tokens to the budgets of an admission.
    fn add_tokens(&self, ticket: &AdmissionTicket, tokens: i64) {
        let limits = ticket.limits.iter();
        let budgets = limits.filter(|limit| limit.measure().is_budget());
        for limit in budgets.filter(|_| tokens != 0) {
            self.write(StateFileWrite::AddTokens {
                counter: limit.counter.clone(),
                since: period(limit.measure(), ticket.taken_at.unix_ms).0,
                tokens,
            });
        }
    }

    fn used(&self, caller: &Arc<str>, id: &str) {
        self.write(StateFileWrite::Touch {
            caller: caller.clone(),
            id: id.into(),
        });
    }

    /// The channel of an id that is not yet in the file, unless there it belongs to another caller.
    async fn find_claimed(
        &self,
        caller: &Arc<str>,
        id: &str,
        channel: Arc<str>,
    ) -> Result<Option<Arc<str>>, StoreUnavailable> {
        let other = self.reader.is_of_another(caller, id, Some(&channel));
        let other = other.await;
        Ok((!other.unwrap_or(false)).then_some(channel))
    }

    /// Looks up an id that is not in memory in the file.
    async fn look_up(
        &self,
        caller: &Arc<str>,
        id: &str,
    ) -> Result<Option<Arc<str>>, StoreUnavailable> {
        let Some(channel) = self.reader.find_channel(caller, id).await? else {
            return Ok(None);
        };
        self.used(caller, id);
        let mut affinity = lock(&self.affinity);
        // An owner that was recorded or deleted meanwhile is newer.
        let owner = affinity.find_owner(caller, id).unwrap_or_else(|| {
            let owner = IdChannelEntry::Channel(channel);
            affinity.remember(caller, id, owner.clone());
            owner
        });
        Ok(owner.channel())
    }
}

impl StateStore for SqliteStore {
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        let claim = IdChannelEntry::Claimed(channel.clone());
        if !lock(&self.affinity).remember(caller, id, claim) {
            return;
        }
        self.write(StateFileWrite::Remember {
            caller: caller.clone(),
            id: id.into(),
            channel: channel.clone(),
        });
    }

    fn has_other_writers(&self) -> bool {
        true
    }

    fn find_channel<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<Arc<str>>> {
        let known = lock(&self.affinity).find_owner(caller, id);
        match known {
            Some(IdChannelEntry::Forgotten) => StoreFuture::Ready(Ok(None)),
            Some(IdChannelEntry::Channel(channel)) => {
                self.used(caller, id);
                StoreFuture::Ready(Ok(Some(channel)))
            }
            Some(IdChannelEntry::Claimed(channel)) => {
                StoreFuture::Later(Box::pin(self.find_claimed(caller, id, channel)))
            }
            None => StoreFuture::Later(Box::pin(self.look_up(caller, id))),
        }
    }

    fn is_of_another<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
        _: &'a [Arc<str>],
    ) -> StoreFuture<'a, bool> {
        match lock(&self.affinity).is_of_another(caller, id) {
            true => StoreFuture::Ready(Ok(true)),
            false => StoreFuture::Later(Box::pin(self.reader.is_of_another(caller, id, None))),
        }
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        // The file may still have the id until the queued write is done.
        lock(&self.affinity).remember(caller, id, IdChannelEntry::Forgotten);
        self.write(StateFileWrite::Forget {
            caller: caller.clone(),
            id: id.into(),
        });
    }

    fn admit<'a>(&'a self, demand: &'a AdmissionRequest<'a>) -> StoreFuture<'a, AdmissionResult> {
        let cost = demand.cost.unwrap_or(0);
        let spends_money = cost > 0 && demand.money_limits().next().is_some();
        match spends_money || demand.run.is_some() {
            true => StoreFuture::Later(Box::pin(async move {
                let admission = MoneyAdmission {
                    limits: &self.limits,
                    records: &self.records,
                    queue: &self.queue,
                    tally: &self.tally,
                };
                admission.admit(demand, cost).await
            })),
            false => self.limits.admit(demand),
        }
    }

    fn money_used<'a>(&'a self, budget: &'a CounterKey) -> StoreFuture<'a, u64> {
        let (budget, now_ms) = (budget.clone(), self.limits.now().unix_ms);
        self.records.run(move |table| {
            let (since, _) = period(budget.measure(), now_ms);
            money_table::find_used(table.connection, &budget, since)
        })
    }

    fn settle(&self, ticket: AdmissionTicket, tokens_used: u64) {
        self.limits.settle(&ticket, tokens_used);
        self.add_tokens(&ticket, tokens_used.cast_signed());
    }

    fn correct(&self, ticket: AdmissionTicket, tokens_used: u64) {
        self.limits.settle(&ticket, tokens_used);
        let [used, counted] = [tokens_used, ticket.tokens].map(u64::cast_signed);
        self.add_tokens(&ticket, used.saturating_sub(counted));
    }

    fn settle_money(&self, reserved: MoneyReservation, cost: u64) {
        self.write(StateFileWrite::SettleMoney { reserved, cost });
    }

    fn end_run_call(&self, end: RunCallEnd) {
        self.write(StateFileWrite::EndRunCall { end: Box::new(end) });
    }

    fn runs<'a>(&'a self, name: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<RunStatus>> {
        let (name, now_ms) = (name.map(str::to_owned), self.limits.now().unix_ms);
        self.records
            .run(move |table| run_table::list(table.connection, name.as_deref(), most, now_ms))
    }

    fn take_per_second<'a>(
        &'a self,
        budget_key: &'a str,
        per_second: u16,
    ) -> StoreFuture<'a, PerSecondDecision> {
        self.limits.take_per_second(budget_key, per_second)
    }

    fn put_note(&self, key: &str, text: &Bytes) {
        if text.len() <= NOTE_BYTES_MAX {
            self.write(StateFileWrite::PutNote {
                key: key.into(),
                text: text.clone(),
            });
        }
    }

    fn get_note<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Bytes>> {
        StoreFuture::Later(Box::pin(self.reader.get_note(key)))
    }

    fn records(&self) -> &dyn RecordStore {
        &self.records
    }

    fn health(&self) -> StoreHealthReport {
        self.tally.health("sqlite")
    }

    fn flush(&self, max_wait: Duration) {
        self.queue.flush(max_wait);
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.queue.close();
    }
}

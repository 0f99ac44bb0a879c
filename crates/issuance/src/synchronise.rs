//! How a gateway follows the records: a poll each second, and what a change writes.

use crate::change::ChangeRefusal;
use crate::change_log::{ChangeLog, LogPage, LoggedChange};
use crate::issuance::{Issuance, IssuanceContext, KIND};
use crate::issued_caller::IssuedCaller;
use crate::replica::CallerReplica;
use headgate_config::directory::{CallerChange, CallerSource};
use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::{DAY_MS, unix_ms};
use headgate_core::state::records::{InsertResult, Record, RecordContent};
use headgate_core::task::id::TaskIdKeyRing;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The interval of polls.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// How long the start of the gateway waits for the first poll.
const FIRST_POLL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long what is left of a deleted caller stays.
const DELETED_KEPT_MS: u64 = 400 * DAY_MS;
/// The end of records that do not expire, in the year 6429.
const NEVER_MS: u64 = 1 << 47;
/// The owner of the records of callers, and of what is left of deleted ones.
const OWNERS: [&str; 2] = ["callers", "deleted callers"];
/// The number of records that one command reads.
const PAGE: usize = 256;
/// How often a change is announced again because another one came first.
const APPENDS_MAX: usize = 50;

impl Issuance {
    /// Follows the records on a thread of its own until the process ends. Returns after the first poll, or a few seconds.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let (polled, first_poll) = mpsc::channel();
        let issuance = self.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        thread::Builder::new()
            .name("callers".into())
            .spawn(move || runtime.block_on(issuance.poll_for_ever(polled)))?;
        // A store that is slow must not keep the gateway from its start.
        let _ = first_poll.recv_timeout(FIRST_POLL_TIMEOUT);
        Ok(())
    }

    async fn poll_for_ever(&self, polled: mpsc::Sender<()>) {
        let mut was_read = true;
        loop {
            let read = self.poll().await;
            if let Err(error) = &read
                && was_read
            {
                tracing::warn!(%error, "cannot read the callers of the state store; those that are known stay");
            }
            was_read = read.is_ok();
            // Nobody waits after the first time.
            let _ = polled.send(());
            tokio::time::sleep(POLL_EVERY).await;
        }
    }

    async fn poll(&self) -> Result<(), StoreUnavailable> {
        let mut replica = self.replica.lock().await;
        match self.context() {
            Ok(context) => self.follow(&mut replica, &context).await,
            Err(_) if replica.read_with.is_none() => Ok(()),
            Err(_) => {
                *replica = CallerReplica::default();
                let directory = self.reloader.directory().clone();
                let cleared = move || directory.replace(CallerSource::Store, Vec::new());
                let cleared = tokio::task::spawn_blocking(cleared).await;
                cleared.map_err(|error| StoreUnavailable(error.to_string()))
            }
        }
    }

    /// Reads what has changed since the last time.
    pub(crate) async fn follow(
        &self,
        replica: &mut CallerReplica,
        context: &IssuanceContext,
    ) -> Result<(), StoreUnavailable> {
        let Some(log) = context.log() else {
            return Ok(());
        };
        let mut changes = Vec::new();
        let is_current = replica.read_with.as_ref();
        let mut is_whole = is_current.is_some_and(|read| Arc::ptr_eq(read, &context.tasks));
        while is_whole {
            match log.read(replica.position).await? {
                LogPage::Changes(announced, position, has_more) => {
                    replica.expect(announced, Instant::now());
                    replica.position = position;
                    if !has_more {
                        break;
                    }
                }
                LogPage::Broken => is_whole = false,
            }
        }
        let read = match is_whole {
            true => self.read_awaited(replica, &log, &mut changes).await,
            false => self.read_all(replica, context, &mut changes).await,
        };
        replica.drop_arrived(Instant::now());
        self.publish(replica, changes).await?;
        read
    }

    async fn read_awaited(
        &self,
        replica: &mut CallerReplica,
        log: &ChangeLog<'_>,
        changes: &mut Vec<CallerChange>,
    ) -> Result<(), StoreUnavailable> {
        for name in replica.awaited() {
            let record = log.records.get(KIND, &name).get().await?;
            let sealed = record.as_ref().map(|record| &record.content.value[..]);
            replica.take(log.keys, &name, sealed, changes);
        }
        Ok(())
    }

    /// Reads all records, and seals those again that an old key has sealed.
    async fn read_all(
        &self,
        replica: &mut CallerReplica,
        context: &IssuanceContext,
        changes: &mut Vec<CallerChange>,
    ) -> Result<(), StoreUnavailable> {
        let Some(log) = context.log() else {
            return Ok(());
        };
        // Before the records, so that a change meanwhile is read twice and not never.
        let position = log.last_position().await?;
        let mut present = HashMap::new();
        let mut after = String::new();
        loop {
            let found = log.records.list(KIND, &after, PAGE).get().await?;
            let Some(last) = found.last() else {
                break;
            };
            after = last.key.to_string();
            for record in &found {
                replica.take(log.keys, &record.key, Some(&record.content.value), changes);
                present.insert(record.key.to_string(), ());
                seal_again(&log, record).await?;
            }
        }
        for name in replica.missing(&present) {
            replica.take(log.keys, &name, None, changes);
        }
        replica.position = position;
        replica.read_with = Some(context.tasks.clone());
        Ok(())
    }

    /// Has requests use what has changed, and findings show what is refused.
    async fn publish(
        &self,
        replica: &CallerReplica,
        changes: Vec<CallerChange>,
    ) -> Result<(), StoreUnavailable> {
        let refused = replica.refused();
        let refused = refused.map(|(name, refusal)| (name.clone(), refusal.clone()));
        let refused = refused.collect();
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
        if changes.is_empty() {
            return Ok(());
        }
        let directory = self.reloader.directory().clone();
        let change = move || directory.change(CallerSource::Store, changes);
        let changed = tokio::task::spawn_blocking(change).await;
        changed.map_err(|error| StoreUnavailable(error.to_string()))
    }

    /// Announces and stores what a caller has become, and uses it. `before` is the record that it replaces.
    pub(crate) async fn write(
        &self,
        replica: &mut CallerReplica,
        context: &IssuanceContext,
        before: Option<Record>,
        mut next: IssuedCaller,
    ) -> Result<IssuedCaller, ChangeRefusal> {
        let log = context.log().ok_or(ChangeRefusal::NoSealingKeys)?;
        let mut appends = 0;
        let position = loop {
            let floor = replica.newest_version();
            if let Some(position) = log.append(replica.position, floor, &next.name).await? {
                break position;
            }
            appends += 1;
            if appends == APPENDS_MAX {
                return Err(ChangeRefusal::Conflict);
            }
            self.follow(replica, context).await?;
        };
        replica.position = position;
        next.version = position.number;
        let announced = LoggedChange {
            number: position.number,
            name: next.name.clone(),
        };
        replica.expect(vec![announced], Instant::now());
        let content = content(log.keys, &next);
        let is_stored = match before {
            Some(before) => {
                let replaced = log
                    .records
                    .replace(KIND, &next.name, before.version, content);
                replaced.get().await?.is_some()
            }
            None => {
                let inserted = log.records.insert(KIND, &next.name, content, context.most);
                match inserted.get().await? {
                    InsertResult::Inserted { .. } => true,
                    InsertResult::Exists(_) => return Err(ChangeRefusal::Exists(next.name)),
                    InsertResult::OwnerFull => return Err(ChangeRefusal::Full(context.most)),
                }
            }
        };
        if !is_stored {
            return Err(ChangeRefusal::Conflict);
        }
        let mut changes = Vec::new();
        replica.take_opened(&next, &mut changes);
        replica.drop_arrived(Instant::now());
        self.publish(replica, changes).await?;
        Ok(next)
    }
}

impl IssuanceContext {
    fn log(&self) -> Option<ChangeLog<'_>> {
        let keys = self.tasks.keys.as_ref()?;
        let records = self.state.records();
        Some(ChangeLog { records, keys })
    }
}

/// Seals a record with the first key if another one has sealed it, so that a key can be retired.
async fn seal_again(log: &ChangeLog<'_>, record: &Record) -> Result<(), StoreUnavailable> {
    let sealed = &record.content.value;
    let caller = IssuedCaller::open(log.keys, &record.key, sealed);
    let Some(caller) = caller.filter(|caller| !caller.is_sealed_by_first(log.keys, sealed)) else {
        return Ok(());
    };
    let renewed = RecordContent {
        value: caller.seal(log.keys).into(),
        ..record.content.clone()
    };
    // A record that somebody else has replaced is sealed by the first key already.
    let replaced = log
        .records
        .replace(KIND, &record.key, record.version, renewed);
    replaced.get().await.map(drop)
}

fn content(keys: &TaskIdKeyRing, caller: &IssuedCaller) -> RecordContent {
    let [live, deleted] = OWNERS;
    let (owner, expires_ms) = match caller.is_deleted() {
        true => (deleted, unix_ms() + DELETED_KEPT_MS),
        false => (live, NEVER_MS),
    };
    RecordContent {
        value: caller.seal(keys).into(),
        owner: owner.into(),
        expires_ms,
        due_ms: None,
    }
}

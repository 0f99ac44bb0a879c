//! The queue of writes to Redis: bounded, sent in order by one task, kept while Redis is unreachable.

use super::connector::{PipelineResult, RedisConnector, is_unreachable};
use super::keys::RedisKeys;
use super::scripts::LuaScripts;
use super::write::RedisWrite;
use headgate_core::state::affinity::IdChannelEntry;
use headgate_core::state::health::StoreHealthCounters;
use headgate_core::state::lock::lock;
use redis::{Pipeline, Value};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The maximum number of queued writes, of a few hundred bytes each.
const WAITING_MAX: usize = 50_000;
/// Notes are larger than other writes, so they are dropped at a shorter queue.
const WAITING_BEFORE_NOTE_MAX: usize = 5_000;
/// The maximum number of writes in one pipeline.
const BATCH_MAX: usize = 500;

/// The queue of writes.
pub struct RedisOutbox {
    waiting: Mutex<OutboxQueue>,
    /// Wakes the sending task.
    filled: Notify,
    /// Wakes those who wait until everything is written.
    emptied: Condvar,
    tally: Arc<StoreHealthCounters>,
}

/// The owner of an id that is not yet in Redis.
struct UnwrittenOwner {
    caller: Arc<str>,
    entry: IdChannelEntry,
    /// The number of queued writes about the id.
    writes: usize,
}

#[derive(Default)]
struct OutboxQueue {
    writes: VecDeque<RedisWrite>,
    /// Writes that were sent and have no response yet.
    sent: usize,
    /// Owners of ids that are not yet in Redis, by id, in the order of their claims.
    unwritten: HashMap<Box<str>, Vec<UnwrittenOwner>>,
}

impl RedisOutbox {
    pub fn new(tally: Arc<StoreHealthCounters>) -> Self {
        Self {
            waiting: Mutex::default(),
            filled: Notify::new(),
            emptied: Condvar::new(),
            tally,
        }
    }

    /// Queues a write; drops and counts it if the queue is full.
    pub fn push(&self, write: RedisWrite) {
        let mut waiting = lock(&self.waiting);
        let most = match write {
            RedisWrite::PutNote { .. } => WAITING_BEFORE_NOTE_MAX,
            _ => WAITING_MAX,
        };
        if waiting.writes.len() + waiting.sent >= most {
            self.tally.dropped(write.operation());
            return;
        }
        if let Some((caller, id, entry)) = write.owner() {
            let owners = waiting.unwritten.entry(id.into()).or_default();
            match owners.iter_mut().find(|owner| owner.caller == *caller) {
                Some(owner) => {
                    owner.entry = entry;
                    owner.writes += 1;
                }
                None => owners.push(UnwrittenOwner {
                    caller: caller.clone(),
                    entry,
                    writes: 1,
                }),
            }
        }
        waiting.writes.push_back(write);
        drop(waiting);
        self.filled.notify_one();
    }

    /// The owner of `id` if it is queued but not yet written.
    pub fn find_owner(&self, caller: &Arc<str>, id: &str) -> Option<IdChannelEntry> {
        let waiting = lock(&self.waiting);
        if waiting.unwritten.is_empty() {
            return None;
        }
        let owners = waiting.unwritten.get(id)?;
        let own = owners.iter().position(|owner| owner.caller == *caller)?;
        let entry = &owners[own].entry;
        let is_claimed_before =
            |other: &UnwrittenOwner| entry.name().is_some() && other.entry.name() == entry.name();
        match owners[..own].iter().any(is_claimed_before) {
            true => Some(IdChannelEntry::Forgotten),
            false => Some(entry.clone()),
        }
    }

    /// Whether `id` is queued for another caller.
    pub fn is_of_another(&self, caller: &Arc<str>, id: &str) -> bool {
        let waiting = lock(&self.waiting);
        let owners = waiting.unwritten.get(id).into_iter().flatten();
        let mut others = owners.filter(|owner| owner.caller != *caller);
        others.any(|other| other.entry.name().is_some())
    }

    /// Blocks until everything is written, at most for `max_wait`.
    pub fn flush(&self, max_wait: Duration) {
        let is_open = |waiting: &mut OutboxQueue| waiting.sent > 0 || !waiting.writes.is_empty();
        let waited = self
            .emptied
            .wait_timeout_while(lock(&self.waiting), max_wait, is_open);
        drop(waited);
    }

    /// Waits until the queue is not empty.
    pub async fn filled(&self) {
        loop {
            let filled = self.filled.notified();
            if !lock(&self.waiting).writes.is_empty() {
                return;
            }
            filled.await;
        }
    }

    /// Sends one batch of writes, and puts back those that Redis did not receive.
    pub async fn deliver(
        &self,
        connector: &RedisConnector,
        scripts: &LuaScripts,
        keys: &RedisKeys,
        id_ttl: Duration,
    ) {
        let sent_at = Instant::now();
        let batch = self.take(sent_at);
        let batch = match self.claim(batch, connector, scripts, keys, id_ttl).await {
            Ok(batch) => batch,
            Err(batch) => return self.put_back(batch),
        };
        if batch.is_empty() {
            return self.put_back(batch);
        }
        let mut pipeline = Pipeline::with_capacity(batch.len());
        for write in &batch {
            pipeline.add_command(write.command(scripts, keys, id_ttl));
        }
        match connector.send(&mut pipeline).await {
            PipelineResult::Responded(replies) => {
                let mut back = Vec::new();
                for (write, reply) in batch.into_iter().zip(replies) {
                    match reply {
                        Err(error) if is_unreachable(&error) => back.push(write),
                        Err(_) => self.done(&write, false),
                        Ok(_) => self.done(&write, true),
                    }
                }
                self.put_back(back);
            }
            PipelineResult::Unknown => {
                let noted = batch.into_iter().map(|write| write.noted_as_sent(sent_at));
                self.put_back(noted.collect());
            }
            PipelineResult::Unsent => self.put_back(batch),
        }
    }

    /// Claims the ids of a batch, and leaves out those that belong to another caller. Claims and ids are not on the same node of
    /// a cluster, so that no script can write both.
    ///
    /// # Errors
    /// Redis has not decided about each of them: the batch is to be sent again.
    async fn claim(
        &self,
        batch: Vec<RedisWrite>,
        connector: &RedisConnector,
        scripts: &LuaScripts,
        keys: &RedisKeys,
        id_ttl: Duration,
    ) -> Result<Vec<RedisWrite>, Vec<RedisWrite>> {
        let mut pipeline = Pipeline::new();
        for write in &batch {
            if let RedisWrite::Remember {
                caller,
                id,
                channel,
            } = write
            {
                let owner = keys.owner(id, channel);
                pipeline.add_command(scripts.claim(&owner, caller, id_ttl));
            }
        }
        if pipeline.is_empty() {
            return Ok(batch);
        }
        let PipelineResult::Responded(replies) = connector.send(&mut pipeline).await else {
            return Err(batch);
        };
        let is_undecided = |reply: &Result<_, _>| reply.as_ref().is_err_and(is_unreachable);
        if replies.iter().any(is_undecided) {
            return Err(batch);
        }
        let mut replies = replies.into_iter();
        let mut granted = Vec::with_capacity(batch.len());
        for write in batch {
            let reply = match write {
                RedisWrite::Remember { .. } => replies.next(),
                _ => Some(Ok(Value::Int(1))),
            };
            match reply {
                Some(Ok(Value::Int(1))) => granted.push(write),
                Some(Ok(_)) => self.done(&write, true),
                Some(Err(_)) | None => self.done(&write, false),
            }
        }
        // What was refused is no longer sent.
        lock(&self.waiting).sent = granted.len();
        Ok(granted)
    }

    /// Takes the next batch, without the writes that are too old to be repeated.
    fn take(&self, now: Instant) -> Vec<RedisWrite> {
        let mut waiting = lock(&self.waiting);
        let count = waiting.writes.len().min(BATCH_MAX);
        waiting.sent = count;
        let batch = waiting.writes.drain(..count);
        let (batch, lost) = batch.partition(|write| write.may_be_sent(now));
        drop(waiting);
        let lost: Vec<RedisWrite> = lost;
        lost.iter().for_each(|write| self.done(write, false));
        batch
    }

    fn put_back(&self, writes: Vec<RedisWrite>) {
        let mut waiting = lock(&self.waiting);
        for write in writes.into_iter().rev() {
            waiting.writes.push_front(write);
        }
        waiting.sent = 0;
        if waiting.writes.is_empty() {
            self.emptied.notify_all();
        }
    }

    fn done(&self, write: &RedisWrite, is_written: bool) {
        if !is_written {
            self.tally.failed(write.operation());
        }
        let Some((caller, id, _)) = write.owner() else {
            return;
        };
        let mut waiting = lock(&self.waiting);
        let Some(owners) = waiting.unwritten.get_mut(id) else {
            return;
        };
        owners.retain_mut(|owner| {
            owner.writes -= usize::from(owner.caller == *caller);
            owner.writes > 0
        });
        if owners.is_empty() {
            waiting.unwritten.remove(id);
        }
    }
}

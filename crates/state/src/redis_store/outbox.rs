//! The queue of writes to Redis: bounded, sent in order by one task, kept while Redis is unreachable.

use super::connector::{PipelineResult, RedisConnector, is_unreachable};
use super::keys::RedisKeys;
use super::scripts::{LuaScripts, NOTE};
use bytes::Bytes;
use headgate_core::state::admission::{AdmissionTicket, LimitKind};
use headgate_core::state::affinity::IdChannelEntry;
use headgate_core::state::health::{StoreHealthCounters, StoreOperation};
use headgate_core::state::lock::lock;
use headgate_core::state::note_cache::NOTE_KEPT;
use redis::{Cmd, Pipeline, Value};
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
/// How long after it may have been executed a settlement is sent again: Redis still has the note by then.
const REPEAT_MAX: Duration = NOTE.saturating_sub(Duration::from_secs(10));

/// A write to Redis.
#[derive(Debug)]
pub enum RedisWrite {
    Remember {
        caller: Arc<str>,
        id: Box<str>,
        channel: Arc<str>,
    },
    /// `caller` used `id`: refreshes its claim, which an id that an earlier version stored does not have yet.
    Touch {
        caller: Arc<str>,
        id: Box<str>,
        channel: Arc<str>,
    },
    Forget {
        caller: Arc<str>,
        id: Box<str>,
    },
    Settle {
        keys: Vec<String>,
        lease: String,
        ticket: AdmissionTicket,
        tokens_used: u64,
        /// When Redis may have executed it for the first time: it was sent, and got no response.
        maybe_executed: Option<Instant>,
    },
    /// Takes back an admission that may have been granted: it got no response.
    Cancel {
        /// Those of the limits, and that of the admission's note if it has one.
        keys: Vec<String>,
        lease: String,
        limits: Vec<LimitKind>,
        tokens: u64,
    },
    PutNote {
        key: Box<str>,
        text: Bytes,
    },
}

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

impl RedisWrite {
    fn operation(&self) -> StoreOperation {
        match self {
            Self::Remember { .. } => StoreOperation::Remember,
            Self::Touch { .. } => StoreOperation::ChannelOf,
            Self::Forget { .. } => StoreOperation::Forget,
            Self::Settle { .. } | Self::Cancel { .. } => StoreOperation::Settle,
            Self::PutNote { .. } => StoreOperation::PutNote,
        }
    }

    /// The caller, the id, and what becomes known of it, if this write changes the owner of an id.
    fn owner(&self) -> Option<(&Arc<str>, &str, IdChannelEntry)> {
        match self {
            Self::Remember {
                caller,
                id,
                channel,
            } => Some((caller, id, IdChannelEntry::Claimed(channel.clone()))),
            Self::Forget { caller, id } => Some((caller, id, IdChannelEntry::Forgotten)),
            Self::Touch { .. }
            | Self::Settle { .. }
            | Self::Cancel { .. }
            | Self::PutNote { .. } => None,
        }
    }

    /// Whether Redis would notice that it has executed this write before. Others than settlements may be repeated anyway.
    fn may_be_sent(&self, now: Instant) -> bool {
        match self {
            Self::Settle {
                maybe_executed: Some(at),
                ..
            } => now.saturating_duration_since(*at) < REPEAT_MAX,
            _ => true,
        }
    }

    /// This write after it was sent and got no response.
    fn noted_as_sent(mut self, at: Instant) -> Self {
        if let Self::Settle { maybe_executed, .. } = &mut self {
            maybe_executed.get_or_insert(at);
        }
        self
    }

    fn command(&self, scripts: &LuaScripts, keys: &RedisKeys, id_ttl: Duration) -> Cmd {
        match self {
            Self::Remember {
                caller,
                id,
                channel,
            } => {
                let mut command = redis::cmd("SET");
                command.arg(keys.affinity(caller, id)).arg(&**channel);
                command.arg("PX").arg(id_ttl.as_millis() as u64);
                command
            }
            Self::Touch {
                caller,
                id,
                channel,
            } => scripts.claim(&keys.owner(id, channel), caller, id_ttl),
            Self::Forget { caller, id } => {
                let mut command = redis::cmd("DEL");
                command.arg(keys.affinity(caller, id));
                command
            }
            Self::Settle {
                keys,
                lease,
                ticket,
                tokens_used,
                ..
            } => scripts.settle(keys, lease, ticket, *tokens_used),
            Self::Cancel {
                keys,
                lease,
                limits,
                tokens,
            } => scripts.cancel(keys, lease, limits, *tokens),
            Self::PutNote { key, text } => {
                let mut command = redis::cmd("SET");
                command.arg(keys.note(key)).arg(&text[..]);
                command.arg("PX").arg(NOTE_KEPT.as_millis() as u64);
                command
            }
        }
    }
}

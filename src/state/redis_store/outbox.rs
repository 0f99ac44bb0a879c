//! The queue of writes to Redis: bounded, sent in order by one task, kept while Redis is unreachable.

use super::connector::{PipelineResult, RedisConnector, is_unreachable};
use super::keys::RedisKeys;
use super::scripts::LuaScripts;
use crate::state::admission::{AdmissionTicket, LimitKind};
use crate::state::affinity::IdOwnership;
use crate::state::health::{StoreCounters, StoreOperation};
use crate::state::lock::lock;
use crate::state::note_cache::NOTE_KEPT;
use bytes::Bytes;
use redis::{Cmd, Pipeline};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// The maximum number of queued writes, of a few hundred bytes each.
const WAITING_MAX: usize = 50_000;
/// Notes are larger than other writes, so they are dropped at a shorter queue.
const WAITING_BEFORE_NOTE_MAX: usize = 5_000;
/// The maximum number of writes in one pipeline.
const BATCH_MAX: usize = 500;

/// A write to Redis.
#[derive(Debug)]
pub enum RedisWrite {
    Remember {
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
    tally: Arc<StoreCounters>,
}

/// A caller and the id that it received.
type OwnedId = (Arc<str>, Box<str>);

#[derive(Default)]
struct OutboxQueue {
    writes: VecDeque<RedisWrite>,
    /// Writes that were sent and have no response yet.
    sent: usize,
    /// Owners of ids that are not yet in Redis, each with the number of queued writes about the id.
    unwritten: HashMap<OwnedId, (IdOwnership, usize)>,
}

impl RedisOutbox {
    pub fn new(tally: Arc<StoreCounters>) -> Self {
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
        if let Some((key, owner)) = write.id_and_owner() {
            let entry = waiting
                .unwritten
                .entry(key)
                .or_insert((IdOwnership::Forgotten, 0));
            *entry = (owner, entry.1 + 1);
        }
        waiting.writes.push_back(write);
        drop(waiting);
        self.filled.notify_one();
    }

    /// The owner of `id` if it is queued but not yet written.
    pub fn owner_of(&self, caller: &Arc<str>, id: &str) -> Option<IdOwnership> {
        let waiting = lock(&self.waiting);
        if waiting.unwritten.is_empty() {
            return None;
        }
        let (owner, _) = waiting.unwritten.get(&(caller.clone(), id.into()))?;
        Some(owner.clone())
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
        let batch = self.take();
        let mut pipeline = Pipeline::with_capacity(batch.len());
        for write in &batch {
            pipeline.add_command(write.command(scripts, keys, id_ttl));
        }
        match connector.send(&mut pipeline).await {
            PipelineResult::Responded(answers) => {
                let mut back = Vec::new();
                for (write, answer) in batch.into_iter().zip(answers) {
                    match answer {
                        Err(error) if is_unreachable(&error) => back.push(write),
                        Err(_) => self.done(&write, false),
                        Ok(_) => self.done(&write, true),
                    }
                }
                self.put_back(back);
            }
            PipelineResult::Unknown => {
                // A settlement that is sent twice would be counted twice.
                let (back, lost): (Vec<_>, Vec<_>) =
                    batch.into_iter().partition(RedisWrite::may_be_repeated);
                lost.iter().for_each(|write| self.done(write, false));
                self.put_back(back);
            }
            PipelineResult::Unsent => self.put_back(batch),
        }
    }

    fn take(&self) -> Vec<RedisWrite> {
        let mut waiting = lock(&self.waiting);
        let count = waiting.writes.len().min(BATCH_MAX);
        waiting.sent = count;
        waiting.writes.drain(..count).collect()
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
        let Some((key, _)) = write.id_and_owner() else {
            return;
        };
        let mut waiting = lock(&self.waiting);
        if let Some((_, writes)) = waiting.unwritten.get_mut(&key) {
            *writes -= 1;
            if *writes == 0 {
                waiting.unwritten.remove(&key);
            }
        }
    }
}

impl RedisWrite {
    fn operation(&self) -> StoreOperation {
        match self {
            Self::Remember { .. } => StoreOperation::Remember,
            Self::Forget { .. } => StoreOperation::Forget,
            Self::Settle { .. } | Self::Cancel { .. } => StoreOperation::Settle,
            Self::PutNote { .. } => StoreOperation::PutNote,
        }
    }

    /// The id and its new owner, if this write is about an id.
    fn id_and_owner(&self) -> Option<(OwnedId, IdOwnership)> {
        match self {
            Self::Remember {
                caller,
                id,
                channel,
            } => Some((
                (caller.clone(), id.clone()),
                IdOwnership::Channel(channel.clone()),
            )),
            Self::Forget { caller, id } => {
                Some(((caller.clone(), id.clone()), IdOwnership::Forgotten))
            }
            Self::Settle { .. } | Self::Cancel { .. } | Self::PutNote { .. } => None,
        }
    }

    fn may_be_repeated(&self) -> bool {
        !matches!(self, Self::Settle { .. })
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

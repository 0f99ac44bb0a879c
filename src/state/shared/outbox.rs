//! What waits to be written to Redis: bounded, delivered in order by a task of its own, kept while Redis is away.

use super::keys::Keys;
use super::link::{Link, Sent, is_away};
use super::scripts::Scripts;
use crate::state::affinity::IdOwner;
use crate::state::demand::Ticket;
use crate::state::health::{Operation, Tally};
use crate::state::memory::lock;
use crate::state::notes::NOTE_KEPT;
use bytes::Bytes;
use redis::{Cmd, Pipeline};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// Writes that wait at most, a few hundred bytes each.
const WAITING_MAX: usize = 50_000;
/// Notes are larger than the rest: they do not wait behind so many.
const WAITING_BEFORE_NOTE_MAX: usize = 5_000;
/// Writes that are sent at once.
const BATCH_MAX: usize = 500;

/// Something for Redis to keep.
#[derive(Debug)]
pub enum Write {
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
        place: String,
        ticket: Ticket,
        tokens_used: u64,
    },
    /// A place that was perhaps taken by a demand whose answer nobody got.
    Release {
        key: String,
        place: String,
    },
    Note {
        key: Box<str>,
        text: Bytes,
    },
}

/// What waits to be written.
pub struct Outbox {
    waiting: Mutex<Waiting>,
    /// Wakes the task.
    filled: Notify,
    /// Wakes whoever waits until all is written.
    emptied: Condvar,
    tally: Arc<Tally>,
}

/// A caller and the id that it got.
type Owned = (Arc<str>, Box<str>);

#[derive(Default)]
struct Waiting {
    writes: VecDeque<Write>,
    /// Writes that were sent and not answered yet.
    sent: usize,
    /// What Redis does not know yet of ids, with how many writes say so.
    unwritten: HashMap<Owned, (IdOwner, usize)>,
}

impl Outbox {
    pub fn new(tally: Arc<Tally>) -> Self {
        Self {
            waiting: Mutex::default(),
            filled: Notify::new(),
            emptied: Condvar::new(),
            tally,
        }
    }

    /// Hands a write over; it is dropped and counted if too many wait.
    pub fn push(&self, write: Write) {
        let mut waiting = lock(&self.waiting);
        let most = match write {
            Write::Note { .. } => WAITING_BEFORE_NOTE_MAX,
            _ => WAITING_MAX,
        };
        if waiting.writes.len() + waiting.sent >= most {
            self.tally.dropped(write.operation());
            return;
        }
        if let Some((key, owner)) = write.about() {
            let entry = waiting.unwritten.entry(key).or_insert((IdOwner::Nobody, 0));
            *entry = (owner, entry.1 + 1);
        }
        waiting.writes.push_back(write);
        drop(waiting);
        self.filled.notify_one();
    }

    /// The owner of `id`, if it is not written yet.
    pub fn owner_of(&self, caller: &Arc<str>, id: &str) -> Option<IdOwner> {
        let waiting = lock(&self.waiting);
        if waiting.unwritten.is_empty() {
            return None;
        }
        let (owner, _) = waiting.unwritten.get(&(caller.clone(), id.into()))?;
        Some(owner.clone())
    }

    /// Waits until everything is written, at most `patience`. Blocks.
    pub fn flush(&self, patience: Duration) {
        let is_open = |waiting: &mut Waiting| waiting.sent > 0 || !waiting.writes.is_empty();
        let waited = self
            .emptied
            .wait_timeout_while(lock(&self.waiting), patience, is_open);
        drop(waited);
    }

    /// Waits for writes.
    pub async fn filled(&self) {
        loop {
            let filled = self.filled.notified();
            if !lock(&self.waiting).writes.is_empty() {
                return;
            }
            filled.await;
        }
    }

    /// Sends some of what waits, and keeps what was not taken.
    pub async fn deliver(&self, link: &Link, scripts: &Scripts, keys: &Keys, keep: Duration) {
        let batch = self.take();
        let mut pipeline = Pipeline::with_capacity(batch.len());
        for write in &batch {
            pipeline.add_command(write.command(scripts, keys, keep));
        }
        match link.send(&mut pipeline).await {
            Sent::Answered(answers) => {
                let mut back = Vec::new();
                for (write, answer) in batch.into_iter().zip(answers) {
                    match answer {
                        Err(error) if is_away(&error) => back.push(write),
                        Err(_) => self.done(&write, false),
                        Ok(_) => self.done(&write, true),
                    }
                }
                self.put_back(back);
            }
            Sent::Unknown => {
                // Settled twice would be counted twice.
                let (back, lost): (Vec<_>, Vec<_>) =
                    batch.into_iter().partition(Write::may_be_repeated);
                lost.iter().for_each(|write| self.done(write, false));
                self.put_back(back);
            }
            Sent::Unsent => self.put_back(batch),
        }
    }

    fn take(&self) -> Vec<Write> {
        let mut waiting = lock(&self.waiting);
        let count = waiting.writes.len().min(BATCH_MAX);
        waiting.sent = count;
        waiting.writes.drain(..count).collect()
    }

    fn put_back(&self, writes: Vec<Write>) {
        let mut waiting = lock(&self.waiting);
        for write in writes.into_iter().rev() {
            waiting.writes.push_front(write);
        }
        waiting.sent = 0;
        if waiting.writes.is_empty() {
            self.emptied.notify_all();
        }
    }

    fn done(&self, write: &Write, is_written: bool) {
        if !is_written {
            self.tally.failed(write.operation());
        }
        let Some((key, _)) = write.about() else {
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

impl Write {
    fn operation(&self) -> Operation {
        match self {
            Self::Remember { .. } => Operation::Remember,
            Self::Forget { .. } => Operation::Forget,
            Self::Settle { .. } | Self::Release { .. } => Operation::Settle,
            Self::Note { .. } => Operation::Note,
        }
    }

    /// What this says of an id.
    fn about(&self) -> Option<(Owned, IdOwner)> {
        match self {
            Self::Remember {
                caller,
                id,
                channel,
            } => Some((
                (caller.clone(), id.clone()),
                IdOwner::Channel(channel.clone()),
            )),
            Self::Forget { caller, id } => Some(((caller.clone(), id.clone()), IdOwner::Nobody)),
            Self::Settle { .. } | Self::Release { .. } | Self::Note { .. } => None,
        }
    }

    fn may_be_repeated(&self) -> bool {
        !matches!(self, Self::Settle { .. })
    }

    fn command(&self, scripts: &Scripts, keys: &Keys, keep: Duration) -> Cmd {
        match self {
            Self::Remember {
                caller,
                id,
                channel,
            } => {
                let mut command = redis::cmd("SET");
                command.arg(keys.made(caller, id)).arg(&**channel);
                command.arg("PX").arg(keep.as_millis() as u64);
                command
            }
            Self::Forget { caller, id } => {
                let mut command = redis::cmd("DEL");
                command.arg(keys.made(caller, id));
                command
            }
            Self::Settle {
                keys,
                place,
                ticket,
                tokens_used,
            } => scripts.settle(keys, place, ticket, *tokens_used),
            Self::Release { key, place } => Scripts::release(key, place),
            Self::Note { key, text } => {
                let mut command = redis::cmd("SET");
                command.arg(keys.note(key)).arg(&text[..]);
                command.arg("PX").arg(NOTE_KEPT.as_millis() as u64);
                command
            }
        }
    }
}

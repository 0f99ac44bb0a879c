//! State of one machine: in memory, and in an SQLite file behind it what a restart must not lose.
//!
//! Ids, budgets and notes are in the file; seconds, minutes and places in use mean nothing after a restart.

mod file;
mod reader;
mod writer;

use super::affinity::{AffinityCache, IdOwner};
use super::calendar::period;
use super::clock::Clock;
use super::counts::Counts;
use super::demand::{Admission, Demand, Ticket};
use super::health::{Health, Tally};
use super::memory::lock;
use super::notes::NOTE_BYTES_MAX;
use super::paces::{Pace, Paces};
use super::{Pending, Store, Unavailable};
use bytes::Bytes;
use file::{CannotOpen, File, Write};
use reader::Reader;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use writer::{Queue, Writer};

/// State in memory and a file. Two processes may share the file, as in an upgrade.
pub struct Embedded {
    affinity: Mutex<AffinityCache>,
    counts: Arc<Mutex<Counts>>,
    paces: Mutex<Paces>,
    queue: Arc<Queue>,
    reader: Reader,
    tally: Arc<Tally>,
    clock: Clock,
}

impl Embedded {
    /// Opens the file, and makes it if there is none; ids that nobody used for `keep` are removed from it.
    ///
    /// # Errors
    /// The file cannot be made, or not be used.
    pub fn open(path: &Path, keep: Duration, clock: Clock) -> Result<Self, CannotOpen> {
        let file = File::open(path)?;
        let mut counts = Counts::default();
        for (counter, since, tokens) in file.budgets(clock.now().unix_ms)? {
            counts.restore(counter, since, tokens);
        }
        let counts = Arc::new(Mutex::new(counts));
        let queue = Arc::new(Queue::default());
        let tally = Arc::new(Tally::new(true));
        let reader = Reader::start(File::open(path)?, path.to_path_buf(), tally.clone())?;
        let writer = Writer {
            path: path.to_path_buf(),
            file,
            keep,
            queue: queue.clone(),
            counts: counts.clone(),
            tally: tally.clone(),
        };
        writer.start()?;
        Ok(Self {
            affinity: Mutex::default(),
            counts,
            paces: Mutex::default(),
            queue,
            reader,
            tally,
            clock,
        })
    }

    fn write(&self, write: Write) {
        self.queue.push(write, &self.tally);
    }

    fn used(&self, caller: &Arc<str>, id: &str) {
        self.write(Write::Used {
            caller: caller.clone(),
            id: id.into(),
        });
    }

    /// Asks the file for an id that memory does not know.
    async fn look_up(&self, caller: &Arc<str>, id: &str) -> Result<Option<Arc<str>>, Unavailable> {
        let Some(channel) = self.reader.channel_of(caller, id).await? else {
            return Ok(None);
        };
        self.used(caller, id);
        let mut affinity = lock(&self.affinity);
        // What was remembered or forgotten meanwhile is newer.
        let owner = affinity.owner_of(caller, id).unwrap_or_else(|| {
            let owner = IdOwner::Channel(channel);
            affinity.remember(caller, id, owner.clone());
            owner
        });
        Ok(owner.channel())
    }
}

impl Store for Embedded {
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        lock(&self.affinity).remember(caller, id, IdOwner::Channel(channel.clone()));
        self.write(Write::Made {
            caller: caller.clone(),
            id: id.into(),
            channel: channel.clone(),
        });
    }

    fn channel_of<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> Pending<'a, Option<Arc<str>>> {
        let known = lock(&self.affinity).owner_of(caller, id);
        match known {
            Some(IdOwner::Nobody) => Pending::Ready(Ok(None)),
            Some(IdOwner::Channel(channel)) => {
                self.used(caller, id);
                Pending::Ready(Ok(Some(channel)))
            }
            None => Pending::Later(Box::pin(self.look_up(caller, id))),
        }
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        // The file may still know it when it is asked.
        lock(&self.affinity).remember(caller, id, IdOwner::Nobody);
        self.write(Write::Forgotten {
            caller: caller.clone(),
            id: id.into(),
        });
    }

    fn admit<'a>(&'a self, demand: &'a Demand<'a>) -> Pending<'a, Admission> {
        Pending::Ready(Ok(lock(&self.counts).admit(demand, self.clock.now())))
    }

    fn settle(&self, ticket: Ticket, tokens_used: u64) {
        lock(&self.counts).settle(&ticket, tokens_used);
        let budgets = ticket
            .limits
            .iter()
            .filter(|limit| limit.measure.is_budget());
        for limit in budgets.filter(|_| tokens_used > 0) {
            self.write(Write::Spent {
                counter: limit.counter(),
                since: period(limit.measure, ticket.taken_at.unix_ms).0,
                tokens: tokens_used,
            });
        }
    }

    fn pace<'a>(&'a self, whose: &'a str, per_second: u16) -> Pending<'a, Pace> {
        let now_ms = self.clock.now().steady_ms;
        Pending::Ready(Ok(lock(&self.paces).take(whose, per_second, now_ms)))
    }

    fn note(&self, key: &str, text: &Bytes) {
        if text.len() <= NOTE_BYTES_MAX {
            self.write(Write::Noted {
                key: key.into(),
                text: text.clone(),
            });
        }
    }

    fn noted<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Bytes>> {
        Pending::Later(Box::pin(self.reader.noted(key)))
    }

    fn health(&self) -> Health {
        self.tally.health("sqlite")
    }

    fn flush(&self, patience: Duration) {
        self.queue.flush(patience);
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.queue.close();
    }
}

//! State that several gateways share, in Redis: each operation in one step of its own, by its own clock.

mod keys;
mod link;
mod outbox;
mod places;
mod scripts;

use super::demand::{Admission, Demand, Limit, Measure, Ticket, Verdict};
use super::health::{Health, Operation, Tally};
use super::notes::NOTE_BYTES_MAX;
use super::paces::Pace;
use super::site::RedisSite;
use super::{Pending, Store, Unavailable, WhenAway};
use bytes::Bytes;
use keys::Keys;
use link::Link;
use outbox::{Outbox, Write};
use places::Places;
use redis::{Client, Pipeline};
use scripts::{LEASE, Scripts};
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::runtime;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};

/// Before a place runs out it is renewed several times.
const RENEW_EVERY: Duration = LEASE.checked_div(6).expect("six is not zero");
/// How long the start of the process waits for Redis; it goes on without.
const FIRST_TRY: Duration = Duration::from_secs(2);

/// State in a Redis.
pub struct Shared {
    parts: Arc<Parts>,
    closed: Arc<Notify>,
    when_away: WhenAway,
}

/// What requests and the task behind their back both use.
struct Parts {
    keys: Keys,
    keep: Duration,
    scripts: Scripts,
    link: Link,
    outbox: Outbox,
    places: Places,
    tally: Arc<Tally>,
}

impl Shared {
    /// Connects to a Redis, and goes on without while it is away.
    ///
    /// # Errors
    /// There can be no further thread.
    pub fn open(client: Client, site: &RedisSite) -> io::Result<Self> {
        let tally = Arc::new(Tally::new(false));
        let parts = Arc::new(Parts {
            keys: Keys::new(&site.prefix),
            keep: site.keep,
            scripts: Scripts::new(),
            link: Link::new(client, site.wait, tally.clone()),
            outbox: Outbox::new(tally.clone()),
            places: Places::new(),
            tally,
        });
        let closed = Arc::new(Notify::new());
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (task, end) = (parts.clone(), closed.clone());
        let when_away = site.limits_when_away;
        thread::Builder::new()
            .name("state-redis".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = task.link.keep(&task.scripts, policy(when_away)) => {}
                        () = task.deliver() => {}
                        () = end.notified() => {}
                    }
                });
            })?;
        parts.link.wait_for_first_try(FIRST_TRY);
        Ok(Self {
            parts,
            closed,
            when_away,
        })
    }
}

impl Store for Shared {
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        self.parts.outbox.push(Write::Remember {
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
        match self.parts.outbox.owner_of(caller, id) {
            Some(owner) => Pending::Ready(Ok(owner.channel())),
            None => {
                let asked = self.parts.channel_of(caller, id);
                Pending::Later(Box::pin(self.parts.counted(Operation::ChannelOf, asked)))
            }
        }
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        self.parts.outbox.push(Write::Forget {
            caller: caller.clone(),
            id: id.into(),
        });
    }

    fn admit<'a>(&'a self, demand: &'a Demand<'a>) -> Pending<'a, Admission> {
        let asked = self.parts.admit(demand);
        Pending::Later(Box::pin(self.parts.counted(Operation::Admit, asked)))
    }

    fn settle(&self, ticket: Ticket, tokens_used: u64) {
        self.parts.settle(ticket, tokens_used);
    }

    fn pace<'a>(&'a self, whose: &'a str, per_second: u16) -> Pending<'a, Pace> {
        let asked = self.parts.pace(whose, per_second);
        Pending::Later(Box::pin(self.parts.counted(Operation::Pace, asked)))
    }

    fn note(&self, key: &str, text: &Bytes) {
        if text.len() <= NOTE_BYTES_MAX {
            self.parts.outbox.push(Write::Note {
                key: key.into(),
                text: text.clone(),
            });
        }
    }

    fn noted<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Bytes>> {
        let asked = self.parts.noted(key);
        Pending::Later(Box::pin(self.parts.counted(Operation::Noted, asked)))
    }

    fn when_away(&self) -> WhenAway {
        self.when_away
    }

    fn health(&self) -> Health {
        self.parts.tally.health("redis")
    }

    fn flush(&self, patience: Duration) {
        self.parts.outbox.flush(patience);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.closed.notify_one();
    }
}

impl Parts {
    async fn channel_of(
        &self,
        caller: &Arc<str>,
        id: &str,
    ) -> Result<Option<Arc<str>>, Unavailable> {
        let mut command = redis::cmd("GETEX");
        command.arg(self.keys.made(caller, id));
        command.arg("PX").arg(self.keep.as_millis() as u64);
        let connection = self.link.connection()?;
        let found: Option<String> = self.link.ask(connection, &command).await?;
        Ok(found.map(Arc::from))
    }

    async fn admit(&self, demand: &Demand<'_>) -> Result<Admission, Unavailable> {
        let connection = self.link.connection()?;
        let place = self.places.next();
        let name = self.places.name(place);
        let keys = self.keys_of(demand.limits);
        let mut perhaps = PerhapsTaken {
            outbox: &self.outbox,
            name: &name,
            keys: places_among(demand.limits, &keys),
        };
        let command = self.scripts.admit(&keys, &name, demand);
        let answer: Vec<i64> = self.link.ask(connection, &command).await?;
        let admission = scripts::admission(&answer, demand, place)
            .ok_or_else(|| Unavailable("Redis gave no answer of the script".into()))?;
        let taken = std::mem::take(&mut perhaps.keys);
        if matches!(admission.verdict, Verdict::Granted(_)) && !taken.is_empty() {
            self.places.hold(place, taken);
        }
        Ok(admission)
    }

    async fn pace(&self, whose: &str, per_second: u16) -> Result<Pace, Unavailable> {
        let command = self.scripts.pace(&self.keys.pace(whose), per_second);
        let connection = self.link.connection()?;
        let wait_ms: u64 = self.link.ask(connection, &command).await?;
        Ok(match wait_ms {
            0 => Pace::Now,
            wait_ms => Pace::In(Duration::from_millis(wait_ms)),
        })
    }

    async fn noted(&self, key: &str) -> Result<Option<Bytes>, Unavailable> {
        let mut command = redis::cmd("GET");
        command.arg(self.keys.note(key));
        let connection = self.link.connection()?;
        let found: Option<Vec<u8>> = self.link.ask(connection, &command).await?;
        Ok(found.map(Bytes::from))
    }

    /// Counts what fails.
    async fn counted<T>(
        &self,
        operation: Operation,
        asked: impl Future<Output = Result<T, Unavailable>>,
    ) -> Result<T, Unavailable> {
        let outcome = asked.await;
        if outcome.is_err() {
            self.tally.failed(operation);
        }
        outcome
    }

    fn settle(&self, mut ticket: Ticket, tokens_used: u64) {
        self.places.release(ticket.place);
        let estimate = ticket.tokens;
        ticket.limits.retain(|limit| match limit.measure {
            Measure::RequestsPerMinute => false,
            Measure::Concurrent => true,
            Measure::TokensPerMinute | Measure::TokensPerDay | Measure::TokensPerMonth => {
                tokens_used != estimate
            }
        });
        if ticket.limits.is_empty() {
            return;
        }
        self.outbox.push(Write::Settle {
            keys: self.keys_of(&ticket.limits),
            place: self.places.name(ticket.place),
            ticket,
            tokens_used,
        });
    }

    fn keys_of(&self, limits: &[Limit]) -> Vec<String> {
        limits.iter().map(|limit| self.keys.limit(limit)).collect()
    }

    /// Writes what waits, and renews places, one after the other: no place is renewed behind its release.
    async fn deliver(&self) {
        let mut renewal = interval(RENEW_EVERY);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let writes = async {
                self.outbox.filled().await;
                self.link.restored().await;
            };
            tokio::select! {
                () = writes => {
                    self.outbox
                        .deliver(&self.link, &self.scripts, &self.keys, self.keep)
                        .await;
                }
                _ = renewal.tick() => self.renew().await,
            }
        }
    }

    async fn renew(&self) {
        let held = self.places.held();
        if held.is_empty() {
            return;
        }
        let mut pipeline = Pipeline::with_capacity(held.len());
        for (key, places) in &held {
            pipeline.add_command(self.scripts.renew(key, places));
        }
        // What failed is renewed the next time, and has several.
        let _ = self.link.send(&mut pipeline).await;
    }
}

/// Frees the place of a demand whose answer never came, or came too late.
struct PerhapsTaken<'a> {
    outbox: &'a Outbox,
    name: &'a str,
    keys: Vec<String>,
}

impl Drop for PerhapsTaken<'_> {
    fn drop(&mut self) {
        for key in self.keys.drain(..) {
            self.outbox.push(Write::Release {
                key,
                place: self.name.to_string(),
            });
        }
    }
}

/// The keys of those limits that hold a place.
fn places_among(limits: &[Limit], keys: &[String]) -> Vec<String> {
    let held = limits
        .iter()
        .zip(keys)
        .filter(|(limit, _)| limit.measure == Measure::Concurrent);
    held.map(|(_, key)| key.clone()).collect()
}

fn policy(when_away: WhenAway) -> &'static str {
    match when_away {
        WhenAway::Open => {
            "requests with limits pass uncounted, those about earlier responses are refused"
        }
        WhenAway::Closed => "requests with limits and those about earlier responses are refused",
    }
}

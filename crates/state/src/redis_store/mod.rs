//! The state store in Redis, shared by several gateways: each operation is one command or script, on Redis' clock.

mod admission;
mod admission_reply;
mod client;
mod concurrency_leases;
mod connector;
mod id_owners;
mod keys;
mod outbox;
mod records;
mod run_call_write;
mod runs;
mod scripts;
mod write;

pub use client::client;

use bytes::Bytes;
use concurrency_leases::GatewayConcurrencyLeases;
use connector::RedisConnector;
use headgate_core::state::admission::{
    AdmissionRequest, AdmissionResult, AdmissionTicket, CounterKey,
};
use headgate_core::state::health::{StoreHealthCounters, StoreHealthReport, StoreOperation};
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::note_cache::NOTE_BYTES_MAX;
use headgate_core::state::per_second_limiter::PerSecondDecision;
use headgate_core::state::records::RecordStore;
use headgate_core::state::run::RunCallEnd;
use headgate_core::state::run_usage::RunStatus;
use headgate_core::state::settings::RedisSettings;
use headgate_core::state::{OnStoreFailure, StateStore, StoreFuture, StoreUnavailable};
use keys::RedisKeys;
use outbox::RedisOutbox;
use redis::{Client, Pipeline};
use scripts::{LEASE, LuaScripts};
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};
use tokio::runtime;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use write::RedisWrite;

/// The interval of lease renewals: several fit into the lifetime of a lease.
const RENEW_EVERY: Duration = LEASE.checked_div(6).expect("six is not zero");
/// How long the start of the process waits for Redis; the process then starts without it.
const FIRST_TRY: Duration = Duration::from_secs(2);

/// A state store in Redis.
pub struct RedisStore {
    inner: Arc<RedisStoreInner>,
    closed: Arc<Notify>,
    on_store_failure: OnStoreFailure,
}

/// What requests and the background task share.
struct RedisStoreInner {
    keys: RedisKeys,
    id_ttl: Duration,
    scripts: LuaScripts,
    connector: RedisConnector,
    outbox: RedisOutbox,
    leases: GatewayConcurrencyLeases,
    tally: Arc<StoreHealthCounters>,
}

impl RedisStore {
    /// Starts connecting to Redis. The store opens even while Redis is unreachable.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn open(client: Client, site: &RedisSettings) -> io::Result<Self> {
        let tally = Arc::new(StoreHealthCounters::new(false));
        let inner = Arc::new(RedisStoreInner {
            keys: RedisKeys::new(&site.prefix),
            id_ttl: site.id_ttl,
            scripts: LuaScripts::new(),
            connector: RedisConnector::new(client, site.timeout, tally.clone()),
            outbox: RedisOutbox::new(tally.clone()),
            leases: GatewayConcurrencyLeases::new(),
            tally,
        });
        let closed = Arc::new(Notify::new());
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (task, end) = (inner.clone(), closed.clone());
        let on_store_failure = site.on_store_failure;
        thread::Builder::new()
            .name("state-redis".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = task.connector.keep_connected(&task.scripts, policy(on_store_failure)) => {}
                        () = task.deliver() => {}
                        () = end.notified() => {}
                    }
                });
            })?;
        inner.connector.wait_for_first_attempt(FIRST_TRY);
        Ok(Self {
            inner,
            closed,
            on_store_failure,
        })
    }
}

impl StateStore for RedisStore {
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        self.inner.outbox.push(RedisWrite::Remember {
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
        match self.inner.outbox.find_owner(caller, id) {
            Some(owner) => match owner.channel() {
                Some(channel) => {
                    let pending = self.inner.find_claimed(caller, id, channel);
                    StoreFuture::Later(Box::pin(async { Ok(pending.await) }))
                }
                None => StoreFuture::Ready(Ok(None)),
            },
            None => {
                let pending = self.inner.find_channel(caller, id);
                StoreFuture::Later(Box::pin(
                    self.inner.count_failure(StoreOperation::ChannelOf, pending),
                ))
            }
        }
    }

    fn is_of_another<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
        channels: &'a [Arc<str>],
    ) -> StoreFuture<'a, bool> {
        let pending = self.inner.is_of_another(caller, id, channels);
        StoreFuture::Later(Box::pin(
            self.inner.count_failure(StoreOperation::ChannelOf, pending),
        ))
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        self.inner.outbox.push(RedisWrite::Forget {
            caller: caller.clone(),
            id: id.into(),
        });
    }

    fn admit<'a>(&'a self, demand: &'a AdmissionRequest<'a>) -> StoreFuture<'a, AdmissionResult> {
        let pending = self.inner.admit(demand);
        StoreFuture::Later(Box::pin(
            self.inner.count_failure(StoreOperation::Admit, pending),
        ))
    }

    fn money_used<'a>(&'a self, budget: &'a CounterKey) -> StoreFuture<'a, u64> {
        let pending = self.inner.money_used(budget);
        StoreFuture::Later(Box::pin(
            self.inner.count_failure(StoreOperation::Admit, pending),
        ))
    }

    fn settle(&self, ticket: AdmissionTicket, tokens_used: u64) {
        self.inner.settle(ticket, tokens_used);
    }

    fn settle_money(&self, reserved: MoneyReservation, cost: u64) {
        self.inner.settle_money(reserved, cost);
    }

    fn end_run_call(&self, end: RunCallEnd) {
        self.inner.end_run_call(end);
    }

    fn runs<'a>(&'a self, name: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<RunStatus>> {
        let pending = self.inner.runs(name, most);
        StoreFuture::Later(Box::pin(
            self.inner.count_failure(StoreOperation::Record, pending),
        ))
    }

    fn correct(&self, mut ticket: AdmissionTicket, tokens_used: u64) {
        // Of its own, since what is noted as settled is not corrected twice.
        ticket.lease = self.inner.leases.next();
        self.inner.settle(ticket, tokens_used);
    }

    fn take_per_second<'a>(
        &'a self,
        budget_key: &'a str,
        per_second: u16,
    ) -> StoreFuture<'a, PerSecondDecision> {
        let pending = self.inner.take_per_second(budget_key, per_second);
        StoreFuture::Later(Box::pin(
            self.inner
                .count_failure(StoreOperation::TakePerSecond, pending),
        ))
    }

    fn put_note(&self, key: &str, text: &Bytes) {
        if text.len() <= NOTE_BYTES_MAX {
            self.inner.outbox.push(RedisWrite::PutNote {
                key: key.into(),
                text: text.clone(),
            });
        }
    }

    fn get_note<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Bytes>> {
        let pending = self.inner.get_note(key);
        StoreFuture::Later(Box::pin(
            self.inner.count_failure(StoreOperation::GetNote, pending),
        ))
    }

    fn on_store_failure(&self) -> OnStoreFailure {
        self.on_store_failure
    }

    fn records(&self) -> &dyn RecordStore {
        &*self.inner
    }

    fn health(&self) -> StoreHealthReport {
        self.inner.tally.health("redis")
    }

    fn flush(&self, max_wait: Duration) {
        self.inner.outbox.flush(max_wait);
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.closed.notify_one();
    }
}

impl RedisStoreInner {
    async fn take_per_second(
        &self,
        budget_key: &str,
        per_second: u16,
    ) -> Result<PerSecondDecision, StoreUnavailable> {
        let command = self
            .scripts
            .take_per_second(&self.keys.per_second(budget_key), per_second);
        let connection = self.connector.connection()?;
        let wait_ms: u64 = self.connector.query(connection, &command).await?;
        Ok(match wait_ms {
            0 => PerSecondDecision::Allowed,
            wait_ms => PerSecondDecision::RetryAfter(Duration::from_millis(wait_ms)),
        })
    }

    async fn get_note(&self, key: &str) -> Result<Option<Bytes>, StoreUnavailable> {
        let mut command = redis::cmd("GET");
        command.arg(self.keys.note(key));
        let connection = self.connector.connection()?;
        let found: Option<Vec<u8>> = self.connector.query(connection, &command).await?;
        Ok(found.map(Bytes::from))
    }

    /// Counts a failure of `operation`.
    async fn count_failure<T>(
        &self,
        operation: StoreOperation,
        pending: impl Future<Output = Result<T, StoreUnavailable>>,
    ) -> Result<T, StoreUnavailable> {
        let outcome = pending.await;
        if outcome.is_err() {
            self.tally.failed(operation);
        }
        outcome
    }

    /// Sends queued writes and renews leases, one after the other: a lease is never renewed after its release.
    async fn deliver(&self) {
        let mut renewal = interval(RENEW_EVERY);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let writes = async {
                self.outbox.filled().await;
                self.connector.restored().await;
            };
            tokio::select! {
                () = writes => {
                    self.outbox
                        .deliver(&self.connector, &self.scripts, &self.keys, self.id_ttl)
                        .await;
                }
                _ = renewal.tick() => self.renew().await,
            }
        }
    }

    async fn renew(&self) {
        let held = self.leases.leases_by_key();
        if held.is_empty() {
            return;
        }
        let mut pipeline = Pipeline::with_capacity(held.len());
        for (key, leases) in &held {
            pipeline.add_command(self.scripts.renew(key, leases));
        }
        // A renewal that fails is repeated at the next tick; several fit into the lifetime of a lease.
        let _ = self.connector.send(&mut pipeline).await;
    }
}

fn policy(on_store_failure: OnStoreFailure) -> &'static str {
    match on_store_failure {
        OnStoreFailure::Allow => {
            "limits are not checked, requests that refer to earlier responses are refused"
        }
        OnStoreFailure::Deny => {
            "requests with limits and requests that refer to earlier responses are refused"
        }
    }
}

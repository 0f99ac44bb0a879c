//! The state store of a schedule: it outlives gateways, and its operations are delayed, fail, or are stored although they fail.

use super::books::Books;
use super::clock;
use super::random::Random;
use bytes::Bytes;
use headgate_core::state::admission::{
    AdmissionDecision, AdmissionRequest, AdmissionResult, AdmissionTicket, CounterKey,
};
use headgate_core::state::health::StoreHealthReport;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::per_second_limiter::PerSecondDecision;
use headgate_core::state::records::{
    InsertResult, OPERATION_TIMEOUT, Record, RecordContent, RecordCount, RecordKind, RecordStore,
};
use headgate_core::state::run::RunCallEnd;
use headgate_core::state::run_usage::RunStatus;
use headgate_core::state::{OnStoreFailure, StateStore, StoreFuture, StoreUnavailable};
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::time::sleep;

/// What the gateways of a schedule store.
#[derive(Default)]
pub struct DurableState {
    pub memory: MemoryStore,
    pub books: Books,
}

/// How often operations of the store fail, in percent, until this millisecond of the schedule.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreFaults {
    pub percent: u64,
    pub until_ms: u64,
    /// An outage: from and until these milliseconds, every operation fails.
    pub outage: (u64, u64),
}

impl StoreFaults {
    /// Whether any operation may fail.
    pub fn are_possible(self) -> bool {
        self.percent > 0 || self.outage.1 > 0
    }
}

/// The store as one gateway sees it, until the gateway is killed. It is set up when its schedule begins.
#[derive(Default)]
pub struct SimulatedStore {
    setup: OnceLock<StoreSetup>,
    is_killed: AtomicBool,
}

/// The store of a gateway with the number `life`.
pub struct StoreSetup {
    pub state: Arc<DurableState>,
    pub life: usize,
    pub faults: StoreFaults,
    pub random: Random,
}

/// What happens to an operation.
enum OperationFate {
    Done,
    Failed,
    /// The operation is done, and its result is lost.
    DoneUnseen,
}

impl SimulatedStore {
    pub fn set_up(&self, setup: StoreSetup) {
        assert!(self.setup.set(setup).is_ok(), "a store has one schedule");
    }

    fn setup(&self) -> &StoreSetup {
        self.setup.get().expect("the schedule has begun")
    }

    /// Has the gateway no effect on the store any more. Its places of `concurrent` limits are free, as they are 30 s later with Redis.
    pub fn kill(&self) {
        self.is_killed.store(true, Ordering::Relaxed);
        for lease in self.setup().state.books.open_places(self.setup().life) {
            self.setup().state.memory.settle(lease, 0);
        }
    }

    fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::Relaxed)
    }

    fn fate(&self) -> OperationFate {
        let now = clock::elapsed_ms();
        let StoreSetup { faults, random, .. } = self.setup();
        let (from, until) = faults.outage;
        let is_out = (from..until).contains(&now);
        match is_out || now < faults.until_ms && random.percent(faults.percent) {
            false => OperationFate::Done,
            true if !is_out && random.percent(40) => OperationFate::DoneUnseen,
            true => OperationFate::Failed,
        }
    }

    /// Runs an operation at a random moment, and reports its result at a later one.
    fn operate<'a, T: Send + 'a>(
        &'a self,
        operation: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        StoreFuture::Later(Box::pin(async move {
            sleep(self.setup().random.latency()).await;
            let fate = self.fate();
            if self.is_killed() {
                pending::<()>().await;
            }
            let result = match fate {
                OperationFate::Failed => None,
                OperationFate::Done | OperationFate::DoneUnseen => Some(operation().get().await),
            };
            match (fate, result) {
                (OperationFate::Done, Some(result)) => {
                    sleep(self.setup().random.latency()).await;
                    result
                }
                _ => {
                    if self.setup().random.percent(20) {
                        sleep(OPERATION_TIMEOUT).await;
                    }
                    Err(StoreUnavailable("simulated outage".into()))
                }
            }
        }))
    }

    fn records_in_memory(&self) -> &dyn RecordStore {
        self.setup().state.memory.records()
    }
}

impl RecordStore for SimulatedStore {
    fn is_durable(&self) -> bool {
        true
    }

    fn insert<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        content: RecordContent,
        owner_max: u32,
    ) -> StoreFuture<'a, InsertResult> {
        self.operate(move || {
            self.records_in_memory()
                .insert(kind, key, content, owner_max)
        })
    }

    fn replace<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        version: u64,
        content: RecordContent,
    ) -> StoreFuture<'a, Option<u64>> {
        self.operate(move || {
            self.records_in_memory()
                .replace(kind, key, version, content)
        })
    }

    fn remove<'a>(&'a self, kind: RecordKind, key: &'a str, version: u64) -> StoreFuture<'a, bool> {
        self.operate(move || self.records_in_memory().remove(kind, key, version))
    }

    fn get<'a>(&'a self, kind: RecordKind, key: &'a str) -> StoreFuture<'a, Option<Record>> {
        self.operate(move || self.records_in_memory().get(kind, key))
    }

    fn due(&self, kind: RecordKind, now_ms: u64, limit: usize) -> StoreFuture<'_, Vec<Record>> {
        self.operate(move || self.records_in_memory().due(kind, now_ms, limit))
    }

    fn count(&self, kind: RecordKind) -> StoreFuture<'_, RecordCount> {
        self.operate(move || self.records_in_memory().count(kind))
    }

    fn list<'a>(
        &'a self,
        kind: RecordKind,
        after: &'a str,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Record>> {
        self.operate(move || self.records_in_memory().list(kind, after, limit))
    }
}

impl StateStore for SimulatedStore {
    fn on_store_failure(&self) -> OnStoreFailure {
        OnStoreFailure::Deny
    }

    fn has_other_writers(&self) -> bool {
        true
    }

    fn records(&self) -> &dyn RecordStore {
        self
    }

    fn health(&self) -> StoreHealthReport {
        StoreHealthReport::up("memory")
    }

    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        if !self.is_killed() {
            self.setup().state.memory.remember(caller, id, channel);
        }
    }

    fn find_channel<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<Arc<str>>> {
        self.operate(move || self.setup().state.memory.find_channel(caller, id))
    }

    fn is_of_another<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
        channels: &'a [Arc<str>],
    ) -> StoreFuture<'a, bool> {
        self.operate(move || {
            self.setup()
                .state
                .memory
                .is_of_another(caller, id, channels)
        })
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        if !self.is_killed() {
            self.setup().state.memory.forget(caller, id);
        }
    }

    /// Granted in the same poll in which it is charged: who drops the future before has reserved nothing.
    fn admit<'a>(&'a self, demand: &'a AdmissionRequest<'a>) -> StoreFuture<'a, AdmissionResult> {
        StoreFuture::Later(Box::pin(async move {
            sleep(self.setup().random.latency()).await;
            if self.is_killed() {
                pending::<()>().await;
            }
            if !matches!(self.fate(), OperationFate::Done) {
                return Err(StoreUnavailable("simulated outage".into()));
            }
            let mut result = self.setup().state.memory.admit(demand).get().await?;
            if let AdmissionDecision::Granted(ticket) = &mut result.decision {
                ticket.lease = self.setup().state.books.grant(self.setup().life, ticket);
            }
            if let Some(money) = &result.money {
                self.setup().state.books.reserve(self.setup().life, money);
            }
            Ok(result)
        }))
    }

    fn money_used<'a>(&'a self, budget: &'a CounterKey) -> StoreFuture<'a, u64> {
        self.operate(move || self.setup().state.memory.money_used(budget))
    }

    fn settle(&self, ticket: AdmissionTicket, tokens_used: u64) {
        if !self.is_killed() {
            self.setup().state.books.settle(&ticket);
            self.setup().state.memory.settle(ticket, tokens_used);
        }
    }

    fn correct(&self, ticket: AdmissionTicket, tokens_used: u64) {
        if !self.is_killed() {
            self.setup().state.memory.correct(ticket, tokens_used);
        }
    }

    fn settle_money(&self, reserved: MoneyReservation, cost: u64) {
        if !self.is_killed() {
            self.setup().state.books.settle_money(&reserved, cost);
            self.setup().state.memory.settle_money(reserved, cost);
        }
    }

    fn end_run_call(&self, end: RunCallEnd) {
        if !self.is_killed() {
            self.setup().state.memory.end_run_call(end);
        }
    }

    fn runs<'a>(&'a self, name: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<RunStatus>> {
        self.operate(move || self.setup().state.memory.runs(name, most))
    }

    fn take_per_second<'a>(
        &'a self,
        budget_key: &'a str,
        per_second: u16,
    ) -> StoreFuture<'a, PerSecondDecision> {
        self.operate(move || {
            self.setup()
                .state
                .memory
                .take_per_second(budget_key, per_second)
        })
    }

    fn put_note(&self, key: &str, text: &Bytes) {
        if !self.is_killed() {
            self.setup().state.memory.put_note(key, text);
        }
    }

    fn get_note<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Bytes>> {
        self.operate(move || self.setup().state.memory.get_note(key))
    }
}

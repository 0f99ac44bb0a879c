//! Stores for tests: a shared one whose record operations a test delays or fails, and one that is unreachable.

use crate::state::admission::{AdmissionRequest, AdmissionResult, AdmissionTicket, CounterKey};
use crate::state::health::StoreHealthReport;
use crate::state::memory::MemoryStore;
use crate::state::money::MoneyReservation;
use crate::state::per_second_limiter::PerSecondDecision;
use crate::state::records::unavailable::UnavailableRecordStore;
use crate::state::records::{
    InsertResult, Record, RecordContent, RecordCount, RecordKind, RecordStore,
};
use crate::state::run::RunCallEnd;
use crate::state::run_usage::RunStatus;
use crate::state::{OnStoreFailure, StateStore, StoreFuture, StoreUnavailable};
use bytes::Bytes;
use std::pin::Pin;
use std::sync::Arc;

/// Runs after a record operation, and delays its result or replaces it by an error.
type RecordHook = Box<dyn Fn(RecordStoreOperation) -> HookFuture + Send + Sync>;
pub type HookFuture = Pin<Box<dyn Future<Output = Result<(), StoreUnavailable>> + Send>>;

/// A record operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordStoreOperation {
    Insert,
    Replace,
    Remove,
    Get,
    Due,
    Count,
    List,
}

/// A store in memory. Each record operation is done there, and then runs a hook.
pub struct InterceptedStore {
    /// The store without the hook.
    pub memory: MemoryStore,
    hook: RecordHook,
}

impl InterceptedStore {
    pub fn new(hook: impl Fn(RecordStoreOperation) -> HookFuture + Send + Sync + 'static) -> Self {
        Self {
            memory: MemoryStore::default(),
            hook: Box::new(hook),
        }
    }

    fn intercept<'a, T: Send + 'a>(
        &'a self,
        call: RecordStoreOperation,
        result: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        StoreFuture::Later(Box::pin(async move {
            let result = result.get().await?;
            (self.hook)(call).await?;
            Ok(result)
        }))
    }
}

impl RecordStore for InterceptedStore {
    fn is_durable(&self) -> bool {
        self.memory.records().is_durable()
    }

    fn insert<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        content: RecordContent,
        owner_max: u32,
    ) -> StoreFuture<'a, InsertResult> {
        let inserted = self.memory.records().insert(kind, key, content, owner_max);
        self.intercept(RecordStoreOperation::Insert, inserted)
    }

    fn replace<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        version: u64,
        content: RecordContent,
    ) -> StoreFuture<'a, Option<u64>> {
        let replaced = self.memory.records().replace(kind, key, version, content);
        self.intercept(RecordStoreOperation::Replace, replaced)
    }

    fn remove<'a>(&'a self, kind: RecordKind, key: &'a str, version: u64) -> StoreFuture<'a, bool> {
        let removed = self.memory.records().remove(kind, key, version);
        self.intercept(RecordStoreOperation::Remove, removed)
    }

    fn get<'a>(&'a self, kind: RecordKind, key: &'a str) -> StoreFuture<'a, Option<Record>> {
        self.intercept(
            RecordStoreOperation::Get,
            self.memory.records().get(kind, key),
        )
    }

    fn due(&self, kind: RecordKind, now_ms: u64, limit: usize) -> StoreFuture<'_, Vec<Record>> {
        let due = self.memory.records().due(kind, now_ms, limit);
        self.intercept(RecordStoreOperation::Due, due)
    }

    fn count(&self, kind: RecordKind) -> StoreFuture<'_, RecordCount> {
        self.intercept(
            RecordStoreOperation::Count,
            self.memory.records().count(kind),
        )
    }

    fn list<'a>(
        &'a self,
        kind: RecordKind,
        after: &'a str,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Record>> {
        let page = self.memory.records().list(kind, after, limit);
        self.intercept(RecordStoreOperation::List, page)
    }
}

impl StateStore for InterceptedStore {
    fn has_other_writers(&self) -> bool {
        true
    }

    fn records(&self) -> &dyn RecordStore {
        self
    }

    fn health(&self) -> StoreHealthReport {
        self.memory.health()
    }

    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        self.memory.remember(caller, id, channel);
    }

    fn find_channel<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<Arc<str>>> {
        self.memory.find_channel(caller, id)
    }

    fn is_of_another<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
        channels: &'a [Arc<str>],
    ) -> StoreFuture<'a, bool> {
        self.memory.is_of_another(caller, id, channels)
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        self.memory.forget(caller, id);
    }

    fn admit<'a>(&'a self, demand: &'a AdmissionRequest<'a>) -> StoreFuture<'a, AdmissionResult> {
        self.memory.admit(demand)
    }

    fn money_used<'a>(&'a self, budget: &'a CounterKey) -> StoreFuture<'a, u64> {
        self.memory.money_used(budget)
    }

    fn settle(&self, ticket: AdmissionTicket, tokens_used: u64) {
        self.memory.settle(ticket, tokens_used);
    }

    fn settle_money(&self, reserved: MoneyReservation, cost: u64) {
        self.memory.settle_money(reserved, cost);
    }

    fn end_run_call(&self, end: RunCallEnd) {
        self.memory.end_run_call(end);
    }

    fn runs<'a>(&'a self, name: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<RunStatus>> {
        self.memory.runs(name, most)
    }

    fn take_per_second<'a>(
        &'a self,
        budget_key: &'a str,
        per_second: u16,
    ) -> StoreFuture<'a, PerSecondDecision> {
        self.memory.take_per_second(budget_key, per_second)
    }

    fn put_note(&self, key: &str, text: &Bytes) {
        self.memory.put_note(key, text);
    }

    fn get_note<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Bytes>> {
        self.memory.get_note(key)
    }
}

/// A store that is always unreachable.
pub struct UnreachableStore(pub OnStoreFailure);

impl StateStore for UnreachableStore {
    fn on_store_failure(&self) -> OnStoreFailure {
        self.0
    }

    fn records(&self) -> &dyn RecordStore {
        &UnavailableRecordStore
    }

    fn health(&self) -> StoreHealthReport {
        StoreHealthReport::down("redis")
    }

    fn remember(&self, _: &Arc<str>, _: &str, _: &Arc<str>) {}

    fn find_channel<'a>(
        &'a self,
        _: &'a Arc<str>,
        _: &'a str,
    ) -> StoreFuture<'a, Option<Arc<str>>> {
        unreachable_store()
    }

    fn is_of_another<'a>(
        &'a self,
        _: &'a Arc<str>,
        _: &'a str,
        _: &'a [Arc<str>],
    ) -> StoreFuture<'a, bool> {
        unreachable_store()
    }

    fn forget(&self, _: &Arc<str>, _: &str) {}

    fn admit<'a>(&'a self, _: &'a AdmissionRequest<'a>) -> StoreFuture<'a, AdmissionResult> {
        unreachable_store()
    }

    fn money_used<'a>(&'a self, _: &'a CounterKey) -> StoreFuture<'a, u64> {
        unreachable_store()
    }

    fn settle(&self, _: AdmissionTicket, _: u64) {
        panic!("nothing was admitted");
    }

    fn settle_money(&self, _: MoneyReservation, _: u64) {
        panic!("nothing was admitted");
    }

    fn end_run_call(&self, _: RunCallEnd) {}

    fn runs<'a>(&'a self, _: Option<&'a str>, _: usize) -> StoreFuture<'a, Vec<RunStatus>> {
        unreachable_store()
    }

    fn take_per_second<'a>(&'a self, _: &'a str, _: u16) -> StoreFuture<'a, PerSecondDecision> {
        unreachable_store()
    }

    fn put_note(&self, _: &str, _: &Bytes) {}

    fn get_note<'a>(&'a self, _: &'a str) -> StoreFuture<'a, Option<Bytes>> {
        unreachable_store()
    }
}

fn unreachable_store<'a, T: Send + 'a>() -> StoreFuture<'a, T> {
    StoreFuture::Later(Box::pin(async { Err(StoreUnavailable("gone".into())) }))
}

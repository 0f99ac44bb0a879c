//! Records of a store that could not be opened: every operation fails.

use super::{InsertResult, Record, RecordContent, RecordCount, RecordKind, RecordStore};
use crate::state::{StoreFuture, StoreUnavailable};

/// The records of a store that could not be opened. Memory does not replace them: paid work would be lost without an
/// error.
#[derive(Default)]
pub struct UnavailableRecordStore;

impl RecordStore for UnavailableRecordStore {
    fn is_durable(&self) -> bool {
        false
    }

    fn insert<'a>(
        &'a self,
        _: RecordKind,
        _: &'a str,
        _: RecordContent,
        _: u32,
    ) -> StoreFuture<'a, InsertResult> {
        unavailable()
    }

    fn replace<'a>(
        &'a self,
        _: RecordKind,
        _: &'a str,
        _: u64,
        _: RecordContent,
    ) -> StoreFuture<'a, Option<u64>> {
        unavailable()
    }

    fn remove<'a>(&'a self, _: RecordKind, _: &'a str, _: u64) -> StoreFuture<'a, bool> {
        unavailable()
    }

    fn get<'a>(&'a self, _: RecordKind, _: &'a str) -> StoreFuture<'a, Option<Record>> {
        unavailable()
    }

    fn due(&self, _: RecordKind, _: u64, _: usize) -> StoreFuture<'_, Vec<Record>> {
        unavailable()
    }

    fn count(&self, _: RecordKind) -> StoreFuture<'_, RecordCount> {
        unavailable()
    }

    fn list<'a>(&'a self, _: RecordKind, _: &'a str, _: usize) -> StoreFuture<'a, Vec<Record>> {
        unavailable()
    }
}

fn unavailable<'a, T>() -> StoreFuture<'a, T> {
    let reason = "the configured state store could not be opened when the process started";
    StoreFuture::Ready(Err(StoreUnavailable(reason.into())))
}

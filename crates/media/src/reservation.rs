//! The right of one gateway to write the object of a record.

use super::object::{ObjectRecord, StoredObject};
use object_store::path::Path;

/// A record that this gateway may write the object of.
pub(super) struct WriteReservation {
    pub key: String,
    pub version: u64,
    pub record: ObjectRecord,
    /// The object of an earlier write that was not completed or that is being removed.
    pub stale_object: Option<Path>,
}

pub(super) enum ReservationResult {
    Stored(StoredObject),
    Write(WriteReservation),
    /// Another request writes the object, or the record changed at the same time.
    Busy,
}

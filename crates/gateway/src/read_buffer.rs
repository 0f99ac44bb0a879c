//! The memory that connections read into. While nothing arrives, which is most of the time of a stream, a connection has
//! none; it reads into the spare buffer of its thread.

use bytes::BytesMut;
use std::cell::Cell;

thread_local! {
    /// Empty, with the room of an earlier read.
    static SPARE: Cell<Option<BytesMut>> = const { Cell::new(None) };
}

/// Makes room for `bytes` in `buffer`, with the spare memory of this thread if it has none of its own.
pub fn take_room(buffer: &mut BytesMut, bytes: usize) {
    if buffer.capacity() == 0 {
        *buffer = SPARE.take().unwrap_or_default();
    }
    if buffer.capacity() - buffer.len() < bytes / 2 {
        buffer.reserve(bytes);
    }
}

/// Leaves the memory of an empty `buffer` to the next read of this thread.
pub fn give_room_back(buffer: &mut BytesMut) {
    if buffer.is_empty() {
        SPARE.set(Some(std::mem::take(buffer)));
    }
}

//! Lists of items as JSON texts with commas between them.

use bytes::BytesMut;

/// Appends items to a list that begins with `[`.
pub(super) fn append_items(list: &mut BytesMut, items: &[u8]) {
    if items.is_empty() {
        return;
    }
    if !list.ends_with(b"[") {
        list.extend_from_slice(b",");
    }
    list.extend_from_slice(items);
}

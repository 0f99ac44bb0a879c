//! Inspects the frames and header blocks of a client's HTTP/2 connection, before a library parses them.

mod field;
mod frame;
mod header_block;
mod hpack;
mod huffman;
mod inspector;
mod output;
mod static_table;
mod stream_states;
#[cfg(test)]
mod tests;

pub use field::{FIELDS_MAX, MalformedHeadReason};
pub use inspector::{Http2Inspector, MALFORMED};
pub use output::OutputFrameTracker;

//! WebSockets of callers (RFC 6455): the handshake, messages within limits, and the responses protocol over them.

pub mod close;
pub mod connection;
mod frame_reader;
pub mod handshake;
pub mod response_parts;
pub mod responses;

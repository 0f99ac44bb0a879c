//! WebSockets (RFC 6455): the handshakes, messages within limits, the responses protocol over them, and sessions of the realtime
//! protocol between a caller and a provider.

pub mod close;
pub mod connection;
pub mod frame_reader;
pub mod handshake;
mod ping_timer;
pub mod provider_handshake;
pub mod realtime;
mod refusal;
pub mod response_parts;
pub mod responses;
pub mod subprotocols;

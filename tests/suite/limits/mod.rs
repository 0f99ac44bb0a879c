//! What callers may take: limits, connections, time, memory, and the state that counts it.

mod callers;
mod client_disconnects;
mod crowds;
mod deadlines;
mod request_heads;
mod shared_limits;
mod slow_readers;
mod spooling;
mod state;

//! What callers may take: limits, connections, time, memory, and the state that counts it.

mod callers;
mod crowds;
mod deadlines;
mod fleet;
mod heads;
mod leaving;
mod slow_readers;
mod spooling;
mod state;

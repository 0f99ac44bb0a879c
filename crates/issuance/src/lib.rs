//! Callers that the admin pages make: their sealed records in the state store, and the replica of these in each gateway.

pub mod change;
mod change_log;
mod idempotency;
pub mod issuance;
pub mod issued_caller;
pub mod lookup;
pub mod new_key;
pub mod replica;
mod request_body;
mod synchronise;

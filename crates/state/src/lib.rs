//! The state stores: in memory, in a file of SQLite, in Redis.

pub mod feature;
pub mod open;
pub mod redis_store;
pub mod sqlite_store;
#[cfg(test)]
mod tests;

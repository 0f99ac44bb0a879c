//! The log of prompts: what callers send and get on routes with `log_prompts`, stored in buckets or sent to collectors.
//!
//! A request never waits for it. When an exchange has ended, its record is put into the queue of its sink, which has a
//! limit in bytes; what has no room is dropped and counted. One task for each sink writes batches of records in the
//! background, again until they are stored. Queues outlive snapshots, so that a reload loses nothing.

pub mod feature;

mod batch;
mod body;
mod body_redaction;
mod build;
mod config;
mod event_text;
mod filter;
mod findings;
mod metrics;
mod otlp;
mod queue;
mod record;
mod sink;
mod worker;

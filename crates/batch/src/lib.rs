//! Batches: the check of their requests, which stand in a file or in a list, before a provider gets them.

mod batch_charge;
mod batch_record;
mod batch_usage;
mod check_queue;
mod checked_batch;
mod claimed_owner;
mod counters;
pub mod feature;
mod file_record;
pub mod filter;
mod poller;
mod recorded_money;
mod request_place;
mod requests;
mod results;
mod rules;
mod settlement;

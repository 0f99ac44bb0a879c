//! Whole gateways under simulation: each schedule of faults is determined by a seed, and ends with the same invariants.
//!
//! `HEADGATE_SCHEDULE_SEED=7 cargo test --test simulation` runs the schedule of seed 7 and prints its trace;
//! `HEADGATE_SCHEDULES=100000` runs more of them.

mod audit;
mod books;
mod callback_audit;
mod callers;
mod clock;
mod config;
mod counts;
mod http;
mod ledger;
mod life;
mod process_copy;
mod provider;
mod random;
mod receiver;
mod schedule;
mod schedules;
mod socket;
mod store;
mod world;

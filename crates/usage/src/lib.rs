//! What callers, models and channels have used, by day: recorded in memory, stored, and reported.

pub mod feature;

mod config;
mod counts;
mod day;
mod page;
mod query;
mod report;
mod settings;
mod stored_rows;
mod totals;
mod writer;

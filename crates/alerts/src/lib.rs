//! Alerts: findings that begin and end, sent to receivers of operators.

pub mod feature;

mod announced;
mod announced_record;
mod build;
mod config;
mod deliveries;
mod event;
mod page;
mod queue;
mod receiver;
mod records;
mod sender;
mod unstored;
mod worker;

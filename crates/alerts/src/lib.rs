//! Alerts: findings that begin and end, sent to receivers of operators.

pub mod feature;

mod build;
mod config;
mod event;
mod page;
mod queue;
mod receiver;
mod records;
mod sender;
mod worker;

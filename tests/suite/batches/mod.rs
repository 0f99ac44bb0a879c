//! Tests of batches: each request is checked as if it came alone, and a batch is made once, by who uploaded its file.

mod budget_ends;
mod budget_holders;
mod budgets;
mod busy_checks;
mod creates;
mod files;
mod limits;
mod message_batches;
mod model_access;
mod refused_files;
mod refused_requests;
mod settlement;
mod unread;

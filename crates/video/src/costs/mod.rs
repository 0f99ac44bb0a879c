//! Costs of video tasks: what a create reserves is stored until the task has ended, and then settled once.
//!
//! The record of a reservation is the right to settle it: of all gateways that see the end of a task, the one that removes
//! the record counts the difference. The gateway asks for ends that no caller asks for. A task whose end is never seen costs
//! what was reserved.

mod metrics;
mod poll_times;
mod poller;
mod reservation;
mod reserve;
mod settle;
#[cfg(test)]
mod tests;

pub(crate) use metrics::TaskCostMetrics;
pub use metrics::{TaskCostAccounts, TaskCostChanges};
pub(crate) use poller::TaskCostPoller;
pub use reservation::TaskCostReservation;
pub use reserve::reserve;
pub use settle::settle;

//! Tests of observability: the admin pages, the metrics, the access log, the process log.

mod admin;
mod alerts;
mod captures;
mod channel_commands;
mod charges;
mod command_setup;
mod costs;
mod dashboard;
mod debug_commands;
mod dependency_faults;
mod fault_signs;
mod faults;
mod findings;
mod log_fields;
mod log_filter;
mod log_levels;
mod long_reloads;
mod metrics_page;
mod planted_fault;
mod prometheus;
mod prompt_log;
mod prompt_log_faults;
pub mod status;
mod task_costs;
mod top;
#[cfg(target_os = "linux")]
mod top_hang_up;
mod top_terminal;
mod usage;

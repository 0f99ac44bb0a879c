//! Tests of observability: the admin pages, the metrics, the access log, the process log.

mod admin;
mod costs;
mod dashboard;
mod findings;
mod log_fields;
mod log_levels;
mod metrics_page;
mod prometheus;
mod status;
mod top;
#[cfg(target_os = "linux")]
mod top_terminal;

//! What operators see: the admin pages, the metrics, the access log, the log of the process.

mod admin;
mod log_fields;
mod log_levels;
mod metrics_page;

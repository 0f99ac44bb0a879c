//! Tests of observability: the admin pages, the metrics, the access log, the process log.

mod admin;
mod log_fields;
mod log_levels;
mod metrics_page;
mod status;

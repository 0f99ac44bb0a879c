//! What the gateway reports about itself: metrics, the access log and the process log.

pub mod access_log;
mod admin_metrics;
pub mod bounded;
mod callback_metrics;
mod caller_metrics;
pub mod captures;
mod certificate_metrics;
pub mod channel_metrics;
pub mod cost_metrics;
mod create_metrics;
pub mod error_side;
pub mod finished_exchange;
mod json_line;
pub mod line_writer;
pub mod log_filter;
mod log_target;
mod media_metrics;
pub mod metrics;
pub mod open_requests;
#[cfg(feature = "wasm")]
pub mod plugin_custom_metrics;
#[cfg(feature = "wasm")]
mod plugin_metrics;
mod poll_metrics;
pub mod process_log;
pub mod process_metrics;
pub mod recent_requests;
mod registration;
mod response_cache_metrics;
mod service_metrics;
pub mod spool_metrics;
mod state_metrics;
pub mod timestamp;
mod token_metrics;
pub mod token_path;
mod trace_metrics;
pub mod traffic;
pub mod wait_times;

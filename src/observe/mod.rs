//! What the gateway tells about itself: metrics and the access log.

pub mod access_log;
pub mod channel_metrics;
pub mod line_writer;
pub mod metrics;
mod poll_metrics;
mod state_metrics;
pub mod time_spent;

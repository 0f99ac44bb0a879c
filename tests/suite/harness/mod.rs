//! The test harness: real processes, real sockets, and clients that see every byte.

pub mod accounts;
pub mod admin;
pub mod aws_account;
pub mod batch_budgets;
pub mod batches;
pub mod caching;
pub mod certificates;
pub mod closed_port;
pub mod collector;
pub mod config;
pub mod connection;
pub mod earlier_version;
pub mod error_shape;
pub mod folder;
pub mod forms;
pub mod frames;
pub mod free_port;
pub mod gateway;
pub mod hostile_models;
pub mod hostile_urls;
pub mod http2;
pub mod http2_frames;
pub mod http2_provider;
pub mod http_response;
pub mod images;
pub mod issuance;
pub mod log_store;
pub mod media;
pub mod media_files;
pub mod name_server;
pub mod native_apis;
pub mod otlp;
pub mod outbound_proxy;
pub mod paid;
pub mod path_models;
pub mod patient_redis;
pub mod plugins;
pub mod process;
pub mod prometheus;
pub mod receiver;
#[path = "../../../crates/state/src/tests/redis_server.rs"]
pub mod redis_server;
pub mod repetitions;
pub mod request;
pub mod s3;
pub mod scripted;
pub mod service;
pub mod session_provider;
pub mod signed_vendors;
pub mod simulator;
pub mod slow_client;
pub mod state_file;
pub mod test_setup;
pub mod tls_setup;
pub mod token_endpoint;
pub mod token_issuer;
pub mod upload_provider;
pub mod upload_world;
pub mod vendors;
pub mod video;
pub mod websocket;
pub mod whole_streams;

pub use accounts::Accounts;
pub use connection::{Connection, OpenResponse, WholeResponse};
pub use gateway::Gateway;
pub use http2::Http2;
pub use redis_server::RedisServer;
pub use request::{Request, body_of, path_of};
pub use scripted::{ScriptedProvider, ScriptedResponse};
pub use simulator::Simulator;
pub use test_setup::TestSetup;
pub use tls_setup::TlsTestSetup;
pub use websocket::WebSocketClient;

use headgate_protocol::Protocol;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The three text protocols, for tables.
pub const PROTOCOLS: [Protocol; 3] = [Protocol::Chat, Protocol::Messages, Protocol::Responses];

/// The timeout of every wait, far longer than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Polls `look` until it returns something.
///
/// # Panics
/// If it returned nothing within [`PATIENCE`].
pub async fn eventually<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    eventually_within(PATIENCE, what, look).await
}

/// Like [`eventually`], for what takes longer.
pub async fn eventually_within<T>(
    patience: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let until = Instant::now() + patience;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < until, "never came: {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Milliseconds of `CLOCK_MONOTONIC`, the clock of the simulated provider's records.
pub fn monotonic_millis() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the whole call, and the clock exists on every Unix.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000 + now.tv_nsec as u64 / 1_000_000
}

//! Limits of an application that the gateway serves itself.

use headgate_config::snapshot::server::ServerLimits;
use std::time::Duration;

/// Limits of an application's listener.
#[derive(Clone, Copy, Debug)]
pub struct HttpAppServerLimits {
    /// Maximum size of a request body in bytes; larger ones get 413.
    pub body_bytes_max: u64,
    /// Maximum number of connections. A further one takes the place of the one that has waited longest for its client,
    /// and is closed if all serve requests.
    pub connections: usize,
    /// Maximum size of the request line and header fields together.
    pub header_bytes: usize,
    /// From the first byte of a request to the end of its head; also for the TLS handshake.
    pub header_timeout: Duration,
    /// From the head of a request to the end of its body.
    pub body_timeout: Duration,
    /// For a client to read a piece of a response.
    pub write_timeout: Duration,
    /// From the start of a connection, or the end of a response, to the first byte of a request.
    pub keep_alive_timeout: Duration,
}

impl HttpAppServerLimits {
    /// Limits of the admin pages, whose requests have small bodies or none, with the defaults of `server.limits`.
    pub const ADMIN: Self = Self {
        body_bytes_max: 64 << 10,
        connections: 256,
        header_bytes: 64 << 10,
        header_timeout: Duration::from_secs(15),
        body_timeout: Duration::from_secs(60),
        write_timeout: Duration::from_secs(30),
        keep_alive_timeout: Duration::from_secs(60),
    };

    /// Limits of the admin pages, with the deadlines of callers where they are shorter.
    pub fn admin(callers: &ServerLimits) -> Self {
        let Self {
            header_timeout,
            body_timeout,
            write_timeout,
            keep_alive_timeout,
            ..
        } = Self::ADMIN;
        Self {
            header_timeout: header_timeout.min(callers.header_timeout),
            body_timeout: body_timeout.min(callers.body_timeout),
            write_timeout: write_timeout.min(callers.write_timeout),
            keep_alive_timeout: keep_alive_timeout.min(callers.keep_alive_timeout),
            ..Self::ADMIN
        }
    }
}

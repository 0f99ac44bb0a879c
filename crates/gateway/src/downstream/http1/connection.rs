//! Serves the requests of an HTTP/1.1 connection, one after the other.

use super::Http1ServerSession;
use super::read_error::Http1ReadError;
use crate::listen::drain_state::DrainStageWatch;
use pingora_core::protocols::Stream;
use pingora_core::server::ShutdownWatch;
use std::time::Duration;

/// Limits of a connection.
pub struct Http1ConnectionLimits {
    /// Maximum size of a head, in bytes.
    pub head_bytes_max: usize,
    /// Maximum time from the start of the wait for a head to its first byte.
    pub idle_timeout: Duration,
    /// Maximum time from the first byte of a head to its end.
    pub head_timeout: Duration,
    /// Maximum time for the client to take a piece of a response.
    pub write_timeout: Duration,
}

/// What responds to the requests of one connection.
pub trait Http1Service {
    /// The limits for the next request, which a reload may have changed.
    fn limits(&self) -> Http1ConnectionLimits;

    /// Responds to a request whose head was read; returns its connection if that can carry another one.
    async fn respond(
        &mut self,
        session: Box<Http1ServerSession>,
    ) -> Option<Box<Http1ServerSession>>;

    /// Responds to a request whose head could not be read, and closes its connection.
    async fn refuse(&self, session: Box<Http1ServerSession>, error: Http1ReadError);
}

/// Serves a connection until it ends, or until `shutdown` and its last request.
pub async fn serve_connection(
    mut service: impl Http1Service,
    stream: Stream,
    shutdown: &ShutdownWatch,
) {
    let mut closing = DrainStageWatch::new(shutdown.clone());
    let write_timeout = service.limits().write_timeout;
    let mut session = Box::new(Http1ServerSession::new(stream, write_timeout));
    loop {
        match session.read_head(service.limits(), &mut closing).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return service.refuse(session, error).await,
        }
        if *shutdown.borrow() {
            session.close_after_response();
        }
        match service.respond(session).await {
            Some(next) => session = next,
            None => return,
        }
    }
}

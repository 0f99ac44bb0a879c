//! Serves accepted client connections, and closes those that send no request.

use super::http2::{Http2Reader, InspectedConnection};
use super::worker_gateways::ConnectionWorker;
use crate::downstream::http1::connection::serve_connection;
use crate::service::GatewayClientConnection;
use crate::timers::fast_sleep;
use crate::unrouted_request::UnroutedRequest;
use async_trait::async_trait;
use headgate_config::snapshot::server::ServerLimits;
use http::HeaderMap;
use pingora_core::apps::{HttpServerOptions, ServerApp};
use pingora_core::protocols::{ALPN, Stream};
use pingora_core::server::ShutdownWatch;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Serves client connections on one worker.
pub(super) struct ClientConnectionServer {
    worker: ConnectionWorker,
    options: Arc<HttpServerOptions>,
    keep_alive_timeout: Duration,
}

impl ClientConnectionServer {
    pub fn new(worker: ConnectionWorker, limits: &ServerLimits) -> Self {
        let keep_alive_timeout = limits.keep_alive_timeout;
        let mut options = HttpServerOptions::default();
        options.h2_idle_timeout = Some(keep_alive_timeout);
        Self {
            worker,
            options: Arc::new(options),
            keep_alive_timeout,
        }
    }

    fn http2_reader(&self, peer: Option<SocketAddr>) -> Http2Reader {
        let gateway = self.worker.gateway().clone();
        let snapshot = gateway.reloader.current();
        let limits = &snapshot.server.limits;
        Http2Reader::new(limits.header_bytes, limits.header_timeout, move || {
            UnroutedRequest::log_large_head(
                &gateway,
                gateway.resolve_client(peer, &HeaderMap::new()),
            )
        })
    }
}

#[async_trait]
impl ServerApp for ClientConnectionServer {
    async fn process_new(
        self: &Arc<Self>,
        connection: Stream,
        shutdown: &ShutdownWatch,
    ) -> Option<Stream> {
        let is_h2 = matches!(connection.selected_alpn_proto(), Some(ALPN::H2));
        let (worker, options) = (self.worker.clone(), self.options.clone());
        let peer = peer_address(&connection);
        let app = GatewayClientConnection::new(worker, options, peer);
        if !is_h2 {
            serve_connection(app.into_http1(), connection, shutdown).await;
            return None;
        }
        let app = Arc::new(app);
        let connection = InspectedConnection::boxed(connection, self.http2_reader(peer));
        tokio::select! {
            biased;
            over = app.process_new(connection, shutdown) => over,
            () = idle_timeout(&app, self.keep_alive_timeout) => None,
        }
    }
}

/// The address of the peer: from the PROXY header if there is one.
fn peer_address(connection: &Stream) -> Option<SocketAddr> {
    let digest = connection.get_socket_digest()?;
    digest.peer_addr()?.as_inet().copied()
}

/// Waits until `keep_alive_timeout` has passed without a request: Pingora itself sets no timeout for the start of HTTP/2.
async fn idle_timeout(app: &GatewayClientConnection, keep_alive_timeout: Duration) {
    fast_sleep(keep_alive_timeout).await;
    if app.has_begun() {
        pending::<()>().await;
    }
}

//! Turns the requests of a caller's connection into exchanges.

mod realtime;
mod websocket;

use super::downstream::DownstreamSession;
use super::downstream::early_reply::ConnectionAfterExchange;
use super::downstream::http1::Http1ServerSession;
use super::downstream::http1::connection::{Http1ConnectionLimits, Http1Service};
use super::downstream::http1::read_error::Http1ReadError;
use super::downstream::session::CallerSession;
use super::exchange::Exchange;
use super::exchange::record::ExchangeRecord;
use super::listen::caller_connections::CallerConnectionGuard;
use super::listen::drain_state::DrainStageWatch;
use super::listen::worker_gateways::ConnectionWorker;
use super::routing_fault::{method_not_allowed, unknown_path};
use super::unrouted_request::UnroutedRequest;
use super::{Gateway, fault_from, head, request_id};
use async_trait::async_trait;
use headgate_channel::retry_policy::RetryPolicy;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::{Route, RouteMatch};
use headgate_core::catalog::caller::client_certificate::CallerCertificate;
use headgate_core::catalog::client_address::DownstreamClient;
use headgate_core::filter::stream_info::ExchangeTraceId;
use headgate_core::filter::view::RequestView;
use headgate_core::subrequest::SubrequestClient;
use headgate_event_stream::CallerStreamFraming;
use headgate_observe::open_requests::OpenRequestLabels;
use headgate_websocket::handshake::asks_for_websocket;
use http::HeaderMap;
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::v2::server::{H2Options, default_h2_options};
use pingora_core::server::ShutdownWatch;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use websocket::RoutedHandshake;

/// Flow control window of an HTTP/2 stream, in bytes: how much of a body a caller may send before it is read. With the
/// default of 64 KiB, a body of several megabytes would take a hundred round trips.
const STREAM_WINDOW: u32 = 512 << 10;
/// Flow control window of an HTTP/2 connection, in bytes.
const CONNECTION_WINDOW: u32 = 4 << 20;
/// Maximum size of the data that waits to be sent on a stream to a slow caller, in bytes.
const SEND_BUFFER: usize = 32 << 10;

/// The gateway, as seen by one client connection.
pub struct GatewayClientConnection {
    /// The worker that serves the connection.
    worker: ConnectionWorker,
    options: Arc<HttpServerOptions>,
    begun: AtomicBool,
    connection_quota: CallerConnectionGuard,
    /// Address of the connection's peer.
    peer: Option<SocketAddr>,
}

/// The requests of an HTTP/1.1 connection, one after the other.
pub struct GatewayHttp1Service {
    connection: Arc<GatewayClientConnection>,
    /// Watches for the drain deadline, for all requests of the connection.
    aborted: DrainStageWatch,
}

#[async_trait]
impl HttpServerApp for GatewayClientConnection {
    async fn process_new_http(
        self: &Arc<Self>,
        session: ServerSession,
        _shutdown: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        self.begun.store(true, Ordering::Relaxed);
        // Connections of HTTP/1.1 never reach Pingora's server.
        if let ServerSession::H2(session) = session {
            let session = CallerSession::Http2(Box::new(session));
            self.serve_stream(session).await;
        }
        None
    }

    fn h2_options(&self) -> Option<H2Options> {
        let snapshot = self.worker.gateway().reloader.current();
        let header_size = snapshot.server.limits.header_bytes;
        let mut options = default_h2_options();
        options
            .max_header_list_size(u32::try_from(header_size).unwrap_or(u32::MAX))
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buffer_size(SEND_BUFFER);
        Some(options)
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        Some(&self.options)
    }
}

impl Http1Service for GatewayHttp1Service {
    fn limits(&self) -> Http1ConnectionLimits {
        // An idle connection must not keep an old configuration in memory.
        let snapshot = self.connection.worker.gateway().reloader.peek();
        let limits = &snapshot.server.limits;
        Http1ConnectionLimits {
            head_bytes_max: limits.header_bytes,
            idle_timeout: limits.keep_alive_timeout,
            head_timeout: limits.header_timeout,
            write_timeout: limits.write_timeout,
        }
    }

    async fn respond(
        &mut self,
        session: Box<Http1ServerSession>,
    ) -> Option<Box<Http1ServerSession>> {
        let session = CallerSession::Http1(session);
        let gateway = self.connection.worker.gateway();
        let serving = self.connection.serve(gateway, session, &mut self.aborted);
        serving.await
    }

    async fn refuse(&self, session: Box<Http1ServerSession>, error: Http1ReadError) {
        let gateway = self.connection.worker.gateway();
        let snapshot = gateway.reloader.current();
        let client = gateway.resolve_client(self.connection.peer, &HeaderMap::new());
        let refusal = UnroutedRequest::for_unreadable_head(gateway, &snapshot, client);
        let fault = fault_from::http1_read(error);
        refusal.send_unread(session, &fault).await;
    }
}

impl GatewayClientConnection {
    pub fn new(
        worker: ConnectionWorker,
        options: Arc<HttpServerOptions>,
        peer: Option<SocketAddr>,
    ) -> Self {
        let caller_connections = worker.gateway().caller_connections.clone();
        let connection_quota = CallerConnectionGuard::new(caller_connections);
        Self {
            worker,
            options,
            connection_quota,
            begun: AtomicBool::new(false),
            peer,
        }
    }

    /// The connection as one of HTTP/1.1.
    pub fn into_http1(self) -> GatewayHttp1Service {
        GatewayHttp1Service {
            aborted: self.worker.gateway().drain_state.aborted(),
            connection: Arc::new(self),
        }
    }

    /// Whether the connection has started a request.
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Serves a stream of HTTP/2 on the worker of its connection, or on another one if that is busy.
    async fn serve_stream(self: &Arc<Self>, session: CallerSession) {
        let gateway = self.worker.gateway();
        let mut aborted = gateway.drain_state.aborted();
        let stream = self.worker.all.workers.place_stream(self.worker.index);
        let Some(index) = stream.elsewhere else {
            self.serve(gateway, session, &mut aborted).await;
            return;
        };
        gateway.metrics.streams_moved().inc();
        let connection = self.clone();
        let serving = async move {
            let gateway = &connection.worker.all.gateways[index];
            connection.serve(gateway, session, &mut aborted).await;
        };
        stream.run(serving).await;
    }

    /// Serves a request whose head was read, with the gateway of the worker that runs it; returns its connection if that
    /// can carry another one.
    pub(super) async fn serve(
        self: &Arc<Self>,
        gateway: &Arc<Gateway>,
        mut session: CallerSession,
        aborted: &mut DrainStageWatch,
    ) -> Option<Box<Http1ServerSession>> {
        // The configuration may have changed while the connection was idle.
        let snapshot = gateway.reloader.current();
        session.set_write_timeout(snapshot.server.limits.write_timeout);
        // Boxed, so that the part that outlives the exchange on an HTTP/2 stream is small; built where it stays.
        let mut exchange = Box::into_pin(Box::write(
            Box::new_uninit(),
            self.exchange(gateway, session, snapshot),
        ));
        let remainder = poll_fn(|context| match exchange.as_mut().poll(context) {
            // The exchange notices that the drain deadline has passed.
            Poll::Pending if aborted.poll_reached(context) => exchange.as_mut().poll(context),
            polled => polled,
        });
        let remainder = remainder.await;
        drop(exchange);
        match remainder {
            ConnectionAfterExchange::WebSocket(accepted) => {
                self.serve_websocket(gateway, accepted).await;
                None
            }
            remainder => remainder.finish().await,
        }
    }

    async fn exchange(
        &self,
        gateway: &Arc<Gateway>,
        mut session: CallerSession,
        snapshot: Arc<Snapshot>,
    ) -> ConnectionAfterExchange {
        let _in_flight = gateway.metrics.in_flight().guard();
        let id = request_id::new();
        let client = gateway.resolve_client(self.peer, &session.head().headers);
        let refusal = |id| UnroutedRequest {
            gateway,
            snapshot: &snapshot,
            id,
            client,
        };
        let target = match head::check(&mut session) {
            Ok(target) => target,
            Err(fault) => return refusal(id).send(session, fault, HeaderMap::new()).await,
        };
        if let Some((route, settings, params)) = websocket::find_route(&snapshot, &session, &target)
        {
            let handshake = RoutedHandshake {
                route: route.clone(),
                settings,
                params,
                snapshot,
                target,
                id,
                client,
            };
            // Boxed, so that this rare case does not enlarge the future of every exchange.
            return Box::pin(self.accept_websocket(gateway, session, handshake)).await;
        }
        let request = session.head();
        let (route, params) = match snapshot.router.find(&request.method, &target.path) {
            RouteMatch::Route(route, _) if websocket::needs_upgrade(route, &session) => {
                let (fault, headers) = websocket::upgrade_required();
                return refusal(id).send(session, fault, headers).await;
            }
            RouteMatch::Route(route, params) => (route.clone(), params),
            RouteMatch::OtherMethods(methods) => {
                if asks_for_websocket(session.head()) {
                    // Boxed, so that this rare case does not enlarge the future of every exchange.
                    return Box::pin(refusal(id).send_upgrade_required(session, &methods)).await;
                }
                let (fault, headers) = method_not_allowed(&request.method, &methods);
                return refusal(id).send(session, fault, headers).await;
            }
            RouteMatch::Nothing => {
                let fault = head::check_unrouted(&target)
                    .err()
                    .unwrap_or_else(|| unknown_path(&snapshot, &request.method, &target.path));
                return refusal(id).send(session, fault, HeaderMap::new()).await;
            }
        };
        let method = request.method.clone();
        let drain_state = gateway.drain_state.clone();
        let (downstream, headers) = DownstreamSession::new(session, drain_state);
        let view = RequestView::new(
            id,
            method,
            target.path,
            target.query,
            headers,
            params,
            route.protocol,
        );
        // The exchange is dropped before the connection is finished, so that both use the same memory of this future.
        let (downstream, is_broken) = {
            let mut exchange =
                self.begin_exchange(gateway, downstream, snapshot, route, view, client);
            exchange.run().await;
            (exchange.downstream, exchange.record.broken)
        };
        match is_broken {
            true => Box::pin(downstream.abort()).await,
            false => downstream.finish().await,
        }
    }

    /// The exchange of a request that has a route. Not asynchronous: the future of `exchange` would contain the parts of
    /// the exchange a second time.
    pub(super) fn begin_exchange<'a>(
        &'a self,
        gateway: &'a Arc<Gateway>,
        mut downstream: DownstreamSession,
        snapshot: Arc<Snapshot>,
        route: Arc<Route>,
        mut view: RequestView,
        client: Option<DownstreamClient>,
    ) -> Exchange<'a> {
        let tls = downstream.session().tls();
        view.is_tls = tls.is_some();
        if let Some(certificate) = tls
            .as_ref()
            .and_then(|tls| tls.extension.get::<CallerCertificate>())
        {
            view.state.set(certificate.clone());
        }
        view.route = route.name.clone();
        view.client = client;
        view.subrequests = Some(SubrequestClient::new(gateway.clone(), route.timeouts));
        view.fetch = Some(gateway.fetcher.clone());
        let mut record = ExchangeRecord::new();
        if let Some(tracing) = &snapshot.tracing {
            let trace = tracing.begin(&mut view.headers, record.started);
            view.state.set(ExchangeTraceId(*trace.trace_id.bytes()));
            record.trace = Some(trace);
        }
        let details = OpenRequestLabels::new(view.id.clone(), route.name.clone());
        let open = gateway.metrics.open_requests.add(record.started, details);
        // Recorded for nothing if the exchange is exported only because it fails.
        if record
            .trace
            .as_ref()
            .is_some_and(|trace| trace.is_sampled())
        {
            downstream.messages = route.traced_messages.response_recorder(route.protocol);
        }
        downstream.wait_times.open = Some(open.request().clone());
        if let Some(protocol) = route.protocol {
            let framing = protocol.descriptor().caller_framing(&view.path);
            downstream.framing = CallerStreamFraming::new(framing);
        }
        Exchange {
            gateway,
            snapshot,
            route,
            request: view,
            downstream,
            record,
            open,
            retry_policy: RetryPolicy::default(),
            upload: None,
            channel_permit: None,
            connection_quota: &self.connection_quota,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GatewayClientConnection;
    use crate::Gateway;
    use crate::downstream::session::CallerSession;
    use crate::exchange::sizes::future_bytes;
    use headgate_config::snapshot::Snapshot;
    use std::sync::Arc;

    /// In bytes. Every open stream has this future; the sizes of its parts are in `exchange/sizes.rs`.
    const EXCHANGE_BYTES_MAX: usize = 6_850;

    #[test]
    fn the_future_of_a_connections_exchange_stays_within_its_limit() {
        type Call = (
            &'static GatewayClientConnection,
            &'static Arc<Gateway>,
            CallerSession,
            Arc<Snapshot>,
        );
        let bytes = future_bytes(|(connection, gateway, session, snapshot): Call| {
            connection.exchange(gateway, session, snapshot)
        });
        assert!(bytes <= EXCHANGE_BYTES_MAX, "{bytes} bytes");
    }
}

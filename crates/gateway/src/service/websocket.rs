//! WebSockets of callers: the handshake is an exchange without a provider; then each message is an exchange of its own.

use super::GatewayClientConnection;
use crate::Gateway;
use crate::downstream::DownstreamSession;
use crate::downstream::accepted_websocket::AcceptedWebSocket;
use crate::downstream::early_reply::ConnectionAfterExchange;
use crate::downstream::session::CallerSession;
use crate::downstream::websocket_request::{WebSocketOrigin, WebSocketRequestSession};
use crate::head::NormalizedRequestTarget;
use crate::listen::drain_state::until_set;
use crate::unrouted_request::UnroutedRequest;
use bytes::Bytes;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::{PathParameters, Route};
use headgate_core::catalog::client_address::DownstreamClient;
use headgate_core::filter::view::RequestView;
use headgate_core::request_id::RequestId;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_websocket::connection::{WebSocketConnection, WebSocketLimits};
use headgate_websocket::handshake::{WebSocketHandshake, asks_for_websocket};
use headgate_websocket::response_parts::ExchangePartSender;
use headgate_websocket::responses::{ResponsesSocketLimits, SocketExchanges, serve_responses};
use std::pin::Pin;
use std::sync::Arc;

/// Maximum size of a message, in bytes, where the route allows larger bodies: a message stays in memory.
const MESSAGE_BYTES_MAX: u64 = 32 << 20;

/// A handshake at a route that takes WebSockets.
pub(super) struct RoutedHandshake {
    pub snapshot: Arc<Snapshot>,
    pub route: Arc<Route>,
    pub params: PathParameters,
    pub target: NormalizedRequestTarget,
    pub id: RequestId,
    pub client: Option<DownstreamClient>,
}

/// Makes the exchanges of a WebSocket.
struct WebSocketExchanges {
    connection: Arc<GatewayClientConnection>,
    gateway: Arc<Gateway>,
    origin: Arc<WebSocketOrigin>,
}

impl SocketExchanges for WebSocketExchanges {
    fn run(
        &self,
        body: Bytes,
        is_warm_up: bool,
        response: ExchangePartSender,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let request = WebSocketRequestSession::new(self.origin.clone(), body, is_warm_up, response);
        let (connection, gateway) = (self.connection.clone(), self.gateway.clone());
        Box::pin(async move {
            let session = CallerSession::WebSocket(Box::new(request));
            let mut aborted = gateway.drain_state.aborted();
            connection.serve(&gateway, session, &mut aborted).await;
        })
    }
}

/// The route that takes the WebSocket for which a request asks, with the text of its parameters; `None` for another request.
pub(super) fn find_route<'s>(
    snapshot: &'s Snapshot,
    session: &CallerSession,
    target: &NormalizedRequestTarget,
) -> Option<(&'s Arc<Route>, PathParameters)> {
    let asks = asks_for_websocket(session.head());
    asks.then(|| snapshot.router.find_websocket(&target.path))?
}

impl GatewayClientConnection {
    /// Responds to a handshake, whose exchange ends with it.
    pub(super) async fn accept_websocket(
        &self,
        gateway: &Arc<Gateway>,
        session: CallerSession,
        handshake: RoutedHandshake,
    ) -> ConnectionAfterExchange {
        let RoutedHandshake {
            snapshot,
            route,
            params,
            target,
            id,
            client,
        } = handshake;
        let accepted = match WebSocketHandshake::read(session.head()) {
            Ok(accepted) => accepted,
            Err(error) => {
                let refusal = UnroutedRequest {
                    gateway,
                    snapshot: &snapshot,
                    id,
                    client,
                };
                let fault = Fault::new(FaultKind::BadHeader, error.to_string());
                return refusal.send(session, fault, error.response_headers()).await;
            }
        };
        let origin = WebSocketOrigin::new(session.head().clone(), session.tls(), session.peer());
        let method = session.head().method.clone();
        let (downstream, _) = DownstreamSession::new(session, gateway.drain_state.clone());
        // The filters of the route see what they will see of each message.
        let headers = origin.headers().clone();
        let view = RequestView::new(
            id,
            method,
            target.path,
            target.query,
            headers,
            params,
            route.protocol,
        );
        let write_timeout = snapshot.server.limits.write_timeout;
        let settings = route.websocket.unwrap_or_default();
        let mut exchange = self.begin_exchange(gateway, downstream, snapshot, route, view, client);
        let is_accepted = exchange.run_handshake(&accepted).await;
        let (downstream, is_broken) = (exchange.downstream, exchange.record.broken);
        let message_bytes_max = exchange.request.body_limit.min(MESSAGE_BYTES_MAX);
        if !is_accepted {
            return match is_broken {
                true => downstream.abort().await,
                false => downstream.finish().await,
            };
        }
        let CallerSession::Http1(session) = downstream.into_session() else {
            return ConnectionAfterExchange::Nothing;
        };
        let message_bytes_max = usize::try_from(message_bytes_max).unwrap_or(usize::MAX);
        ConnectionAfterExchange::WebSocket(Box::new(AcceptedWebSocket {
            session,
            origin,
            frames: WebSocketLimits {
                message_bytes_max,
                write_timeout,
            },
            limits: ResponsesSocketLimits {
                waiting_bytes_max: message_bytes_max,
                history_bytes_max: settings.history_bytes_max,
                ping_interval: settings.ping_interval,
                age_max: settings.age_max,
            },
        }))
    }

    /// Serves a WebSocket until it ends. Boxed, since its exchanges are those of this connection.
    pub(super) fn serve_websocket(
        self: &Arc<Self>,
        gateway: &Arc<Gateway>,
        accepted: Box<AcceptedWebSocket>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let AcceptedWebSocket {
            session,
            origin,
            frames,
            limits,
        } = *accepted;
        let exchanges = WebSocketExchanges {
            connection: self.clone(),
            gateway: gateway.clone(),
            origin: Arc::new(origin),
        };
        let gateway = gateway.clone();
        Box::pin(async move {
            let open = gateway.metrics.websockets.open();
            let (stream, received) = session.into_tunnel();
            let connection = WebSocketConnection::new(stream, received, frames);
            let stopping = until_set(gateway.drain_state.callers());
            let end = serve_responses(connection, exchanges, limits, stopping).await;
            open.end(end.name());
        })
    }
}

//! WebSockets of callers: the handshake is an exchange without a provider; then each message is an exchange of its own.

use super::GatewayClientConnection;
use crate::Gateway;
use crate::downstream::DownstreamSession;
use crate::downstream::accepted_websocket::{AcceptedMessages, AcceptedSession, AcceptedWebSocket};
use crate::downstream::early_reply::ConnectionAfterExchange;
use crate::downstream::session::CallerSession;
use crate::downstream::websocket_request::{
    WebSocketOrigin, WebSocketRequestPurpose, WebSocketRequestSession,
};
use crate::head::NormalizedRequestTarget;
use crate::listen::drain_state::until_set;
use crate::unrouted_request::UnroutedRequest;
use bytes::Bytes;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::{PathParameters, Route, RouteWebSocketSettings};
use headgate_core::catalog::client_address::DownstreamClient;
use headgate_core::filter::view::RequestView;
use headgate_core::request_id::RequestId;
use headgate_protocol::WebSocketMessages;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_websocket::connection::{WebSocketConnection, WebSocketLimits};
use headgate_websocket::frame_reader::WebSocketPeer;
use headgate_websocket::handshake::{WebSocketHandshake, asks_for_websocket};
use headgate_websocket::realtime::RealtimeLimits;
use headgate_websocket::response_parts::ExchangePartSender;
use headgate_websocket::responses::{ResponsesSocketLimits, SocketExchanges, serve_responses};
use headgate_websocket::subprotocols;
use http::{HeaderMap, HeaderValue, header};
use std::pin::Pin;
use std::sync::Arc;

/// Maximum size of a message, in bytes, where the route allows larger bodies: a message stays in memory.
const MESSAGE_BYTES_MAX: u64 = 32 << 20;

/// A handshake at a route that takes WebSockets.
pub(super) struct RoutedHandshake {
    pub snapshot: Arc<Snapshot>,
    pub route: Arc<Route>,
    pub settings: RouteWebSocketSettings,
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
        let purpose = match is_warm_up {
            true => WebSocketRequestPurpose::WarmUp,
            false => WebSocketRequestPurpose::Request,
        };
        let request = WebSocketRequestSession::new(self.origin.clone(), body, purpose, response);
        let (connection, gateway) = (self.connection.clone(), self.gateway.clone());
        Box::pin(async move {
            let session = CallerSession::WebSocket(Box::new(request));
            let mut aborted = gateway.drain_state.aborted();
            connection.serve(&gateway, session, &mut aborted).await;
        })
    }
}

/// The route that takes the WebSocket for which a request asks, with its settings and the text of its parameters; `None` for
/// another request.
pub(super) fn find_route<'s>(
    snapshot: &'s Snapshot,
    session: &CallerSession,
    target: &NormalizedRequestTarget,
) -> Option<(&'s Arc<Route>, RouteWebSocketSettings, PathParameters)> {
    let asks = asks_for_websocket(session.head());
    let (route, params) = asks.then(|| snapshot.router.find_websocket(&target.path))??;
    Some((route, route.websocket?, params))
}

/// Whether a route takes only WebSockets, and this is a request of HTTP.
pub(super) fn needs_upgrade(route: &Route, session: &CallerSession) -> bool {
    let is_session = |settings: &RouteWebSocketSettings| {
        settings.messages == WebSocketMessages::SessionEvents && !session.is_websocket()
    };
    route.websocket.as_ref().is_some_and(is_session)
}

/// The refusal of a request that [needs an upgrade](needs_upgrade), with the fields that RFC 9110, section 15.5.22 requires.
pub(super) fn upgrade_required() -> (Fault, HeaderMap) {
    let fault = Fault::new(
        FaultKind::UpgradeRequired,
        "this path takes WebSockets over HTTP/1.1 only; connect to it with `wss://`",
    );
    let fields = [
        (header::CONNECTION, HeaderValue::from_static("Upgrade")),
        (header::UPGRADE, HeaderValue::from_static("websocket")),
    ];
    (fault, fields.into_iter().collect())
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
            settings,
            params,
            target,
            id,
            client,
        } = handshake;
        let mut accepted = match WebSocketHandshake::read(session.head()) {
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
        let is_session = settings.messages == WebSocketMessages::SessionEvents;
        if is_session && subprotocols::offers_realtime(&session.head().headers) {
            accepted.select_subprotocol(subprotocols::REALTIME);
        }
        let head = session.head().clone();
        let origin = WebSocketOrigin::new(head, &settings, session.tls(), session.peer());
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
        let mut exchange = self.begin_exchange(gateway, downstream, snapshot, route, view, client);
        let tunnel = match settings.messages {
            WebSocketMessages::Requests => exchange.run_handshake(&accepted).await.then_some(None),
            WebSocketMessages::SessionEvents => exchange.open_session(&accepted).await.map(Some),
        };
        let (downstream, is_broken) = (exchange.downstream, exchange.record.broken);
        let message_bytes_max = exchange.request.body_limit.min(MESSAGE_BYTES_MAX);
        let Some(tunnel) = tunnel else {
            return match is_broken {
                true => downstream.abort().await,
                false => downstream.finish().await,
            };
        };
        let CallerSession::Http1(session) = downstream.into_session() else {
            return ConnectionAfterExchange::Nothing;
        };
        let message_bytes_max = usize::try_from(message_bytes_max).unwrap_or(usize::MAX);
        let RouteWebSocketSettings {
            ping_interval,
            age_max,
            history_bytes_max,
            ..
        } = settings;
        ConnectionAfterExchange::WebSocket(Box::new(AcceptedWebSocket {
            session,
            origin,
            frames: WebSocketLimits {
                message_bytes_max,
                write_timeout,
            },
            messages: match tunnel {
                None => AcceptedMessages::Requests(ResponsesSocketLimits {
                    waiting_bytes_max: message_bytes_max,
                    history_bytes_max,
                    ping_interval,
                    age_max,
                }),
                Some(tunnel) => AcceptedMessages::Session(AcceptedSession {
                    limits: RealtimeLimits {
                        ping_interval,
                        age_max,
                    },
                    tunnel,
                }),
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
            messages,
        } = *accepted;
        let (connection, gateway) = (self.clone(), gateway.clone());
        Box::pin(async move {
            let open = gateway.metrics.websockets.open();
            let end = match messages {
                AcceptedMessages::Session(accepted) => {
                    let serving =
                        connection.serve_session(&gateway, session, origin, frames, accepted);
                    serving.await
                }
                AcceptedMessages::Requests(limits) => {
                    let stopping = until_set(gateway.drain_state.callers());
                    let exchanges = WebSocketExchanges {
                        connection,
                        gateway: gateway.clone(),
                        origin: Arc::new(origin),
                    };
                    let (stream, received) = session.into_tunnel();
                    let peer = WebSocketPeer::Client;
                    let socket = WebSocketConnection::new(stream, peer, received, frames);
                    serve_responses(socket, exchanges, limits, stopping).await
                }
            };
            open.end(end.name());
        })
    }
}

//! Sessions of callers with a provider's own WebSocket: each response is an exchange of its own.

use super::GatewayClientConnection;
use crate::Gateway;
use crate::downstream::accepted_websocket::{AcceptedSession, ProviderTunnel};
use crate::downstream::http1::Http1ServerSession;
use crate::downstream::session::CallerSession;
use crate::downstream::websocket_request::{
    SessionResponse, WebSocketOrigin, WebSocketRequestPurpose, WebSocketRequestSession,
};
use crate::listen::drain_state::until_set;
use bytes::Bytes;
use headgate_channel::lease::ChannelLease;
use headgate_protocol::json::quoted;
use headgate_protocol::mask::SecretMasker;
use headgate_websocket::close::SocketEnd;
use headgate_websocket::connection::{WebSocketConnection, WebSocketLimits};
use headgate_websocket::frame_reader::WebSocketPeer;
use headgate_websocket::realtime::{
    RealtimeExchanges, RealtimeSession, SessionModel, SessionResponseEnd,
};
use headgate_websocket::response_parts::{EVENT_BYTES_MAX, ExchangePartSender};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Makes the exchanges of a session.
struct SessionExchanges {
    connection: Arc<GatewayClientConnection>,
    gateway: Arc<Gateway>,
    origin: Arc<WebSocketOrigin>,
    lease: Arc<ChannelLease>,
    request_body: Bytes,
}

impl RealtimeExchanges for SessionExchanges {
    fn run(
        &self,
        end: oneshot::Receiver<SessionResponseEnd>,
        response: ExchangePartSender,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let lease = self.lease.clone();
        let followed = SessionResponse { lease, end };
        let request = WebSocketRequestSession::new(
            self.origin.clone(),
            self.request_body.clone(),
            WebSocketRequestPurpose::SessionResponse(Some(followed)),
            response,
        );
        let (connection, gateway) = (self.connection.clone(), self.gateway.clone());
        Box::pin(async move {
            let session = CallerSession::WebSocket(Box::new(request));
            let mut aborted = gateway.drain_state.aborted();
            connection.serve(&gateway, session, &mut aborted).await;
        })
    }

    fn mask(&self, message: Bytes) -> Bytes {
        let secrets = self.lease.candidate.channel.mask.current().into_owned();
        let mut masker = SecretMasker::new(secrets);
        let start = masker.push(message);
        match masker.holds_back() {
            false => start,
            true => [start, masker.finish()].concat().into(),
        }
    }
}

impl GatewayClientConnection {
    /// Serves a session until it ends; returns why.
    pub(super) async fn serve_session(
        self: &Arc<Self>,
        gateway: &Arc<Gateway>,
        session: Box<Http1ServerSession>,
        origin: WebSocketOrigin,
        frames: WebSocketLimits,
        accepted: AcceptedSession,
    ) -> SocketEnd {
        let AcceptedSession { limits, tunnel } = accepted;
        let ProviderTunnel {
            stream,
            received,
            lease,
            permit: _permit,
            request_body,
            model,
        } = *tunnel;
        let channel_name = match &lease.candidate.model {
            Some(renamed) => renamed.json.clone(),
            None => quoted(&model),
        };
        let provider_frames = WebSocketLimits {
            message_bytes_max: EVENT_BYTES_MAX,
            write_timeout: frames.write_timeout,
        };
        let provider =
            WebSocketConnection::new(stream, WebSocketPeer::Server, received, provider_frames);
        let (stream, received) = session.into_tunnel();
        let client = WebSocketConnection::new(stream, WebSocketPeer::Client, received, frames);
        let exchanges = SessionExchanges {
            connection: self.clone(),
            gateway: gateway.clone(),
            origin: Arc::new(origin),
            lease: Arc::new(lease),
            request_body,
        };
        let model = SessionModel {
            name: model,
            channel_name,
        };
        let session = RealtimeSession::new(client, provider, model, exchanges);
        let stopping = until_set(gateway.drain_state.callers());
        session.serve(limits, stopping).await
    }
}

//! Exchanges of WebSockets without a provider: handshakes, of which the filters see the head, and warm-ups, which they check like
//! any request.

use super::Exchange;
use crate::reply;
use headgate_core::filter::LocalReply;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_websocket::handshake::WebSocketHandshake;
use headgate_websocket::responses::warm_up::WarmUpResponse;
use http::{HeaderValue, StatusCode, header};

impl Exchange<'_> {
    /// Runs the exchange to its end and settles it; returns whether the connection carries a WebSocket from now on.
    pub async fn run_handshake(&mut self, handshake: &WebSocketHandshake) -> bool {
        let responded = self.accept(handshake).await;
        let status = self.downstream.session().response_status();
        let is_accepted = responded.is_ok() && status == Some(StatusCode::SWITCHING_PROTOCOLS);
        let settlement = match responded {
            Ok(settlement) => settlement,
            Err(fault) => self.fail(self.request.with_callers_names(fault)).await,
        };
        self.settle(settlement);
        is_accepted
    }

    async fn accept(
        &mut self,
        handshake: &WebSocketHandshake,
    ) -> Result<ExchangeSettlement, Fault> {
        if let Some(settlement) = self.admit_handshake().await? {
            return Ok(settlement);
        }
        self.switch_protocols(handshake).await?;
        Ok(ExchangeSettlement::GatewayReply)
    }

    /// Shows the filters the head of a handshake; returns the settlement if one of them has replied.
    ///
    /// # Errors
    /// The handshake is refused.
    pub(super) async fn admit_handshake(&mut self) -> Result<Option<ExchangeSettlement>, Fault> {
        let is_from_page = self.request.headers.contains_key(header::ORIGIN);
        let flow = self.run_on_head().await?;
        if let Some(settlement) = self.send_filter_reply(flow).await? {
            return Ok(Some(settlement));
        }
        // Browsers let any page open a WebSocket, and send their cookies with it.
        let mut filters = self.request.response_headers.iter();
        if is_from_page && !filters.any(|(name, _)| *name == header::ACCESS_CONTROL_ALLOW_ORIGIN) {
            return Err(Fault::new(
                FaultKind::Forbidden,
                "web pages of this origin may not open WebSockets here; ask the operator of this gateway to allow it",
            ));
        }
        Ok(None)
    }

    /// Sends 101 (Switching Protocols).
    ///
    /// # Errors
    /// The client is gone.
    pub(super) async fn switch_protocols(
        &mut self,
        handshake: &WebSocketHandshake,
    ) -> Result<(), Fault> {
        self.release_permits();
        let mut headers = handshake.response_headers();
        reply::complete_head(&mut headers, self.request.protocol, &self.request);
        let status = StatusCode::SWITCHING_PROTOCOLS;
        self.record.status = Some(status);
        self.downstream.write_head(status, headers).await
    }

    /// The response to a request that only prepares a conversation.
    pub(super) fn warm_up(&self) -> Result<LocalReply, Fault> {
        let model = self.request.model().map(|model| model.name.clone());
        let response =
            WarmUpResponse::new(model.as_deref().unwrap_or_default()).map_err(|error| {
                Fault::new(FaultKind::Internal, "internal error; try again")
                    .detail(error.to_string())
            })?;
        let stream = HeaderValue::from_static("text/event-stream");
        Ok(LocalReply {
            status: StatusCode::OK,
            headers: [(header::CONTENT_TYPE, stream)].into_iter().collect(),
            body: response.stream,
        })
    }
}

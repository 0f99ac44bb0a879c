//! The exchange of a WebSocket handshake: the filters see its head, and no provider is asked.

use super::Exchange;
use crate::reply;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_websocket::handshake::WebSocketHandshake;
use http::{StatusCode, header};

impl Exchange<'_> {
    /// Runs the exchange to its end and settles it; returns whether the connection carries a WebSocket from now on.
    pub async fn run_handshake(&mut self, handshake: &WebSocketHandshake) -> bool {
        let settlement = match self.accept(handshake).await {
            Ok(settlement) => settlement,
            Err(fault) => self.fail(self.request.with_callers_names(fault)).await,
        };
        self.settle(settlement);
        self.downstream.session().response_status() == Some(StatusCode::SWITCHING_PROTOCOLS)
    }

    async fn accept(
        &mut self,
        handshake: &WebSocketHandshake,
    ) -> Result<ExchangeSettlement, Fault> {
        let is_from_page = self.request.headers.contains_key(header::ORIGIN);
        let flow = self.run_on_head().await?;
        if let Some(settlement) = self.send_filter_reply(flow).await? {
            return Ok(settlement);
        }
        // Browsers let any page open a WebSocket, and send their cookies with it.
        let mut filters = self.request.response_headers.iter();
        if is_from_page && !filters.any(|(name, _)| *name == header::ACCESS_CONTROL_ALLOW_ORIGIN) {
            return Err(Fault::new(
                FaultKind::Forbidden,
                "web pages of this origin may not open WebSockets here; ask the operator of this gateway to allow it",
            ));
        }
        let mut headers = handshake.response_headers();
        reply::complete_head(&mut headers, self.request.protocol, &self.request);
        let status = StatusCode::SWITCHING_PROTOCOLS;
        self.record.status = Some(status);
        self.downstream.write_head(status, headers).await?;
        Ok(ExchangeSettlement::GatewayReply)
    }
}

//! The handshake of a session with a provider's own WebSocket: an exchange that ends with 101 on both sides.

use super::Exchange;
use super::attempt_verdict::LeasedResponse;
use super::attempts::AttemptLoop;
use super::reply_plan::ReplyPlan;
use crate::downstream::accepted_websocket::ProviderTunnel;
use crate::upstream::response::UpstreamResponse;
use bytes::Bytes;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits, quoted};
use headgate_websocket::handshake::WebSocketHandshake;
use headgate_websocket::provider_handshake::ProviderHandshake;
use headgate_websocket::realtime::SessionQuery;
use http::StatusCode;

/// What a handshake has led to.
enum SessionHandshakeResult {
    Opened(Box<ProviderTunnel>),
    Settled(ExchangeSettlement),
}

impl Exchange<'_> {
    /// Runs the exchange to its end and settles it; returns the provider's WebSocket if the caller's is open, too.
    pub async fn open_session(
        &mut self,
        handshake: &WebSocketHandshake,
    ) -> Option<Box<ProviderTunnel>> {
        let (settlement, tunnel) = match self.connect_session(handshake).await {
            Ok(SessionHandshakeResult::Opened(tunnel)) => {
                (ExchangeSettlement::Complete, Some(tunnel))
            }
            Ok(SessionHandshakeResult::Settled(settlement)) => (settlement, None),
            Err(fault) => {
                let fault = self.request.with_callers_names(fault);
                (self.fail(fault).await, None)
            }
        };
        self.settle(settlement);
        tunnel
    }

    async fn connect_session(
        &mut self,
        handshake: &WebSocketHandshake,
    ) -> Result<SessionHandshakeResult, Fault> {
        if let Some(settlement) = self.admit_handshake().await? {
            return Ok(SessionHandshakeResult::Settled(settlement));
        }
        let query = self.request.query.take().unwrap_or_default();
        let SessionQuery { model, others } = SessionQuery::parse(&query)?;
        self.request.query = others;
        let body = request_body(&model);
        let document = JsonDocument::parse(body.clone(), &JsonLimits::default())?;
        self.request.receive_body(RequestBody::Json(document));
        let route = self.route.clone();
        let flow = self.run_on_body(&route).await?;
        if let Some(settlement) = self.send_filter_reply(flow).await? {
            return Ok(SessionHandshakeResult::Settled(settlement));
        }
        let for_provider = ProviderHandshake::new().map_err(|error| {
            Fault::new(FaultKind::Internal, "internal error; try again").detail(error.to_string())
        })?;
        self.request.state.set(for_provider);
        let leased = self.attempt().await?;
        // A 101 that opens nothing has another plan.
        let is_open = matches!(leased.plan, ReplyPlan::Response);
        if !is_open || leased.response.status != StatusCode::SWITCHING_PROTOCOLS {
            let settlement = self.pass_on(leased).await?;
            return Ok(SessionHandshakeResult::Settled(settlement));
        }
        let LeasedResponse {
            response,
            mut lease,
            ..
        } = *leased;
        self.record_outcome(&mut lease, response.status, &Ok(()));
        let permit = lease.take_permit();
        self.switch_protocols(handshake).await?;
        let Some((stream, received)) = response.into_tunnel() else {
            return Err(Fault::new(FaultKind::Internal, "internal error; try again"));
        };
        Ok(SessionHandshakeResult::Opened(Box::new(ProviderTunnel {
            stream,
            received,
            lease,
            permit,
            request_body: body,
            model,
        })))
    }
}

impl AttemptLoop<'_> {
    /// Why a response to the handshake of a session opens none; `Ok` if it does.
    ///
    /// # Errors
    /// The reason, for the log.
    pub(super) fn check_acceptance(&self, response: &UpstreamResponse) -> Result<(), String> {
        let handshake = self.request.state.get::<ProviderHandshake>();
        match (response.status, handshake) {
            (StatusCode::SWITCHING_PROTOCOLS, Some(handshake)) => handshake
                .check(response.headers())
                .map_err(|error| error.to_string()),
            _ => Err("the provider accepts a WebSocket handshake without opening one".to_owned()),
        }
    }
}

/// The request of which filters see the model: that of a handshake, and that of each response of its session.
fn request_body(model: &str) -> Bytes {
    [&br#"{"model":"#[..], &quoted(model), b"}"].concat().into()
}

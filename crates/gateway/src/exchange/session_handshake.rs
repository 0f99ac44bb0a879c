//! The handshake of a session with a provider's own WebSocket: an exchange that ends with 101 on both sides.

use super::Exchange;
use super::attempt_verdict::LeasedResponse;
use super::attempts::AttemptLoop;
use super::reply_plan::ReplyPlan;
use super::session_attempt::MODEL;
use crate::downstream::accepted_websocket::ProviderTunnel;
use crate::upstream::response::UpstreamResponse;
use bytes::Bytes;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits, quoted};
use headgate_protocol::percent_encoding::decoded;
use headgate_websocket::handshake::WebSocketHandshake;
use headgate_websocket::provider_handshake::ProviderHandshake;
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
        let model = take_model(&mut self.request)?;
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

/// Takes the model out of the query, where the provider's name for it will stand.
///
/// # Errors
/// The query names no model or several, or asks for what is no session of a model.
fn take_model(request: &mut RequestView) -> Result<String, Fault> {
    let query = request.query.take().unwrap_or_default();
    let mut models = Vec::new();
    let mut others = Vec::new();
    for member in query.split('&').filter(|member| !member.is_empty()) {
        let (name, value) = member.split_once('=').unwrap_or((member, ""));
        let refusal = match &*decoded(name) {
            MODEL => {
                models.push(decoded(value).into_owned());
                continue;
            }
            "call_id" => Some("sessions of calls are not served here; connect with `model`"),
            "intent" if decoded(value) == "transcription" => {
                Some("sessions that only transcribe are not served here; connect without `intent`")
            }
            _ => None,
        };
        if let Some(message) = refusal {
            let name = decoded(name).into_owned();
            return Err(Fault::new(FaultKind::Invalid, message).param(name));
        }
        others.push(member);
    }
    request.query = (!others.is_empty()).then(|| others.join("&"));
    let (kind, message) = match models.as_slice() {
        [model] if !model.is_empty() => return Ok(models.swap_remove(0)),
        [] | [_] => (
            FaultKind::Missing,
            "the query must name the model, as in `/v1/realtime?model=NAME`",
        ),
        _ => (FaultKind::Invalid, "the query names more than one model"),
    };
    Err(Fault::new(kind, message).param(MODEL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, Method};

    fn request(query: Option<&str>) -> RequestView {
        RequestView::new(
            "req_1".into(),
            Method::GET,
            "/v1/realtime".to_owned(),
            query.map(str::to_owned),
            HeaderMap::new(),
            Vec::new(),
            None,
        )
    }

    #[test]
    fn the_query_names_exactly_one_model_however_it_is_written() {
        for (query, model, rest) in [
            ("model=voice", "voice", None),
            ("a=b&model=gpt%2Drealtime&c", "gpt-realtime", Some("a=b&c")),
            (
                "mod%65l=voice&&intent=conversation",
                "voice",
                Some("intent=conversation"),
            ),
        ] {
            let mut request = request(Some(query));
            assert_eq!(take_model(&mut request).unwrap(), model, "{query}");
            assert_eq!(request.query.as_deref(), rest, "{query}");
        }
        for (query, kind, param) in [
            (None, FaultKind::Missing, "model"),
            (Some("model="), FaultKind::Missing, "model"),
            (Some("model=a&mod%65l=b"), FaultKind::Invalid, "model"),
            (Some("model=a&call_id=rtc_1"), FaultKind::Invalid, "call_id"),
            (Some("intent=transcription"), FaultKind::Invalid, "intent"),
        ] {
            let fault = take_model(&mut request(query)).unwrap_err();
            assert_eq!(
                (fault.kind, fault.param.as_deref()),
                (kind, Some(param)),
                "{query:?}"
            );
        }
    }
}

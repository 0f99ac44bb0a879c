//! One response of a session: an exchange whose request is checked like any other, and whose response is that of the session.

use super::Exchange;
use crate::downstream::websocket_request::SessionResponse;
use crate::reply;
use headgate_channel::clock::MonotonicTime;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::UsageReport;
use headgate_core::filter::view::{EventAction, EventView, ResponseBodyKind, ResponseView};
use headgate_protocol::fault::Fault;
use headgate_protocol::json::skim;
use headgate_protocol::sse::SseEvent;
use headgate_websocket::realtime::{SessionResponseEnd, SessionResponseEnding};
use http::{HeaderMap, StatusCode};
use std::pin::pin;

impl Exchange<'_> {
    /// Lets the response begin, and waits for its end.
    ///
    /// # Errors
    /// The session has ended.
    pub(super) async fn follow_session(
        &mut self,
        response: SessionResponse,
    ) -> Result<ExchangeSettlement, Fault> {
        let SessionResponse { lease, end } = response;
        let candidate = &lease.candidate;
        self.record.candidate = Some(candidate.clone());
        self.record.attempts = 1;
        self.record.key = lease.key;
        self.record.attempt_began = MonotonicTime::now();
        self.record.streamed = true;
        self.record.status = Some(StatusCode::OK);
        let mut headers = HeaderMap::new();
        let chain = &self.route.response;
        let mut view = ResponseView {
            request: &mut self.request,
            candidate: Some(candidate),
            status: StatusCode::OK,
            headers: &mut headers,
            kind: ResponseBodyKind::Stream,
        };
        chain.on_response_head(&mut view).await?;
        reply::complete_head(&mut headers, self.request.protocol, &self.request);
        self.downstream.write_head(StatusCode::OK, headers).await?;
        let ended = self.downstream.until_client_gone(pin!(end)).await?;
        // A session that has ended without a word.
        let ended = ended.unwrap_or(SessionResponseEnd {
            ending: SessionResponseEnding::ClientLeft,
            deltas: 0,
        });
        let SessionResponseEnd { ending, deltas } = ended;
        self.request.info.events += deltas;
        self.request.info.may_have_cost = ending != SessionResponseEnding::Refused;
        if let SessionResponseEnding::Done(event) | SessionResponseEnding::Cancelled(event) =
            &ending
        {
            chain.observe_event(&mut EventView {
                request: &mut self.request,
                candidate: Some(candidate),
                event: &SseEvent::encoded(None, event),
                action: EventAction::Pass,
            });
        }
        chain.on_response_end(&mut self.request);
        if let Some(usage) = self.request.info.usage.counted() {
            lease.count_tokens(usage.total());
        }
        self.release_permits();
        self.downstream.write(Default::default(), true).await?;
        Ok(self.session_settlement(&ending))
    }

    fn session_settlement(&mut self, ending: &SessionResponseEnding) -> ExchangeSettlement {
        match ending {
            SessionResponseEnding::Done(event) if has_failed(event) => {
                ExchangeSettlement::UpstreamError
            }
            SessionResponseEnding::Done(_) => self.settlement_for(StatusCode::OK),
            SessionResponseEnding::Refused => {
                self.request.info.usage = UsageReport::NotMetered;
                ExchangeSettlement::UpstreamError
            }
            SessionResponseEnding::Cancelled(_) | SessionResponseEnding::ClientLeft => {
                ExchangeSettlement::ClientCancelled
            }
            SessionResponseEnding::ProviderEnded => ExchangeSettlement::UpstreamCut,
        }
    }
}

/// Whether `response.done` reports a failure of the provider.
fn has_failed(event: &[u8]) -> bool {
    skim::find_string(event, &["response", "status"]) == Some("failed")
}

//! How a create ended, derived from the stream info and the settlement of its exchange.

use super::recorded_response::recorded_headers;
use crate::journal::{CreateEnd, RecordedBody, RecordedResponse};
use headgate_core::filter::LocalReply;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::{StreamInfo, UpstreamProcessing};
use headgate_core::filter::view::RequestView;
use headgate_core::state::money::{ChannelCreateReservation, CreateReservation};

/// Whether the caller received the whole response.
pub(super) fn is_delivered(settlement: ExchangeSettlement) -> bool {
    matches!(
        settlement,
        ExchangeSettlement::Complete
            | ExchangeSettlement::UsageMissing
            | ExchangeSettlement::UsageImplausible
    )
}

/// How a create ended of which no response is recorded. `is_received` is whether the gateway received all of it.
pub(super) fn unrecorded_end(
    info: &StreamInfo,
    is_received: bool,
    settlement: ExchangeSettlement,
) -> CreateEnd {
    let is_delivered = is_delivered(settlement);
    match info.processing {
        UpstreamProcessing::Unsent | UpstreamProcessing::Refused => CreateEnd::NotMade,
        // A body that was too large for filters was delivered without them. The recording of another one was cancelled
        // if the process is ending.
        UpstreamProcessing::Accepted if is_received || is_delivered => CreateEnd::Accepted {
            // A stream's is added when it is stored.
            response: None,
            response_id: info.response_id.clone(),
            is_delivered,
        },
        UpstreamProcessing::Accepted | UpstreamProcessing::Unknown => {
            let id = info.upstream_request_id.as_ref();
            CreateEnd::OutcomeUnknown {
                upstream_request_id: id
                    .map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
            }
        }
    }
}

/// Keeps what a create of unknown outcome has reserved of budgets in money, until an operator settles it: its record has it.
pub(super) fn keep_reservations(request: &mut RequestView) {
    if let Some(reserved) = request.state.get_mut::<CreateReservation>() {
        reserved.keep();
    }
    if let Some(reserved) = request.state.get_mut::<ChannelCreateReservation>() {
        reserved.take();
    }
}

/// How a create ended whose caller was denied the response: later requests with the key get the same denial, since the
/// provider has made what was requested.
pub(super) fn denied_end(
    info: &StreamInfo,
    denial: LocalReply,
    settlement: ExchangeSettlement,
) -> CreateEnd {
    CreateEnd::Accepted {
        response: Some(RecordedResponse {
            status: denial.status.as_u16(),
            headers: recorded_headers(&denial.headers),
            body: RecordedBody::Inline { bytes: denial.body },
        }),
        response_id: info.response_id.clone(),
        is_delivered: matches!(
            settlement,
            ExchangeSettlement::GatewayReply | ExchangeSettlement::Denied
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_received_response_makes_a_create_known() {
        let mut info = StreamInfo {
            response_id: Some("task_1".into()),
            ..StreamInfo::default()
        };
        for (processing, is_received, settlement, expected) in [
            (
                UpstreamProcessing::Unsent,
                false,
                ExchangeSettlement::GatewayReply,
                "not_made",
            ),
            (
                UpstreamProcessing::Refused,
                false,
                ExchangeSettlement::UpstreamError,
                "not_made",
            ),
            (
                UpstreamProcessing::Unknown,
                false,
                ExchangeSettlement::UpstreamError,
                "outcome_unknown",
            ),
            (
                UpstreamProcessing::Accepted,
                false,
                ExchangeSettlement::UpstreamCut,
                "outcome_unknown",
            ),
            (
                UpstreamProcessing::Accepted,
                false,
                ExchangeSettlement::Complete,
                "accepted",
            ),
            // The process ends while the response is being stored.
            (
                UpstreamProcessing::Accepted,
                true,
                ExchangeSettlement::GatewayReply,
                "accepted",
            ),
        ] {
            info.processing = processing;
            let end = unrecorded_end(&info, is_received, settlement);
            assert_eq!(end.name(), expected, "{processing:?}, {settlement:?}");
            if let CreateEnd::Accepted {
                response_id,
                is_delivered,
                ..
            } = end
            {
                assert_eq!(response_id.as_deref(), Some("task_1"));
                assert_eq!(is_delivered, settlement == ExchangeSettlement::Complete);
            }
        }
    }
}

//! Claims the key of a request, which is then sent, gets the response to the first request, or an error.

use super::recorded_response::{ReplayBodyEndFlag, replay};
use super::{IdempotencyFilter, KEY, UpstreamIdempotencyKey, fault, fingerprint};
use crate::journal::{CreateRequest, JournalError, KeyClaim, KeyedRequest, ResponseReplay};
use headgate_core::filter::FilterAction;
use headgate_core::filter::stream_info::IdempotencyOutcome;
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::Fault;
use http::HeaderMap;
use std::sync::Arc;

/// The replay of a response that is not known to have reached a caller before.
pub(super) struct FirstDeliveryReplay {
    pub record_key: Arc<str>,
    pub version: u64,
    /// A body that could not be read to its end was not delivered.
    pub body_end: ReplayBodyEndFlag,
}

impl IdempotencyFilter {
    /// Claims the key of a request.
    ///
    /// # Errors
    /// The request may not be sent, and there is no response for it.
    pub(super) async fn claim(
        &self,
        request: &mut RequestView,
        create: CreateRequest,
        keyed: KeyedRequest,
    ) -> Result<FilterAction, Fault> {
        let claim = self
            .journal
            .claim(&self.state, &create, &keyed, self.limits)
            .await;
        let (outcome, action) = match claim {
            Ok(KeyClaim::FirstRequest(entry)) => {
                let key = fingerprint::upstream_key(&keyed.record_key, &keyed.fingerprint);
                request.state.set(UpstreamIdempotencyKey(key));
                request.state.set(entry);
                request.detaches = true;
                (IdempotencyOutcome::First, Ok(FilterAction::Continue))
            }
            Ok(KeyClaim::Response(response)) => {
                self.replay(request, keyed.record_key, response).await
            }
            Ok(KeyClaim::ResponseNotKept { request_id }) => (
                IdempotencyOutcome::ResponseNotKept,
                Err(fault::response_not_kept(&request_id)),
            ),
            Ok(KeyClaim::OutcomeUnknown { request_id }) => (
                IdempotencyOutcome::OutcomeUnknown,
                Err(fault::outcome_unknown(&request_id)),
            ),
            Ok(KeyClaim::OtherRequest) => (IdempotencyOutcome::KeyReused, Err(fault::key_reused())),
            Ok(KeyClaim::InFlight) => (IdempotencyOutcome::KeyInUse, Err(fault::key_in_use())),
            Err(error @ JournalError::Full { .. }) => {
                (IdempotencyOutcome::KeysFull, Err(fault::not_stored(error)))
            }
            Err(error) => (IdempotencyOutcome::NotStored, Err(fault::not_stored(error))),
        };
        request.info.idempotency = Some(outcome);
        action
    }

    /// The reply with a recorded response.
    async fn replay(
        &self,
        request: &mut RequestView,
        record_key: Arc<str>,
        recorded: ResponseReplay,
    ) -> (IdempotencyOutcome, Result<FilterAction, Fault>) {
        let ResponseReplay {
            response,
            request_id,
            undelivered,
        } = recorded;
        let body_end = ReplayBodyEndFlag::default();
        match replay(&self.bodies, response, &body_end).await {
            Ok(Some(action)) => {
                if let Some(version) = undelivered {
                    let replay = FirstDeliveryReplay {
                        record_key,
                        version,
                        body_end,
                    };
                    request.state.set(replay);
                }
                (IdempotencyOutcome::Replayed, Ok(action))
            }
            Ok(None) => (
                IdempotencyOutcome::ResponseNotKept,
                Err(fault::response_not_kept(&request_id)),
            ),
            Err(fault) => (IdempotencyOutcome::NotStored, Err(fault)),
        }
    }
}

/// The caller's key, if it sent one.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Fault> {
    const BYTES_MAX: usize = 255;
    let mut keys = headers.get_all(KEY).iter();
    let Some(key) = keys.next() else {
        return Ok(None);
    };
    let is_visible = |key: &str| key.bytes().all(|byte| byte.is_ascii_graphic());
    match (key.to_str(), keys.next()) {
        (Ok(key), None) if (1..=BYTES_MAX).contains(&key.len()) && is_visible(key) => Ok(Some(key)),
        (_, None) => Err(fault::invalid_key(key.len())),
        (_, Some(_)) => Err(fault::repeated_key()),
    }
}

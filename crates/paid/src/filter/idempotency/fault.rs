//! The errors of `idempotency`.

use crate::journal::JournalError;
use headgate_protocol::fault::{Fault, FaultKind};
use std::time::Duration;

/// `retry-after` for a duplicate whose first request is still in flight.
const IN_USE_RETRY: Duration = Duration::from_secs(5);
/// `retry-after` for a caller with the maximum number of keys, the oldest of which may expire at any time.
const KEYS_FULL_RETRY: Duration = Duration::from_secs(60);
const PARAM: &str = "idempotency-key";

pub(super) fn invalid_key(length: usize) -> Fault {
    Fault::new(
        FaultKind::BadHeader,
        format!("the header `Idempotency-Key` must be 1 to 255 visible ASCII characters without spaces; received {length} bytes; send for example a UUID"),
    )
    .param(PARAM)
}

pub(super) fn repeated_key() -> Fault {
    Fault::new(
        FaultKind::BadHeader,
        "the header `Idempotency-Key` is repeated; send it once",
    )
    .param(PARAM)
}

pub(super) fn key_reused() -> Fault {
    Fault::new(
        FaultKind::KeyReused,
        "this `Idempotency-Key` was used for another request; send each new request with a new key",
    )
    .param(PARAM)
}

pub(super) fn key_in_use() -> Fault {
    Fault::new(
        FaultKind::KeyInUse,
        "the first request with this `Idempotency-Key` is still being processed; send the same request with the same key again later",
    )
    .param(PARAM)
    .retry_after(IN_USE_RETRY)
}

pub(super) fn response_not_kept(request_id: &str) -> Fault {
    Fault::new(
        FaultKind::AnswerNotKept,
        format!("the first request with this `Idempotency-Key`, {request_id}, succeeded, and its response is not kept; the request was not sent again; ask the operator for the response by that request id, or send a new key to make and pay another one"),
    )
    .param(PARAM)
}

pub(super) fn outcome_unknown(request_id: &str) -> Fault {
    let mut fault = Fault::new(
        FaultKind::OutcomeUnknown,
        format!("outcome unknown: the provider may have processed and billed the first request with this `Idempotency-Key`, {request_id}; it was not sent again; check by that request id before you send it with a new key"),
    )
    .param(PARAM);
    fault.forbids_retry = true;
    fault
}

/// The create may not be sent, since it is not stored.
pub(super) fn not_stored(error: JournalError) -> Fault {
    match error {
        JournalError::TakenOver => key_in_use(),
        JournalError::Full { keys_max } => Fault::new(
            FaultKind::Overloaded,
            format!("this API key has {keys_max} stored `Idempotency-Key`s, its maximum; the request was not sent; try again when older ones have expired"),
        )
        .retry_after(KEYS_FULL_RETRY)
        .detail(error.to_string()),
        JournalError::Ending => Fault::new(
            FaultKind::Ending,
            "the gateway is restarting; the request was not sent; try again",
        ),
        JournalError::Store(_) | JournalError::Unreadable(_) | JournalError::Ended => Fault::new(
            FaultKind::Overloaded,
            "the gateway cannot store that it sends this request, and did not send it; try again",
        )
        .source(error),
    }
}

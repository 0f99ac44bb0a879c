//! Every row of the retry table, and whether SDKs may retry.

use super::AttemptFailureClass::{
    self, Broken, ClientError, CutShort, Drained, EmbeddedError, ErrorEvent, ForeignBody, Redirect,
    ServerError, StaleConnection, TimedOut, Unreadable, UnreadableSuccess, Unsent,
};
use super::FinalReplyKind::{
    self, AccountRefused, InvalidResponse, OutcomeUnknown, PaidFailure, ProviderError,
};
use super::NextAttempt::{Candidate, FreshConnection, Stop};
use super::RetrySafety::{self, Background, Free, Paid, Stored, Streamed};
use super::{NextAttempt, RetryDecision, RetryPolicy};
use bytes::Bytes;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::view::RequestView;
use headgate_protocol::error_class::ErrorClass;
use headgate_protocol::error_class::ErrorClass::{
    ContentPolicy, ContextTooLong, InvalidRequest, ModelNotFound, Overloaded, RateLimited,
    RefusedAccount, RefusedCredential,
};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::{ChannelProtocol, Protocol};
use http::{HeaderMap, Method};

const BLAMES: [ErrorClass; 9] = ErrorClass::ALL;
const CALLERS: [ErrorClass; 3] = [InvalidRequest, ContextTooLong, ContentPolicy];
const UNPAID: [RetrySafety; 3] = [Free, Stored, Background];

fn decision(safety: RetrySafety, end: AttemptFailureClass) -> RetryDecision {
    let on_timeout = true;
    RetryPolicy { safety, on_timeout }.decision(end)
}

fn is(
    safety: RetrySafety,
    end: AttemptFailureClass,
    next: NextAttempt,
    reply: FinalReplyKind,
    sdk_may_retry: bool,
) {
    let expected = RetryDecision {
        next,
        reply,
        sdk_may_retry,
    };
    assert_eq!(decision(safety, end), expected, "{safety:?} {end:?}");
}

fn all_ends() -> Vec<AttemptFailureClass> {
    let mut ends = vec![
        Unsent,
        StaleConnection,
        Broken,
        TimedOut,
        Drained,
        CutShort,
        Redirect,
        ForeignBody,
        Unreadable,
        UnreadableSuccess,
    ];
    for error_class in BLAMES {
        ends.extend([
            ClientError(error_class),
            ServerError(error_class),
            ErrorEvent(error_class),
            EmbeddedError(error_class),
        ]);
    }
    ends
}

/// The rows for paid requests.
#[test]
fn a_paid_request_fails_over_only_when_nothing_was_sent() {
    // No connection, a failed TLS handshake, or no byte of the request written.
    is(Paid, Unsent, Candidate, FinalReplyKind::Fault, true);
    // 429, or a 4xx with a code that lets another channel be tried.
    for error_class in [RateLimited, Overloaded, ModelNotFound] {
        is(
            Paid,
            ClientError(error_class),
            Candidate,
            ProviderError,
            true,
        );
    }
    for error_class in [RefusedCredential, RefusedAccount] {
        is(
            Paid,
            ClientError(error_class),
            Candidate,
            AccountRefused,
            false,
        );
    }
    // Any other 4xx.
    for error_class in CALLERS.into_iter().chain([ErrorClass::ServerError]) {
        is(Paid, ClientError(error_class), Stop, ProviderError, false);
    }
    // 5xx, or a reset or timeout after a byte was written.
    for error_class in BLAMES {
        is(Paid, ServerError(error_class), Stop, PaidFailure, false);
    }
    for end in [StaleConnection, Broken, TimedOut, Drained] {
        is(Paid, end, Stop, OutcomeUnknown, false);
    }
    is(Paid, CutShort, Stop, PaidFailure, false);
    // 200 without a readable id.
    is(Paid, Unreadable, Stop, FinalReplyKind::Fault, false);
    is(Paid, ForeignBody, Stop, InvalidResponse, false);
    is(Paid, UnreadableSuccess, Stop, InvalidResponse, false);
    // An error under a success status.
    for error_class in [InvalidRequest, RateLimited, ErrorClass::ServerError] {
        is(
            Paid,
            EmbeddedError(error_class),
            Stop,
            InvalidResponse,
            false,
        );
    }
    is(Paid, Redirect, Stop, FinalReplyKind::Fault, false);
    let goes_on = |end: &AttemptFailureClass| decision(Paid, *end).next != Stop;
    let on: Vec<AttemptFailureClass> = all_ends().into_iter().filter(goes_on).collect();
    assert_eq!(on.len(), 6, "{on:?}");
}

#[test]
fn errors_of_the_provider_fail_over_unless_the_request_is_paid() {
    for safety in UNPAID {
        for end in [ClientError, ServerError, ErrorEvent, EmbeddedError] {
            for error_class in CALLERS {
                is(safety, end(error_class), Stop, ProviderError, true);
            }
            for error_class in [
                RateLimited,
                Overloaded,
                ErrorClass::ServerError,
                ModelNotFound,
            ] {
                is(safety, end(error_class), Candidate, ProviderError, true);
            }
            for error_class in [RefusedCredential, RefusedAccount] {
                is(safety, end(error_class), Candidate, AccountRefused, true);
            }
        }
        for end in [Redirect, ForeignBody] {
            is(safety, end, Candidate, FinalReplyKind::Fault, true);
        }
        is(safety, Unreadable, Stop, FinalReplyKind::Fault, true);
    }
}

#[test]
fn a_request_that_may_be_processing_is_retried_only_when_free() {
    for (end, free, stored, background) in [
        (Unsent, Candidate, Candidate, Candidate),
        (StaleConnection, FreshConnection, FreshConnection, Stop),
        (Broken, Candidate, Candidate, Stop),
        (TimedOut, Candidate, Stop, Stop),
        (UnreadableSuccess, Candidate, Stop, Stop),
        (Drained, Stop, Stop, Stop),
        (CutShort, Stop, Stop, Stop),
    ] {
        for (safety, next) in [(Free, free), (Stored, stored), (Background, background)] {
            is(safety, end, next, FinalReplyKind::Fault, true);
        }
    }
    for safety in [Free, Stored, Background, Streamed] {
        let patient = RetryPolicy {
            safety,
            on_timeout: false,
        };
        let decision = patient.decision(TimedOut);
        let expected = (Stop, FinalReplyKind::TimedOut, false);
        let found = (decision.next, decision.reply, decision.sdk_may_retry);
        assert_eq!(found, expected, "{safety:?}");
        assert!(patient.decision(Unsent).sdk_may_retry, "{safety:?}");
    }
}

#[test]
fn a_streamed_body_is_sent_once() {
    for end in all_ends() {
        let next = if end == Unsent { Candidate } else { Stop };
        let reply = match end {
            ClientError(RefusedCredential | RefusedAccount)
            | ServerError(RefusedCredential | RefusedAccount)
            | ErrorEvent(RefusedCredential | RefusedAccount)
            | EmbeddedError(RefusedCredential | RefusedAccount) => AccountRefused,
            ClientError(_) | ServerError(_) | ErrorEvent(_) | EmbeddedError(_) => ProviderError,
            _ => FinalReplyKind::Fault,
        };
        is(Streamed, end, next, reply, true);
    }
}

#[test]
fn only_paid_requests_forbid_sdk_retries() {
    for safety in [Free, Stored, Background, Streamed, Paid] {
        for end in all_ends() {
            let decision = decision(safety, end);
            assert!(
                decision.sdk_may_retry || safety == Paid,
                "{safety:?} {end:?}"
            );
            let fault = decision.fault(Fault::new(FaultKind::Upstream, "try again"));
            assert_eq!(fault.forbids_retry, !decision.sdk_may_retry);
            let (kind, asks_again) = match decision.reply {
                OutcomeUnknown => (FaultKind::OutcomeUnknown, false),
                InvalidResponse => (FaultKind::UnreadableResponse, false),
                PaidFailure => (FaultKind::Upstream, false),
                FinalReplyKind::TimedOut => (FaultKind::Upstream, false),
                FinalReplyKind::Fault | ProviderError | AccountRefused => {
                    (FaultKind::Upstream, true)
                }
            };
            assert_eq!(fault.kind, kind, "{safety:?} {end:?}");
            assert_eq!(
                fault.message == "try again",
                asks_again,
                "{safety:?} {end:?}"
            );
        }
    }
}

#[test]
fn an_error_without_a_code_stops_a_paid_request_and_still_warns_of_paying_twice() {
    use headgate_protocol::error_class::ErrorEvidence::{Status, Text};
    for (end, evidence, reply) in [
        (ServerError(RefusedAccount), Text, PaidFailure),
        (EmbeddedError(ModelNotFound), Status, InvalidResponse),
        (ClientError(RefusedAccount), Text, ProviderError),
        (ClientError(ModelNotFound), Status, ProviderError),
    ] {
        let policy = RetryPolicy {
            safety: Paid,
            ..RetryPolicy::default()
        };
        let decision = policy.decision_about(end, evidence, false);
        let expected = RetryDecision {
            next: Stop,
            reply,
            sdk_may_retry: false,
        };
        assert_eq!(decision, expected, "{end:?} {evidence:?}");
    }
}

#[test]
fn the_protocols_of_the_channels_decide_and_not_the_callers() {
    let path = "/v1/chat/completions".to_owned();
    let (method, headers) = (Method::POST, HeaderMap::new());
    let caller = Some(Protocol::Chat);
    let request = RequestView::new("id".into(), method, path, None, headers, Vec::new(), caller);
    for (channels, expected) in [
        (&[][..], Free),
        (&[Protocol::Chat], Free),
        (&[Protocol::Responses], Background),
        (&[Protocol::Chat, Protocol::Responses], Background),
        (&[Protocol::Video, Protocol::Chat], Paid),
    ] {
        let protocols = channels.iter().copied();
        let protocols = protocols.map(|protocol| Some(ChannelProtocol::for_caller(protocol)));
        let safety = RetrySafety::for_request(&request, protocols);
        assert_eq!(safety, expected, "{channels:?}");
    }
}

#[test]
fn a_create_of_anything_but_a_response_is_sent_on_a_fresh_connection() {
    use Protocol::{Chat, Responses};
    let json = |text: &str| {
        let document = JsonDocument::parse(text.to_owned().into(), &JsonLimits::default());
        RequestBody::Json(document.unwrap())
    };
    for (method, protocol, body, expected) in [
        (
            Method::POST,
            Some(Responses),
            RequestBody::Absent,
            Background,
        ),
        (
            Method::POST,
            Some(Responses),
            json(r#"{"name":"box"}"#),
            Background,
        ),
        (Method::POST, None, json(r#"{"name":"box"}"#), Background),
        (
            Method::POST,
            None,
            RequestBody::Opaque("form".into()),
            Background,
        ),
        // A second response costs its tokens, and a connection for each would cost more.
        (
            Method::POST,
            Some(Responses),
            json(r#"{"model":"m"}"#),
            Stored,
        ),
        (
            Method::POST,
            Some(Responses),
            json(r#"{"model":"m","store":false}"#),
            Free,
        ),
        (Method::POST, Some(Chat), json(r#"{"metadata":{}}"#), Free),
        (Method::GET, Some(Responses), RequestBody::Absent, Stored),
        (Method::DELETE, None, RequestBody::Absent, Stored),
    ] {
        let path = "/v1/containers".to_owned();
        let size = body.bytes().map_or(0, Bytes::len);
        let named = format!("{method} {protocol:?} {size} bytes");
        let headers = HeaderMap::new();
        let mut request = RequestView::new(
            "id".into(),
            method,
            path,
            None,
            headers,
            Vec::new(),
            protocol,
        );
        request.body = body.into();
        let channels = [protocol.map(ChannelProtocol::for_caller)];
        let safety = RetrySafety::for_request(&request, channels);
        assert_eq!(safety, expected, "{named}");
        let fresh = decision(safety, StaleConnection).next == Stop;
        assert_eq!(fresh, expected == Background, "{named}");
    }
}

//! Tests of error bodies: the keys and values that clients of each protocol read.

use serde_json::{Value, json};

use super::*;
use crate::Protocol;

fn errors(protocol: Option<Protocol>) -> &'static ErrorShape {
    &Protocol::descriptor_for(protocol).errors
}

fn rendered(protocol: Option<Protocol>, fault: &Fault) -> Value {
    serde_json::from_slice(&errors(protocol).render(fault, "req_1")).unwrap()
}

#[test]
fn chat_bodies_have_all_four_keys() {
    let plain = Fault::new(FaultKind::UnknownModel, "no model \"x\"");
    let expected = json!({"error": {
        "message": "no model \"x\"", "type": "invalid_request_error", "param": null, "code": "model_not_found",
    }});
    for protocol in [
        None,
        Some(Protocol::Chat),
        Some(Protocol::Responses),
        Some(Protocol::ImageEdit),
        Some(Protocol::Video),
        Some(Protocol::FamilyA),
    ] {
        assert_eq!(rendered(protocol, &plain), expected);
    }
    let with_param = Fault::new(FaultKind::Invalid, "too hot").param("temperature");
    assert_eq!(rendered(None, &with_param)["error"]["param"], "temperature");
}

#[test]
fn messages_bodies_carry_the_request_id() {
    let fault = Fault::new(FaultKind::Unauthenticated, "no key").detail("secret");
    let expected = json!({
        "type": "error", "error": {"type": "authentication_error", "message": "no key"}, "request_id": "req_1",
    });
    assert_eq!(rendered(Some(Protocol::Messages), &fault), expected);
}

#[test]
fn family_b_has_code_message_and_request_id_at_the_top() {
    for (kind, code) in [
        (FaultKind::Invalid, "InvalidParameter"),
        (FaultKind::Unauthenticated, "InvalidApiKey"),
        (FaultKind::UnknownModel, "ModelNotFound"),
        (FaultKind::TooManyRequests, "Throttling.RateQuota"),
        (FaultKind::NoChannel, "ServiceUnavailable"),
        (FaultKind::UpstreamTimeout, "InternalError.Timeout"),
    ] {
        let fault = Fault::new(kind, "what is wrong")
            .param("input")
            .detail("secret");
        let expected = json!({"code": code, "message": "what is wrong", "request_id": "req_1"});
        assert_eq!(rendered(Some(Protocol::FamilyB), &fault), expected);
        assert_eq!(
            errors(Some(Protocol::FamilyB)).status(&fault),
            kind.status()
        );
    }
}

#[test]
fn each_kind_has_its_status_and_words() {
    let table = [
        (
            FaultKind::BadJson,
            400,
            "invalid_request_error",
            400,
            "invalid_request_error",
        ),
        (
            FaultKind::Unauthenticated,
            401,
            "invalid_request_error",
            401,
            "authentication_error",
        ),
        (
            FaultKind::Forbidden,
            403,
            "permission_error",
            403,
            "permission_error",
        ),
        (
            FaultKind::NoRoute,
            404,
            "invalid_request_error",
            404,
            "not_found_error",
        ),
        (
            FaultKind::UnknownId,
            404,
            "invalid_request_error",
            404,
            "not_found_error",
        ),
        (
            FaultKind::Gone,
            410,
            "invalid_request_error",
            410,
            "not_found_error",
        ),
        (
            FaultKind::TooLarge,
            413,
            "invalid_request_error",
            413,
            "request_too_large",
        ),
        (
            FaultKind::TooManyRequests,
            429,
            "requests",
            429,
            "rate_limit_error",
        ),
        (
            FaultKind::TooManyTokens,
            429,
            "tokens",
            429,
            "rate_limit_error",
        ),
        (
            FaultKind::OverBudget,
            429,
            "insufficient_quota",
            429,
            "rate_limit_error",
        ),
        (FaultKind::Internal, 500, "server_error", 500, "api_error"),
        (FaultKind::Upstream, 502, "server_error", 502, "api_error"),
        (
            FaultKind::Overloaded,
            503,
            "server_error",
            529,
            "overloaded_error",
        ),
        (
            FaultKind::Ending,
            503,
            "server_error",
            529,
            "overloaded_error",
        ),
        (
            FaultKind::NoChannel,
            503,
            "server_error",
            529,
            "overloaded_error",
        ),
        (
            FaultKind::UpstreamTimeout,
            504,
            "server_error",
            504,
            "timeout_error",
        ),
    ];
    for (kind, chat_status, chat_type, messages_status, messages_type) in table {
        let fault = Fault::new(kind, "m");
        let reported = |protocol| {
            let class = rendered(Some(protocol), &fault)["error"]["type"].clone();
            (errors(Some(protocol)).status(&fault), class)
        };
        assert_eq!(
            reported(Protocol::Chat),
            (chat_status, chat_type.into()),
            "{kind:?}"
        );
        assert_eq!(
            reported(Protocol::Messages),
            (messages_status, messages_type.into()),
            "{kind:?}"
        );
    }
}

#[test]
fn a_broken_stream_ends_with_the_event_its_clients_know() {
    let fault = Fault::new(FaultKind::Upstream, "line\nbreak");
    let event = |protocol| {
        String::from_utf8(
            errors(Some(protocol))
                .render_event(&fault, "req_1", 7)
                .to_vec(),
        )
        .unwrap()
    };
    assert_eq!(
        event(Protocol::Chat),
        "data: {\"error\":{\"message\":\"line\\nbreak\",\"type\":\"server_error\",\"param\":null,\"code\":\"upstream_error\"}}\n\n"
    );
    assert_eq!(
        event(Protocol::ImageEdit),
        format!("event: error\n{}", event(Protocol::Chat))
    );
    assert_eq!(
        event(Protocol::Messages),
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"line\\nbreak\"},\"request_id\":\"req_1\"}\n\n"
    );
    assert_eq!(
        event(Protocol::Responses),
        "event: error\ndata: {\"type\":\"error\",\"code\":\"upstream_error\",\"message\":\"line\\nbreak\",\"param\":null,\"sequence_number\":7}\n\n"
    );
}

#[test]
fn an_error_in_the_operators_words_has_the_protocols_shape() {
    let custom = |protocol, status, class, code| -> Value {
        let error = CustomError {
            message: "closed until 6:00",
            class,
            code,
            param: None,
        };
        serde_json::from_slice(&errors(protocol).render_custom(status, &error, "req_1")).unwrap()
    };
    let message = "closed until 6:00";
    for (protocol, status, class, code, expected) in [
        (
            Some(Protocol::Chat),
            503,
            None,
            None,
            json!({"error": {"message": message, "type": "server_error", "param": null, "code": "overloaded"}}),
        ),
        (
            None,
            410,
            Some("deprecated"),
            Some("model_retired"),
            json!({"error": {"message": message, "type": "deprecated", "param": null, "code": "model_retired"}}),
        ),
        (
            Some(Protocol::Messages),
            529,
            None,
            Some("unused"),
            json!({"type": "error", "error": {"type": "overloaded_error", "message": message}, "request_id": "req_1"}),
        ),
        (
            Some(Protocol::FamilyB),
            429,
            None,
            None,
            json!({"code": "Throttling.RateQuota", "message": message, "request_id": "req_1"}),
        ),
    ] {
        assert_eq!(custom(protocol, status, class, code), expected);
    }
}

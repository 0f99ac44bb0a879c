//! Errors as providers send them, and whose fault each is.

use super::*;

#[test]
fn an_error_answer_is_somebodys_fault_by_its_status_and_words() {
    let openai = |kind: &str, code: &str| {
        format!(r#"{{"error":{{"message":"m","type":"{kind}","param":null,"code":"{code}"}}}}"#)
    };
    let messages =
        |kind: &str| format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#);
    let family_b = |code: &str| format!(r#"{{"code":"{code}","message":"m","request_id":"r"}}"#);
    for (status, body, blame) in [
        (
            400,
            openai("invalid_request_error", "invalid_value"),
            Blame::Caller,
        ),
        (
            401,
            openai("invalid_request_error", "invalid_api_key"),
            Blame::Credential,
        ),
        (401, String::new(), Blame::Credential),
        (402, messages("billing_error"), Blame::Account),
        (
            403,
            openai("x", "unsupported_country_region_territory"),
            Blame::NotHere,
        ),
        (403, messages("permission_error"), Blame::Caller),
        (
            404,
            openai("invalid_request_error", "model_not_found"),
            Blame::NotHere,
        ),
        (404, messages("not_found_error"), Blame::Caller),
        (408, String::new(), Blame::Provider),
        (413, messages("request_too_large"), Blame::Caller),
        (
            429,
            openai("insufficient_quota", "insufficient_quota"),
            Blame::Account,
        ),
        (429, openai("tokens", "rate_limit_exceeded"), Blame::Busy),
        (429, messages("rate_limit_error"), Blame::Busy),
        (429, "<html>".into(), Blame::Busy),
        (
            429,
            openai("TooManyRequests", "SetLimitExceeded"),
            Blame::Account,
        ),
        (
            403,
            openai("Forbidden", "AccountOverdueError"),
            Blame::Account,
        ),
        (404, openai("NotFound", "ModelNotOpen"), Blame::NotHere),
        (
            429,
            openai("TooManyRequests", "ModelAccountRpmRateLimitExceeded"),
            Blame::Busy,
        ),
        (400, family_b("Arrearage"), Blame::Account),
        (401, family_b("InvalidApiKey"), Blame::Credential),
        (
            403,
            family_b("AllocationQuota.FreeTierOnly"),
            Blame::Account,
        ),
        (429, family_b("PostpaidBillOverdue"), Blame::Account),
        (429, family_b("Throttling.RateQuota"), Blame::Busy),
        (400, family_b("InvalidParameter"), Blame::Caller),
        (500, messages("api_error"), Blame::Provider),
        (500, "not JSON".into(), Blame::Provider),
        (501, String::new(), Blame::Caller),
        (503, openai("server_error", "x"), Blame::Busy),
        (504, String::new(), Blame::Provider),
        (529, messages("overloaded_error"), Blame::Busy),
    ] {
        assert_eq!(of_answer(status, body.as_bytes()), blame, "{status} {body}");
    }
}

#[test]
fn an_error_event_is_the_providers_fault_unless_its_words_name_the_request() {
    for (data, blame) in [
        (
            r#"{"error":{"message":"m","type":"server_error","code":null}}"#,
            Blame::Provider,
        ),
        (r#"{"error":{"message":"m"}}"#, Blame::Provider),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            Blame::Busy,
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error"}}"#,
            Blame::Caller,
        ),
        (
            r#"{"type":"error","code":"insufficient_quota","message":"m"}"#,
            Blame::Account,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"server_error"}}}"#,
            Blame::Provider,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"invalid_prompt"}}}"#,
            Blame::Caller,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded"}}}"#,
            Blame::Busy,
        ),
    ] {
        assert_eq!(of_event(data.as_bytes()), blame, "{data}");
    }
}

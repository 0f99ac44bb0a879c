//! Classes by status and code, without regard to the provider.

use super::super::*;

#[test]
fn error_responses_are_classified_by_status_and_code() {
    let openai = |kind: &str, code: &str| {
        format!(r#"{{"error":{{"message":"m","type":"{kind}","param":null,"code":"{code}"}}}}"#)
    };
    let messages =
        |kind: &str| format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#);
    let family_b = |code: &str| format!(r#"{{"code":"{code}","message":"m","request_id":"r"}}"#);
    for (status, body, error_class) in [
        (
            400,
            openai("invalid_request_error", "invalid_value"),
            ErrorClass::InvalidRequest,
        ),
        (
            401,
            openai("invalid_request_error", "invalid_api_key"),
            ErrorClass::RefusedCredential,
        ),
        (401, String::new(), ErrorClass::RefusedCredential),
        (402, messages("billing_error"), ErrorClass::RefusedAccount),
        (
            403,
            openai("x", "unsupported_country_region_territory"),
            ErrorClass::ModelNotFound,
        ),
        (403, messages("permission_error"), ErrorClass::ModelNotFound),
        (
            404,
            openai("invalid_request_error", "model_not_found"),
            ErrorClass::ModelNotFound,
        ),
        (404, messages("not_found_error"), ErrorClass::ModelNotFound),
        (408, String::new(), ErrorClass::ServerError),
        (
            413,
            messages("request_too_large"),
            ErrorClass::InvalidRequest,
        ),
        (
            429,
            openai("insufficient_quota", "insufficient_quota"),
            ErrorClass::RefusedAccount,
        ),
        (
            429,
            openai("tokens", "rate_limit_exceeded"),
            ErrorClass::RateLimited,
        ),
        (429, messages("rate_limit_error"), ErrorClass::RateLimited),
        (429, "<html>".into(), ErrorClass::RateLimited),
        (
            429,
            openai("TooManyRequests", "SetLimitExceeded"),
            ErrorClass::ModelNotFound,
        ),
        (
            403,
            openai("Forbidden", "AccountOverdueError"),
            ErrorClass::RefusedAccount,
        ),
        (
            404,
            openai("NotFound", "ModelNotOpen"),
            ErrorClass::ModelNotFound,
        ),
        (
            429,
            openai("TooManyRequests", "ModelAccountRpmRateLimitExceeded"),
            ErrorClass::RateLimited,
        ),
        (400, family_b("Arrearage"), ErrorClass::RefusedAccount),
        (
            401,
            family_b("InvalidApiKey"),
            ErrorClass::RefusedCredential,
        ),
        (
            403,
            family_b("AllocationQuota.FreeTierOnly"),
            ErrorClass::RefusedAccount,
        ),
        (
            429,
            family_b("PostpaidBillOverdue"),
            ErrorClass::RefusedAccount,
        ),
        (
            429,
            family_b("Throttling.RateQuota"),
            ErrorClass::RateLimited,
        ),
        (
            400,
            family_b("InvalidParameter"),
            ErrorClass::InvalidRequest,
        ),
        (500, messages("api_error"), ErrorClass::ServerError),
        (500, "not JSON".into(), ErrorClass::ServerError),
        (501, String::new(), ErrorClass::InvalidRequest),
        (503, openai("server_error", "x"), ErrorClass::Overloaded),
        (504, String::new(), ErrorClass::ServerError),
        (529, messages("overloaded_error"), ErrorClass::Overloaded),
    ] {
        assert_eq!(
            classify_response(status, body.as_bytes(), ErrorSubject::Model).class,
            error_class,
            "{status} {body}"
        );
    }
}

#[test]
fn error_events_are_server_errors_unless_the_code_names_the_request() {
    for (data, error_class) in [
        (
            r#"{"error":{"message":"m","type":"server_error","code":null}}"#,
            ErrorClass::ServerError,
        ),
        (r#"{"error":{"message":"m"}}"#, ErrorClass::ServerError),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            ErrorClass::Overloaded,
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error"}}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            r#"{"type":"error","code":"insufficient_quota","message":"m"}"#,
            ErrorClass::RefusedAccount,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"server_error"}}}"#,
            ErrorClass::ServerError,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"invalid_prompt"}}}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded"}}}"#,
            ErrorClass::RateLimited,
        ),
    ] {
        assert_eq!(classify_event(data.as_bytes()).class, error_class, "{data}");
    }
}

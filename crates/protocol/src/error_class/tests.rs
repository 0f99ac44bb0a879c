//! Tests of error classes with tables of errors as providers send them.

mod recorded_errors;
mod statuses_and_codes;

use super::*;

#[test]
fn codes_of_unknown_providers_are_understood_by_their_words() {
    for (status, code, class) in [
        (400, "ModelNotFound", ErrorClass::ModelNotFound),
        (400, "MODEL-NOT-FOUND", ErrorClass::ModelNotFound),
        (422, "unknown_model", ErrorClass::ModelNotFound),
        (400, "error.NoSuchModel", ErrorClass::ModelNotFound),
        (403, "InsufficientBalance", ErrorClass::RefusedAccount),
        (429, "not_enough_credits", ErrorClass::RefusedAccount),
        (403, "account-suspended", ErrorClass::RefusedAccount),
        (400, "InvalidAPIKey", ErrorClass::RefusedCredential),
        (403, "PERMISSION_DENIED", ErrorClass::ModelNotFound),
        (400, "TooManyRequests", ErrorClass::RateLimited),
        (500, "ServerOverloaded", ErrorClass::Overloaded),
        (400, "context_window_exceeded", ErrorClass::ContextTooLong),
        (400, "ContentPolicyViolation", ErrorClass::ContentPolicy),
        (404, "file_not_found", ErrorClass::InvalidRequest),
        (400, "invalid_value", ErrorClass::InvalidRequest),
        (403, "something", ErrorClass::ModelNotFound),
    ] {
        for body in [
            format!(r#"{{"error":{{"code":"{code}","message":"m"}}}}"#),
            format!(r#"[{{"error":{{"type":"{code}","message":"m"}}}}]"#),
            format!(r#"{{"code":"{code}","message":"m"}}"#),
            format!(r#"{{"error":"{code}"}}"#),
            format!(r#"{{"success":false,"errors":[{{"code":"{code}"}}]}}"#),
            format!(r#"{{"errorCode":"{code}"}}"#),
            format!(r#"{{"detail":{{"code":"{code}"}}}}"#),
        ] {
            let classification = classify_response(status, body.as_bytes(), ErrorSubject::Model);
            assert_eq!(classification.class, class, "{status} {body}");
        }
    }
}

#[test]
fn an_id_that_is_not_found_is_the_callers_error() {
    use ErrorClass::{InvalidRequest, ModelNotFound};
    for (status, body, of_model, of_resource) in [
        (404, "", ModelNotFound, InvalidRequest),
        (403, "<html>", ModelNotFound, InvalidRequest),
        (
            405,
            r#"{"detail":"Method Not Allowed"}"#,
            ModelNotFound,
            InvalidRequest,
        ),
        (410, "", ModelNotFound, InvalidRequest),
        (
            404,
            r#"{"detail":"Not Found"}"#,
            ModelNotFound,
            InvalidRequest,
        ),
        (
            404,
            r#"{"error":{"code":"model_not_found"}}"#,
            ModelNotFound,
            ModelNotFound,
        ),
        (
            404,
            r#"{"error":{"code":"response_not_found"}}"#,
            InvalidRequest,
            InvalidRequest,
        ),
        (400, "", InvalidRequest, InvalidRequest),
    ] {
        for (target, class) in [
            (ErrorSubject::Model, of_model),
            (ErrorSubject::Resource, of_resource),
        ] {
            let classification = classify_response(status, body.as_bytes(), target);
            assert_eq!(classification.class, class, "{status} {body} {target:?}");
        }
    }
}

#[test]
fn the_evidence_is_a_code_a_status_or_a_text() {
    for (status, body, evidence) in [
        (401, "", ErrorEvidence::Code),
        (402, "", ErrorEvidence::Code),
        (429, "", ErrorEvidence::Code),
        (500, "", ErrorEvidence::Code),
        (403, "", ErrorEvidence::Status),
        (404, "", ErrorEvidence::Status),
        (
            404,
            r#"{"error":{"code":"model_not_found"}}"#,
            ErrorEvidence::Code,
        ),
        (
            404,
            r#"{"error":"model 'x' not found"}"#,
            ErrorEvidence::Text,
        ),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to"}}"#,
            ErrorEvidence::Text,
        ),
    ] {
        let classification = classify_response(status, body.as_bytes(), ErrorSubject::Model);
        assert_eq!(classification.evidence, evidence, "{status} {body}");
    }
}

#[test]
fn a_status_that_a_body_names_is_the_errors_status() {
    for (status, body, class) in [
        (
            200,
            r#"{"code":500,"msg":"busy","data":null}"#,
            ErrorClass::ServerError,
        ),
        (
            200,
            r#"{"error":{"code":429,"message":"m"}}"#,
            ErrorClass::RateLimited,
        ),
        (200, r#"{"error":{"message":"m"}}"#, ErrorClass::ServerError),
        (
            500,
            r#"{"error":{"code":"400","message":"m"}}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            400,
            r#"{"error":{"http_code":"429","message":"m"}}"#,
            ErrorClass::RateLimited,
        ),
        (
            403,
            r#"{"error":{"code":400,"message":"m"}}"#,
            ErrorClass::ModelNotFound,
        ),
        // JSON in a message is text.
        (
            400,
            r#"{"error":{"message":"{\"error\":{\"code\":429}}"}}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            400,
            r#"{"error":{"message":"{\"code\":\"model_not_found\"}"}}"#,
            ErrorClass::InvalidRequest,
        ),
        // What a body repeats of the request is no code.
        (
            400,
            r#"{"error":{"message":"m","param":"model_not_found"}}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            400,
            r#"{"detail":[{"loc":["body"],"msg":"model_not_found","input":"x"}]}"#,
            ErrorClass::InvalidRequest,
        ),
    ] {
        let classification = classify_response(status, body.as_bytes(), ErrorSubject::Model);
        assert_eq!(classification.class, class, "{status} {body}");
    }
}

#[test]
fn rows_of_a_channel_come_first() {
    let rule =
        |class, statuses: &[u16], code: Option<&str>, message: Option<&str>| ChannelErrorRule {
            class,
            statuses: statuses.into(),
            code: code.map(Into::into),
            message: message.map(Into::into),
        };
    let classifier = ErrorClassifier::new(vec![
        rule(
            ErrorClass::RateLimited,
            &[400, 409],
            Some("QUEUE_FULL"),
            None,
        ),
        rule(
            ErrorClass::ModelNotFound,
            &[],
            None,
            Some("Model * is asleep"),
        ),
        rule(ErrorClass::InvalidRequest, &[429], None, None),
    ]);
    for (status, body, class, evidence) in [
        (
            400,
            r#"{"error":{"code":"queue-full"}}"#,
            ErrorClass::RateLimited,
            ErrorEvidence::Code,
        ),
        (
            422,
            r#"{"error":{"code":"queue-full"}}"#,
            ErrorClass::InvalidRequest,
            ErrorEvidence::Code,
        ),
        (
            422,
            r#"{"msg":"model \"a\" is asleep"}"#,
            ErrorClass::ModelNotFound,
            ErrorEvidence::Text,
        ),
        (429, "", ErrorClass::InvalidRequest, ErrorEvidence::Code),
        (401, "", ErrorClass::RefusedCredential, ErrorEvidence::Code),
    ] {
        assert_eq!(
            classifier.classify_response(status, body.as_bytes(), ErrorSubject::Model),
            ErrorClassification { class, evidence },
            "{status} {body}"
        );
    }
    let event = br#"{"error":{"code":"queue_full"}}"#;
    assert_eq!(
        classifier.classify_event(event).class,
        ErrorClass::ServerError
    );
    let event = br#"{"error":{"code":"queue_full","status":409}}"#;
    assert_eq!(
        classifier.classify_event(event).class,
        ErrorClass::RateLimited
    );
}

#[test]
fn a_class_has_one_name() {
    for class in ErrorClass::ALL {
        assert_eq!(ErrorClass::named(class.name()), Some(class));
    }
    assert_eq!(ErrorClass::named("error"), None);
}

#[test]
fn numbers_and_texts_in_error_events_mean_what_they_mean_in_responses() {
    for (data, class) in [
        (
            r#"{"error":{"code":400,"message":"m"}}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            r#"{"error":{"code":"400","message":"m"}}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            r#"{"error":{"code":413,"message":"m"}}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            r#"{"error":{"code":429,"message":"m"}}"#,
            ErrorClass::RateLimited,
        ),
        (
            r#"{"error":{"code":401,"message":"m"}}"#,
            ErrorClass::RefusedCredential,
        ),
        (
            r#"{"error":{"code":404,"message":"m"}}"#,
            ErrorClass::ModelNotFound,
        ),
        (
            r#"{"error":{"code":502,"message":"m"}}"#,
            ErrorClass::ServerError,
        ),
        (
            r#"{"type":"error","error":{"type":"usage_limit_reached"},"status_code":429}"#,
            ErrorClass::RefusedAccount,
        ),
        (
            r#"{"error":{"code":"data_inspection_failed","message":"m"}}"#,
            ErrorClass::ContentPolicy,
        ),
        (
            r#"{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            r#"{"object":"error","message":"m","type":"BadRequestError","param":null}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}"#,
            ErrorClass::ModelNotFound,
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}"#,
            ErrorClass::RefusedAccount,
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}"#,
            ErrorClass::ContextTooLong,
        ),
        (
            r#"{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#,
            ErrorClass::RateLimited,
        ),
        (
            r#"[{"error":{"code":503,"status":"UNAVAILABLE"}}]"#,
            ErrorClass::Overloaded,
        ),
        (
            r#"{"error":"Model is overloaded","error_type":"overloaded"}"#,
            ErrorClass::Overloaded,
        ),
        (
            r#"{"error":{"message":"{\"code\":400}"}}"#,
            ErrorClass::ServerError,
        ),
        ("no JSON", ErrorClass::ServerError),
        ("", ErrorClass::ServerError),
    ] {
        assert_eq!(classify_event(data.as_bytes()).class, class, "{data}");
    }
}

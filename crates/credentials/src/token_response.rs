//! Responses of token endpoints: a token or an error, as RFC 6749 has them and as metadata servers do.

use crate::expiry::LIFETIME_MAX;
use crate::issuer::IssuerResponse;
use headgate_core::credentials::temporary_credential::{
    CredentialSourceError, TemporaryCredential,
};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// The lifetime of a token whose server names none. RFC 6749 leaves it to documentation; most servers issue an hour.
const LIFETIME_DEFAULT: Duration = Duration::from_secs(10 * 60);
/// How much of an error is quoted, in characters.
const QUOTE_MAX: usize = 300;

/// A token, RFC 6749, section 5.1.
#[derive(Deserialize)]
struct IssuedToken {
    access_token: String,
    token_type: Option<String>,
    /// Seconds; a text in responses of Azure's metadata servers.
    expires_in: Option<Value>,
}

/// The token in a response. No error contains one of `secrets`, or of the request's.
///
/// # Errors
/// The response is an error, or has no bearer token.
pub(crate) fn read_token(
    response: &IssuerResponse<'_>,
    secrets: &[&str],
) -> Result<TemporaryCredential, CredentialSourceError> {
    let IssuerResponse { host, content, .. } = response;
    if !content.status.is_success() {
        return Err(refusal(response, secrets));
    }
    let invalid = |reason: &str| {
        CredentialSourceError(format!("{host} answered without a usable token: {reason}"))
    };
    let token: IssuedToken = serde_json::from_slice(&content.body)
        .map_err(|_| invalid("the body is no JSON object with `access_token`"))?;
    let is_bearer = |kind: &String| kind.eq_ignore_ascii_case("bearer");
    if !token.token_type.as_ref().is_none_or(is_bearer) {
        return Err(invalid("`token_type` is not `Bearer`"));
    }
    let lifetime = match &token.expires_in {
        None | Some(Value::Null) => LIFETIME_DEFAULT,
        Some(seconds) => seconds_in(seconds)
            .ok_or_else(|| invalid("`expires_in` is no number of seconds above zero"))?,
    };
    TemporaryCredential::bearer(&token.access_token, lifetime.min(LIFETIME_MAX))
        .map_err(|error| invalid(&error.0))
}

fn seconds_in(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::String(text) => text.parse().ok()?,
        number => number.as_f64()?,
    };
    (seconds >= 1.0).then(|| Duration::from_secs_f64(seconds.min(1e9)))
}

/// An error response, with the words of the server (RFC 6749, section 5.2), as far as they repeat no secret.
pub(crate) fn refusal(response: &IssuerResponse<'_>, secrets: &[&str]) -> CredentialSourceError {
    let body: Value = serde_json::from_slice(&response.content.body).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let error = &body["error"];
    let code = text(error).or_else(|| text(&error["status"]));
    let description = [
        &body["error_description"],
        &error["message"],
        &body["message"],
    ];
    let description = description.into_iter().find_map(text);
    let words = code.into_iter().chain(description);
    refusal_in_words(response, words, secrets)
}

/// An error response with these words of the server, as far as they repeat no secret.
pub(crate) fn refusal_in_words(
    response: &IssuerResponse<'_>,
    words: impl IntoIterator<Item = String>,
    secrets: &[&str],
) -> CredentialSourceError {
    let in_headers = response.secrets.iter().map(String::as_str);
    let secrets: Vec<&str> = secrets.iter().copied().chain(in_headers).collect();
    let mut words: Vec<String> = words.into_iter().collect();
    words.retain(|word| !secrets.iter().any(|secret| word.contains(secret)));
    let (host, status) = (response.host, response.content.status.as_u16());
    let words = words.join(": ");
    let quoted: String = words
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .take(QUOTE_MAX)
        .collect();
    CredentialSourceError(match quoted.is_empty() {
        true => format!("{host} answered with status {status}"),
        false => format!("{host} answered with status {status}: {quoted}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::callout::ServiceResponse;
    use headgate_core::credentials::temporary_credential::CredentialProof;
    use http::{HeaderMap, StatusCode};

    /// The response to a request with `header-secret-1` in a header.
    fn response(status: u16, body: &str) -> IssuerResponse<'static> {
        IssuerResponse {
            host: "idp.example",
            content: ServiceResponse {
                status: StatusCode::from_u16(status).unwrap(),
                headers: HeaderMap::new(),
                is_json: true,
                body: body.to_owned().into(),
            },
            secrets: vec!["header-secret-1".into()],
        }
    }

    #[test]
    fn a_token_has_the_lifetime_that_its_server_names() {
        for (body, seconds) in [
            (
                r#"{"access_token":"t1","token_type":"Bearer","expires_in":3599}"#,
                3_599,
            ),
            (
                r#"{"access_token":"t1","token_type":"bearer","expires_in":"86400"}"#,
                86_400,
            ),
            (
                r#"{"access_token":"t1","expires_in":3599.5,"scope":"a"}"#,
                3_599,
            ),
            (r#"{"access_token":"t1"}"#, 600),
            (r#"{"access_token":"t1","expires_in":null}"#, 600),
            (r#"{"access_token":"t1","expires_in":1e300}"#, 604_800),
        ] {
            let token = read_token(&response(200, body), &[]).unwrap();
            assert_eq!(token.lifetime.as_secs(), seconds, "{body}");
            assert!(matches!(&token.proof, CredentialProof::Bearer(value) if value == "Bearer t1"));
        }
    }

    #[test]
    fn what_is_no_token_is_refused_with_a_reason() {
        for (status, body, reason) in [
            (200, "<html>", "no JSON object"),
            (200, r#"{"error":"x"}"#, "no JSON object"),
            (200, r#"{"access_token":"t 1"}"#, "characters"),
            (200, r#"{"access_token":""}"#, "characters"),
            (
                200,
                r#"{"access_token":"t","token_type":"mac"}"#,
                "`token_type`",
            ),
            (
                200,
                r#"{"access_token":"t","expires_in":0}"#,
                "`expires_in`",
            ),
            (
                200,
                r#"{"access_token":"t","expires_in":-5}"#,
                "`expires_in`",
            ),
            (
                200,
                r#"{"access_token":"t","expires_in":"soon"}"#,
                "`expires_in`",
            ),
            (302, "", "idp.example answered with status 302"),
            (503, "busy", "idp.example answered with status 503"),
            (
                401,
                r#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret.\r\nTrace"}"#,
                "status 401: invalid_client: AADSTS7000215: Invalid client secret.  Trace",
            ),
            (
                400,
                r#"{"error":"invalid_grant","error_description":"no client-secret-1 here"}"#,
                "status 400: invalid_grant",
            ),
            (
                401,
                r#"{"error":"invalid_token","message":"Bearer header-secret-1 is unknown"}"#,
                "status 401: invalid_token",
            ),
            (
                403,
                r#"{"error":{"code":403,"message":"Permission denied","status":"PERMISSION_DENIED"}}"#,
                "status 403: PERMISSION_DENIED: Permission denied",
            ),
        ] {
            let refused = read_token(&response(status, body), &["client-secret-1"]);
            let refused = refused.unwrap_err().0;
            assert!(refused.contains(reason), "{body}: {refused}");
            assert!(!refused.contains("-secret-1"), "{refused}");
        }
    }
}

//! Access keys as servers of AWS issue them: as JSON by metadata servers, as XML by the Security Token Service.

use crate::expiry::time_until;
use crate::issuer::IssuerResponse;
use crate::token_response::{refusal, refusal_in_words};
use headgate_core::catalog::aws_signer::AwsAccessKey;
use headgate_core::credentials::temporary_credential::CredentialSourceError;
use serde::Deserialize;
use std::time::Duration;

/// A key, and how long it is valid.
pub(super) struct IssuedAccessKey {
    pub key: AwsAccessKey,
    pub lifetime: Duration,
}

/// The response of an agent or of a metadata server.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KeyDocument {
    access_key_id: String,
    secret_access_key: String,
    token: String,
    /// In RFC 3339.
    expiration: String,
}

/// The key in a response in JSON.
///
/// # Errors
/// The response is an error, or has no key.
pub(super) fn read_key(
    response: &IssuerResponse<'_>,
) -> Result<IssuedAccessKey, CredentialSourceError> {
    if !response.content.status.is_success() {
        return Err(refusal(response, &[]));
    }
    let document: Option<KeyDocument> = serde_json::from_slice(&response.content.body).ok();
    let parts = document.map(|document| {
        let KeyDocument {
            access_key_id,
            secret_access_key,
            token,
            expiration,
        } = document;
        [access_key_id, secret_access_key, token, expiration]
    });
    issued(parts, response)
}

/// The key in a response of the Security Token Service. No error contains one of `secrets`, or of the request's.
///
/// # Errors
/// The response is an error, or has no key.
pub(super) fn read_key_in_xml(
    response: &IssuerResponse<'_>,
    secrets: &[&str],
) -> Result<IssuedAccessKey, CredentialSourceError> {
    let text = String::from_utf8_lossy(&response.content.body);
    if !response.content.status.is_success() {
        let words = ["Code", "Message"].map(|name| element(&text, name));
        let words = words.into_iter().flatten().map(str::to_owned);
        return Err(refusal_in_words(response, words, secrets));
    }
    let names = [
        "AccessKeyId",
        "SecretAccessKey",
        "SessionToken",
        "Expiration",
    ];
    let parts = names.map(|name| element(&text, name).map(str::to_owned));
    let parts = match parts {
        [Some(id), Some(secret), Some(token), Some(expiration)] => {
            Some([id, secret, token, expiration])
        }
        _ => None,
    };
    issued(parts, response)
}

fn issued(
    parts: Option<[String; 4]>,
    response: &IssuerResponse<'_>,
) -> Result<IssuedAccessKey, CredentialSourceError> {
    let IssuerResponse { host, content, .. } = response;
    let invalid = |reason: &str| {
        CredentialSourceError(format!("{host} answered without a usable key: {reason}"))
    };
    let parts = parts.ok_or_else(|| invalid("the body lacks a part of it"))?;
    let [id, secret, token, expiration] = parts;
    let is_visible =
        |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if ![&id, &secret, &token].into_iter().all(is_visible) {
        return Err(invalid("a part of it has characters that no key has"));
    }
    let lifetime = time_until(&expiration, &content.headers).map_err(invalid)?;
    Ok(IssuedAccessKey {
        key: AwsAccessKey {
            id: id.into(),
            secret: secret.into(),
            session_token: Some(token.into()),
        },
        lifetime,
    })
}

/// The text of the first element with this name.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("<{name}>"))?;
    let (content, _) = after.split_once(&format!("</{name}>"))?;
    Some(content.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::callout::ServiceResponse;
    use http::{HeaderMap, HeaderValue, StatusCode, header};

    fn response(status: u16, body: &str) -> IssuerResponse<'static> {
        let date = HeaderValue::from_static("Sun, 30 Aug 2015 12:36:00 GMT");
        IssuerResponse {
            host: "agent",
            content: ServiceResponse {
                status: StatusCode::from_u16(status).unwrap(),
                headers: HeaderMap::from_iter([(header::DATE, date)]),
                is_json: false,
                body: body.to_owned().into(),
            },
            secrets: vec!["token-of-the-agent".into()],
        }
    }

    #[test]
    fn a_key_is_read_with_the_time_that_is_left_by_the_clock_of_its_server() {
        let json = r#"{"Code":"Success","AccessKeyId":"ASIA1","SecretAccessKey":"s/+","Token":"t==","Expiration":"2015-08-30T13:36:00Z"}"#;
        let xml = "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s/+</SecretAccessKey>\n<SessionToken>t==</SessionToken><Expiration>2015-08-30T13:36:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";
        let read = [
            read_key(&response(200, json)),
            read_key_in_xml(&response(200, xml), &[]),
        ];
        for issued in read {
            let issued = issued.unwrap();
            assert_eq!(issued.lifetime, Duration::from_secs(3_600));
            assert_eq!((&*issued.key.id, &*issued.key.secret), ("ASIA1", "s/+"));
            assert_eq!(issued.key.session_token.as_deref(), Some("t=="));
        }
    }

    #[test]
    fn what_is_no_key_is_refused_with_a_reason() {
        for (status, body, reason) in [
            (200, "{}", "lacks a part"),
            (200, "not json", "lacks a part"),
            (
                200,
                r#"{"AccessKeyId":"A","SecretAccessKey":"s","Token":"t","Expiration":"2015-08-30T12:36:00Z"}"#,
                "expired already",
            ),
            (
                200,
                r#"{"AccessKeyId":"A","SecretAccessKey":"s","Token":"t","Expiration":"soon"}"#,
                "no time",
            ),
            (
                200,
                r#"{"AccessKeyId":"A b","SecretAccessKey":"s","Token":"t","Expiration":"2016-08-30T12:36:00Z"}"#,
                "characters",
            ),
            (404, "", "agent answered with status 404"),
            (
                403,
                r#"{"error":{"status":"DENIED","message":"unknown: token-of-the-agent"}}"#,
                "status 403: DENIED",
            ),
        ] {
            let refused = read_key(&response(status, body)).err().unwrap();
            assert!(refused.0.contains(reason), "{body}: {refused}");
            assert!(!refused.0.contains("token-of-the-agent"), "{refused}");
        }
        let denied = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized to assume it</Message></Error></ErrorResponse>";
        for (secrets, expected) in [
            (
                &[][..],
                "agent answered with status 403: AccessDenied: Not authorized to assume it",
            ),
            (
                &["authorized"][..],
                "agent answered with status 403: AccessDenied",
            ),
        ] {
            let refused = read_key_in_xml(&response(403, denied), secrets);
            assert_eq!(refused.err().unwrap().0, expected);
        }
    }
}

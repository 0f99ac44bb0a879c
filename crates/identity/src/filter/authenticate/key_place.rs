//! Where a request has its key, and where it has one that is not read.

use headgate_protocol::credential_names::{member_names_credential, names_credential};
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderName, header};

/// SDKs and developers search for "Incorrect API key provided".
pub(super) const INCORRECT_KEY: &str =
    "Incorrect API key provided; check it, or ask the operator of this gateway for one";
/// How the schemes of AWS's signatures begin: `AWS4-HMAC-SHA256` and `AWS4-ECDSA-P256-SHA256`.
const AWS_SCHEMES: &[u8] = b"AWS4-";
/// How access tokens of Google begin.
const GOOGLE_TOKENS: &[u8] = b"ya29.";

/// Describes a header or query parameter that seems to hold the key but is not read.
pub(super) fn describe_misplaced_key(headers: &HeaderMap, query: Option<&str>) -> Option<String> {
    const NAME_BYTES_MAX: usize = 64;
    let mut folded = Vec::new();
    let header = headers
        .keys()
        .map(HeaderName::as_str)
        .find(|name| names_credential(name.as_bytes()) && !name.contains("cookie"))
        .map(|name| (name, "header"));
    let member = query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .map(|member| member.split_once('=').map_or(member, |(name, _)| name))
        .find(|name| member_names_credential(name, &mut folded))
        .map(|name| (name, "query parameter"));
    let (name, what) = header
        .or(member)
        .filter(|(name, _)| name.len() <= NAME_BYTES_MAX)?;
    Some(format!(
        "no API key provided: this path does not read {what} `{name}`"
    ))
}

/// The key in `Authorization`, in the scheme `Bearer` or one of `others`.
pub(super) fn authorization_key<'h>(
    headers: &'h HeaderMap,
    others: &[String],
) -> Result<Option<&'h [u8]>, Fault> {
    let Some(value) = single_value(headers, &header::AUTHORIZATION)? else {
        return Ok(None);
    };
    let scheme_ends = value
        .iter()
        .position(|byte| *byte == b' ')
        .unwrap_or(value.len());
    let (scheme, key) = value.split_at(scheme_ends);
    let is_other = || {
        let mut others = others.iter();
        others.any(|other| scheme.eq_ignore_ascii_case(other.as_bytes()))
    };
    if (scheme.eq_ignore_ascii_case(b"bearer") || is_other()) && !key.trim_ascii().is_empty() {
        return Ok(Some(key.trim_ascii()));
    }
    if scheme.starts_with(AWS_SCHEMES) {
        return Err(refuse(
            "a signature of AWS is no API key of this gateway; send `authorization: Bearer <key>`, as boto3 does with your key in AWS_BEARER_TOKEN_BEDROCK",
        ));
    }
    let others = others.iter().map(|other| format!(" or `{other} <key>`"));
    Err(refuse(format!(
        "header `authorization` must be `Bearer <key>`{}; another scheme or no key was received",
        others.collect::<String>()
    )))
}

/// What is wrong with a key that no caller has. Tokens of clouds are told by their form; nothing of the key is repeated.
pub(super) fn describe_unknown_key(key: &[u8]) -> &'static str {
    match key.starts_with(GOOGLE_TOKENS) {
        true => {
            "an access token of Google is no API key of this gateway; give the client your key in its place, such as `api_key` of google-genai"
        }
        false => INCORRECT_KEY,
    }
}

/// The only value of a header. Two values are an error: different readers could authenticate different callers.
pub(super) fn single_value<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h [u8]>, Fault> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => Ok(Some(value.as_bytes())),
        (Some(_), Some(_)) => Err(refuse(format!(
            "header `{name}` was received more than once; send it once"
        ))),
    }
}

/// The error for a request without a key that serves.
pub(super) fn refuse(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::Unauthenticated, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_clouds_are_refused_with_what_to_send() {
        let signature = "AWS4-HMAC-SHA256 Credential=AKIA1/20261129/eu-west-1/bedrock/aws4_request, SignedHeaders=host, Signature=ab";
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, signature.parse().unwrap());
        let fault = authorization_key(&headers, &[]).unwrap_err();
        assert!(
            fault.message.contains("AWS_BEARER_TOKEN_BEDROCK"),
            "{}",
            fault.message
        );
        assert!(!fault.message.contains("AKIA1"), "{}", fault.message);
        for (key, word) in [("ya29.a0Ab", "Google"), ("sk-eve", "Incorrect API key")] {
            let message = describe_unknown_key(key.as_bytes());
            assert!(
                message.contains(word) && !message.contains(key),
                "{message}"
            );
        }
    }
}

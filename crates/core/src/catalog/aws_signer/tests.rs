//! Tests of signatures, by the test suite of AWS in `tests/fixtures/sigv4` and by requests as the gateway sends them.

use super::canonical_request::{CanonicalRequest, canonical_path, canonical_query, encoded_path};
use super::{AwsAccessKey, AwsSigner, X_AMZ_SECURITY_TOKEN, basic_time};
use headgate_protocol::hex::HexDisplay;
use http::{HeaderMap, HeaderValue, Method, Uri, header};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The time of the suite, 2015-08-30T12:36:00Z.
const SUITE_MS: u64 = 1_440_938_160_000;
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const CASES: &str = include_str!("../../../../../tests/fixtures/sigv4/cases.json");

fn signer(region: &str, service: &str, session_token: Option<&str>) -> AwsSigner {
    let access_key = AwsAccessKey {
        id: "AKIDEXAMPLE".into(),
        secret: SECRET.into(),
        session_token: session_token.map(Into::into),
    };
    AwsSigner::new(access_key, region, service)
}

/// The headers of a case that are signed, in lower case.
fn signed_headers(case: &Value) -> Vec<(String, String)> {
    let names: Vec<&str> = case["signed"].as_str().unwrap().split(';').collect();
    let headers = case["headers"].as_array().unwrap().iter();
    let headers = headers.map(|header| {
        let name = header[0].as_str().unwrap().to_ascii_lowercase();
        (name, header[1].as_str().unwrap().to_owned())
    });
    headers
        .filter(|(name, _)| names.contains(&&**name))
        .collect()
}

#[test]
fn every_case_of_the_suite_of_aws_has_its_canonical_request_and_signature() {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    assert_eq!(cases.len(), 38);
    let signer = signer("us-east-1", "service", None);
    for (number, case) in cases.iter().enumerate() {
        let name = format!("{} {}", number + 1, case["case"]);
        let text = |field: &str| case[field].as_str().unwrap();
        let (path, query) = text("target")
            .split_once('?')
            .unwrap_or((text("target"), ""));
        let path = match case["unnormalised"].as_bool() {
            Some(true) => encoded_path(path),
            _ => canonical_path(path),
        };
        let headers = signed_headers(case);
        let headers = headers
            .iter()
            .map(|(name, value)| (&**name, value.as_bytes()));
        let digest = Sha256::digest(text("body"));
        let digest = HexDisplay(&digest).to_string();
        let query = canonical_query(query);
        let request = CanonicalRequest::new(text("method"), &path, &query, headers, &digest);
        let canonical = String::from_utf8(request.bytes.clone()).unwrap();
        assert_eq!(canonical, text("canonical"), "{name}");
        let authorization = signer.authorization(&request, &basic_time(SUITE_MS));
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders={}, Signature={}",
            text("signed"),
            text("signature")
        );
        assert_eq!(authorization, expected, "{name}");
    }
}

/// The paths and their forms are of the tests of AWS's SDK for Rust, and of Bedrock's reference.
#[test]
fn a_path_is_encoded_once_more() {
    for (path, canonical) in [
        (
            "/test/@connections/JBDvjfGEIAMCERw%3D",
            "/test/%40connections/JBDvjfGEIAMCERw%253D",
        ),
        (
            "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-west-2%3A892717189312%3Afunction%3Amy-rusty-fun/invocations",
            "/2015-03-31/functions/arn%253Aaws%253Alambda%253Aus-west-2%253A892717189312%253Afunction%253Amy-rusty-fun/invocations",
        ),
        (
            "/model/eu.amazon.nova-pro-v1:0/converse",
            "/model/eu.amazon.nova-pro-v1%3A0/converse",
        ),
        (
            "/model/eu.amazon.nova-pro-v1%3A0/converse",
            "/model/eu.amazon.nova-pro-v1%253A0/converse",
        ),
        (
            "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.x/converse",
            "/model/arn%253Aaws%253Abedrock%253Aeu-west-1%253A1%253Ainference-profile%252Feu.x/converse",
        ),
        ("", "/"),
        ("/", "/"),
        ("/..", "/"),
        ("/a//b/./../c/", "/a/c/"),
    ] {
        assert_eq!(canonical_path(path), canonical, "{path}");
    }
}

#[test]
fn a_query_has_one_form() {
    for (query, canonical) in [
        ("", ""),
        ("a", "a="),
        ("b=2&a=1&a=0", "a=0&a=1&b=2"),
        ("a=b%20c&d=e+f", "a=b%20c&d=e%20f"),
        ("a=%7e%2f/&a-=1&a%2B=2", "a=~%2F%2F&a%2B=2&a-=1"),
        ("a=b=c", "a=b%3Dc"),
    ] {
        assert_eq!(canonical_query(query), canonical, "{query}");
    }
}

/// As the test `double-url-encode` of AWS's SDK for Rust has it, with the time of that test and without a body.
#[test]
fn an_arn_in_a_path_has_the_signature_of_the_sdk() {
    let path = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-west-2%3A892717189312%3Afunction%3Amy-rusty-fun/invocations";
    let headers = [
        ("host", &b"lambda.us-east-2.amazonaws.com"[..]),
        ("x-amz-date", b"20210511T154045Z"),
    ];
    let empty = HexDisplay(&Sha256::digest("")).to_string();
    let request = CanonicalRequest::new("POST", &canonical_path(path), "", headers, &empty);
    let authorization =
        signer("us-east-2", "lambda", None).authorization(&request, "20210511T154045Z");
    let signature = "4b93abbcc68be32bd64c18e2c71150660ab4c29bbd6c32a383a7517a88fc1804";
    assert!(authorization.ends_with(signature), "{authorization}");
}

/// A request as a filter or a caller may have left it.
fn received() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "bedrock-runtime.eu-west-1.amazonaws.com"),
        ("content-type", "application/json"),
        ("traceparent", "00-1-1-01"),
        ("x-request-id", "1"),
        ("x-amz-meta", "kept"),
        ("x-amz-date", "19700101T000000Z"),
        ("x-amz-content-sha256", "UNSIGNED-PAYLOAD"),
        ("x-amz-security-token", "of-a-caller"),
        ("authorization", "AWS4-HMAC-SHA256 Credential=other"),
        ("authorization", "Bearer other"),
    ] {
        headers.append(name, value.parse().unwrap());
    }
    headers
}

fn signed(signer: &AwsSigner, now_ms: u64) -> HeaderMap {
    let mut headers = received();
    let target = Uri::from_static("/model/a%3A0/converse");
    signer.sign(&Method::POST, &target, &mut headers, [7; 32], now_ms);
    headers
}

#[test]
fn headers_of_a_signature_replace_those_of_their_names_and_others_are_not_signed() {
    for token in [None, Some("session-1")] {
        let headers = signed(&signer("eu-west-1", "bedrock", token), SUITE_MS);
        let all = |name: &str| {
            let values = headers.get_all(name).iter();
            let values: Vec<&HeaderValue> = values.collect();
            values
        };
        assert_eq!(all("x-amz-date"), ["20150830T123600Z"]);
        assert_eq!(all("x-amz-content-sha256"), [&*"07".repeat(32)]);
        assert_eq!(all("x-amz-security-token"), Vec::from_iter(token));
        let authorization = all("authorization");
        assert_eq!(authorization.len(), 1);
        assert!(authorization[0].is_sensitive());
        let authorization = authorization[0].to_str().unwrap();
        let names = match token {
            None => "content-type;host;x-amz-content-sha256;x-amz-date;x-amz-meta",
            Some(_) => {
                "content-type;host;x-amz-content-sha256;x-amz-date;x-amz-meta;x-amz-security-token"
            }
        };
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-west-1/bedrock/aws4_request, SignedHeaders={names}, Signature="
        );
        assert!(authorization.starts_with(&expected), "{authorization}");
        let token = headers.get(X_AMZ_SECURITY_TOKEN);
        assert!(token.is_none_or(HeaderValue::is_sensitive));
    }
}

#[test]
fn the_key_of_a_day_signs_until_that_day_is_over() {
    const DAY_MS: u64 = 24 * 3_600_000;
    let signer = signer("eu-west-1", "bedrock", None);
    let authorization = |now_ms| signed(&signer, now_ms)[header::AUTHORIZATION].clone();
    let first = authorization(SUITE_MS);
    assert_ne!(first, authorization(SUITE_MS + 1_000));
    let later = authorization(SUITE_MS + DAY_MS);
    let fresh = signed(
        &self::signer("eu-west-1", "bedrock", None),
        SUITE_MS + DAY_MS,
    );
    assert_eq!(later, fresh[header::AUTHORIZATION]);
    // A clock that was set back.
    assert_eq!(authorization(SUITE_MS), first);
}

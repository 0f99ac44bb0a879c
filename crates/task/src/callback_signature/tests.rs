//! Tests of signatures of callbacks, by families as they are written.

use super::InvalidCallbackSignature::{Malformed, Mismatch, Missing, NotNow, Repeated, TooMany};
use super::*;
use crate::definition::VideoFamilyDefinitionConfig;
use crate::families::SHIPPED;
use crate::family::VideoFamily;
use ring::signature::{Ed25519KeyPair, KeyPair};

const NOW: u64 = 1_649_367_553;
/// An example of the Standard Webhooks specification.
const STANDARD_SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const STANDARD_BODY: &str = r#"{"email":"test@example.com","username":"test_user"}"#;
const STANDARD_SIGNATURE: &str = "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=";

fn definition(family: &str) -> VideoFamilyDefinitionConfig {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == family).unwrap();
    serde_saphyr::from_str(text).unwrap()
}

/// The signature of a built-in family, or as it is written.
fn scheme(written: &str) -> CallbackSignatureScheme {
    let mut config = definition(if written == "fal" { "fal" } else { "replicate" });
    if written.starts_with('{') {
        config.callback = serde_saphyr::from_str(&format!("signature: {written}")).unwrap();
    }
    let family = VideoFamily::new("x", &config).unwrap();
    family.callback.signature.unwrap()
}

fn headers(values: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in values {
        headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    headers
}

fn secret(text: &str, form: CallbackSecretForm) -> CallbackVerificationKey {
    CallbackVerificationKey::from_secret(text, form).unwrap()
}

#[test]
fn a_callback_by_standard_webhooks_is_verified_as_the_specification_has_it() {
    let scheme = scheme("replicate");
    let name = |name: &str| name.parse::<HeaderName>().unwrap();
    let id = ("webhook-id", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk");
    let time = ("webhook-timestamp", "1649367553");
    let signature = ("webhook-signature", STANDARD_SIGNATURE);
    let other = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let among = format!("{other} v1a,x {STANDARD_SIGNATURE}");
    let ten_others = [other; 10].join(" ");
    let eleven = [STANDARD_SIGNATURE; 11].join(" ");
    let cases = [
        (vec![id, time, signature], NOW, Ok(())),
        (vec![id, time, signature], NOW + 300, Ok(())),
        (vec![id, time, signature], NOW - 300, Ok(())),
        (vec![id, time, ("webhook-signature", &*among)], NOW, Ok(())),
        (
            vec![id, time, signature],
            NOW + 301,
            Err(NotNow(name("webhook-timestamp"))),
        ),
        (
            vec![id, time, signature],
            NOW - 301,
            Err(NotNow(name("webhook-timestamp"))),
        ),
        (
            vec![id, ("webhook-timestamp", "now"), signature],
            NOW,
            Err(NotNow(name("webhook-timestamp"))),
        ),
        (
            vec![id, ("webhook-timestamp", "1649367554"), signature],
            NOW,
            Err(Mismatch),
        ),
        (
            vec![("webhook-id", "other"), time, signature],
            NOW,
            Err(Mismatch),
        ),
        (vec![time, signature], NOW, Err(Missing(name("webhook-id")))),
        (
            vec![id, signature],
            NOW,
            Err(Missing(name("webhook-timestamp"))),
        ),
        (vec![id, time], NOW, Err(Missing(name("webhook-signature")))),
        (
            vec![id, id, time, signature],
            NOW,
            Err(Repeated(name("webhook-id"))),
        ),
        (
            vec![id, time, ("webhook-signature", &*ten_others)],
            NOW,
            Err(Mismatch),
        ),
        (
            vec![id, time, ("webhook-signature", &*eleven)],
            NOW,
            Err(TooMany(name("webhook-signature"))),
        ),
        (
            vec![id, time, ("webhook-signature", "v1,")],
            NOW,
            Err(Mismatch),
        ),
        (
            vec![id, time, ("webhook-signature", "v1,?")],
            NOW,
            Err(Malformed(name("webhook-signature"))),
        ),
        (
            vec![id, time, ("webhook-signature", "v1a,AAAA")],
            NOW,
            Err(Malformed(name("webhook-signature"))),
        ),
    ];
    let form = CallbackSecretForm::StandardWebhooks;
    let keys = [
        secret("whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=", form),
        secret(STANDARD_SECRET, form),
    ];
    for (values, now, expected) in cases {
        let headers = headers(&values);
        let signed = (&headers, STANDARD_BODY.as_bytes());
        assert_eq!(
            scheme.verify(signed, &keys, now),
            expected,
            "{values:?} at {now}"
        );
        // What the head shows is known before the body is read.
        let head = scheme.check_head(&headers, now);
        assert_eq!(
            head.is_err(),
            expected.is_err() && expected != Err(Mismatch),
            "{values:?}"
        );
    }
    let headers = headers(&[id, time, signature]);
    let changed = (&headers, &b"{\"email\":\"other@example.com\"}"[..]);
    assert_eq!(scheme.verify(changed, &keys, NOW), Err(Mismatch));
    let unchanged = (&headers, STANDARD_BODY.as_bytes());
    assert_eq!(scheme.verify(unchanged, &keys[..1], NOW), Err(Mismatch));
    assert_eq!(scheme.verify(unchanged, &[], NOW), Err(Mismatch));
}

#[test]
fn a_callback_signed_by_ed25519_is_verified_with_each_published_key() {
    let scheme = scheme("fal");
    let pair = |seed: u8| Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
    let jwk = |seed: u8| {
        let key = URL_SAFE_NO_PAD.encode(pair(seed).public_key());
        format!(r#"{{"kty": "OKP", "crv": "Ed25519", "x": "{key}", "use": "sig"}}"#)
    };
    let set = |keys: &[String]| {
        let rsa = r#"{"kty": "RSA", "n": "AQAB", "e": "AQAB"}"#;
        let json = format!(r#"{{"keys": [{rsa}, {}]}}"#, keys.join(", "));
        CallbackVerificationKey::from_key_set(json.as_bytes()).unwrap()
    };
    let body = br#"{"request_id": "1", "status": "OK"}"#;
    let digest = format!("{:x}", Sha256::digest(body));
    let signed = format!("1\nuser\n{NOW}\n{digest}");
    let signature = pair(1).sign(signed.as_bytes());
    let hex: String = signature
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let time = NOW.to_string();
    let sent = |user: &str, signature: &str| {
        headers(&[
            ("x-fal-webhook-request-id", "1"),
            ("x-fal-webhook-user-id", user),
            ("x-fal-webhook-timestamp", &time),
            ("x-fal-webhook-signature", signature),
        ])
    };
    let true_one = sent("user", &hex);
    let verify = |headers: &HeaderMap, body: &[u8], keys: &[CallbackVerificationKey]| {
        scheme.verify((headers, body), keys, NOW)
    };
    assert_eq!(verify(&true_one, body, &set(&[jwk(2), jwk(1)])), Ok(()));
    assert_eq!(verify(&true_one, body, &set(&[jwk(2)])), Err(Mismatch));
    assert_eq!(verify(&true_one, b"{}", &set(&[jwk(1)])), Err(Mismatch));
    for (user, signature) in [("other", &*hex), ("user", &hex[2..]), ("user", "00")] {
        let forged = sent(user, signature);
        assert_eq!(
            verify(&forged, body, &set(&[jwk(1)])),
            Err(Mismatch),
            "{user} {signature}"
        );
    }
    for signature in ["x", "0", &hex[1..]] {
        let name = "x-fal-webhook-signature".parse().unwrap();
        let malformed = sent("user", signature);
        assert_eq!(
            verify(&malformed, body, &set(&[jwk(1)])),
            Err(Malformed(name))
        );
    }
}

#[test]
fn a_plain_hmac_is_over_the_body_and_written_as_the_family_has_it() {
    // RFC 4231, test case 2.
    let (key, body) = ("Jefe", b"what do ya want for nothing?");
    let hex = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    let base64 = "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=";
    let plain = "{kind: hmac_sha256, header: x-signature}";
    let prefixed = "{kind: hmac_sha256, header: x-signature, prefix: sha256=}";
    let in_base64 = "{kind: hmac_sha256, header: x-signature, encoding: base64}";
    let keys = [secret(key, CallbackSecretForm::Text)];
    for (written, value, is_verified) in [
        (plain, hex.to_owned(), true),
        (plain, hex.to_uppercase(), true),
        (prefixed, format!("sha256={hex}"), true),
        (prefixed, hex.to_owned(), false),
        (in_base64, base64.to_owned(), true),
        (in_base64, hex.to_owned(), false),
        (plain, hex[..62].to_owned(), false),
        (plain, String::new(), false),
    ] {
        let headers = headers(&[("x-signature", &value)]);
        let verified = scheme(written).verify((&headers, body), &keys, NOW);
        assert_eq!(
            verified.is_ok(),
            is_verified,
            "{written} {value}: {verified:?}"
        );
    }
}

#[test]
fn a_set_without_a_usable_key_has_none() {
    for json in [
        "",
        "[]",
        "{}",
        r#"{"keys": []}"#,
        r#"{"keys": [{"kty": "RSA", "n": "AQAB"}]}"#,
        r#"{"keys": [{"crv": "Ed25519", "x": "AAAA"}]}"#,
        r#"{"keys": [{"crv": "Ed25519", "x": "?"}]}"#,
    ] {
        let keys = CallbackVerificationKey::from_key_set(json.as_bytes());
        assert_eq!(keys, Err(NoPublishedKeys), "{json}");
    }
}

#[test]
fn a_secret_has_the_form_of_its_scheme_and_is_not_printed() {
    let standard = CallbackSecretForm::StandardWebhooks;
    for (text, form, is_secret) in [
        (STANDARD_SECRET, standard, true),
        ("whsec_", standard, false),
        ("whsec_?", standard, false),
        (&STANDARD_SECRET[6..], standard, false),
        ("any text", CallbackSecretForm::Text, true),
    ] {
        let key = CallbackVerificationKey::from_secret(text, form);
        assert_eq!(key.is_ok(), is_secret, "{text}");
    }
    assert_eq!(
        format!("{:?}", secret("any", CallbackSecretForm::Text)),
        "[key]"
    );
}

#[test]
fn a_signature_that_could_be_forged_is_refused_with_its_place() {
    for (written, place) in [
        ("{kind: hmac_sha256}", "/callback/signature"),
        ("{kind: ed25519, header: x}", "/callback/signature"),
        (
            "{kind: ed25519, header: x, jwks: keys.json}",
            "/callback/signature/jwks",
        ),
        (
            "{kind: hmac_sha256, header: x, jwks: 'https://x'}",
            "/callback/signature/jwks",
        ),
        (
            "{kind: hmac_sha256, header: a b}",
            "/callback/signature/header",
        ),
        (
            "{kind: hmac_sha256, header: x, timestamp: y}",
            "/callback/signature/timestamp",
        ),
        (
            "{kind: hmac_sha256, header: x, signed: '{y}'}",
            "/callback/signature/signed",
        ),
        (
            "{kind: hmac_sha256, header: x, signed: '{body'}",
            "/callback/signature/signed",
        ),
        (
            "{kind: hmac_sha256, header: x, signed: '{body}{a b}'}",
            "/callback/signature/signed",
        ),
    ] {
        let mut config = definition("replicate");
        config.callback = serde_saphyr::from_str(&format!("signature: {written}")).unwrap();
        let errors = VideoFamily::new("x", &config).unwrap_err();
        let places: Vec<_> = errors.iter().map(|error| &*error.pointer).collect();
        assert_eq!(places, [place], "{written}");
    }
}

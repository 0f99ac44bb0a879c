//! Forged and malformed tokens: each is refused before a provider sees the request, and none makes the gateway fetch keys at will.

use crate::harness::Request;
use crate::harness::error_shape::assert_error_body;
use crate::harness::token_issuer::{
    ISSUER, TokenSetup, TokenSigner, claims, claims_with, encode, now,
};
use headgate_protocol::Protocol;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

/// The keys of the issuer, and that of an attacker.
struct Signers {
    ed: TokenSigner,
    p256: TokenSigner,
    rsa: TokenSigner,
    attacker: TokenSigner,
}

impl Signers {
    fn new() -> Self {
        Self {
            ed: TokenSigner::ed25519("ed", 1),
            p256: TokenSigner::p256("p256"),
            rsa: TokenSigner::rsa("rsa"),
            attacker: TokenSigner::ed25519("ed", 66),
        }
    }

    /// A token of the issuer's with this header.
    fn header(&self, change: Value) -> String {
        let mut header = self.ed.header();
        for (name, value) in change.as_object().unwrap() {
            header[name] = value.clone();
        }
        self.ed.token_with(&header, &claims())
    }

    /// A token of the issuer's with these claims changed.
    fn claims(&self, change: Value) -> String {
        self.ed.token(&claims_with(change))
    }

    /// A token whose secret is what everybody knows of a key.
    fn hmac(&self, signer: &TokenSigner) -> String {
        let header = encode(json!({"alg": "HS256", "kid": signer.id}).to_string());
        let signed = format!("{header}.{}", encode(claims().to_string()));
        let mut mac = Hmac::<Sha256>::new_from_slice(&signer.public_bytes()).unwrap();
        mac.update(signed.as_bytes());
        format!("{signed}.{}", encode(mac.finalize().into_bytes()))
    }

    /// A token of the attacker's, with a header that brings its key.
    fn attacked(&self, change: Value) -> String {
        let mut header = self.attacker.header();
        for (name, value) in change.as_object().unwrap() {
            header[name] = value.clone();
        }
        self.attacker.token_with(&header, &claims())
    }

    /// A token with this signature.
    fn signature(&self, signer: &TokenSigner, signature: &[u8]) -> String {
        let header = encode(signer.header().to_string());
        format!(
            "{header}.{}.{}",
            encode(claims().to_string()),
            encode(signature)
        )
    }

    fn parts(&self, header: &str, claims: &str) -> String {
        self.ed.sign_parts(&encode(header), &encode(claims))
    }
}

fn about_algorithms(of: &Signers) -> Vec<(&'static str, String)> {
    let valid = of.ed.token(&claims());
    let (signed, _) = valid.rsplit_once('.').unwrap();
    let none = |name: &str| {
        let header = encode(json!({"alg": name, "kid": "ed"}).to_string());
        format!("{header}.{}.", encode(claims().to_string()))
    };
    let pss = {
        let header = encode(json!({"alg": "PS256", "kid": "rsa"}).to_string());
        let signed = format!("{header}.{}", encode(claims().to_string()));
        format!("{signed}.{}", encode(of.rsa.sign_pss(signed.as_bytes())))
    };
    vec![
        ("alg none", none("none")),
        ("alg None", none("None")),
        ("alg nOnE", none("nOnE")),
        (
            "alg none with a signature",
            of.header(json!({"alg": "none"})),
        ),
        ("no alg", of.parts(r#"{"kid":"ed"}"#, &claims().to_string())),
        ("alg of another type", of.header(json!({"alg": ["EdDSA"]}))),
        ("alg in other letters", of.header(json!({"alg": "eddsa"}))),
        ("HS256 with the key of RSA", of.hmac(&of.rsa)),
        ("HS256 with the key of P-256", of.hmac(&of.p256)),
        ("HS256 with the key of Ed25519", of.hmac(&of.ed)),
        (
            "RS256 for a key of Ed25519",
            of.header(json!({"alg": "RS256"})),
        ),
        (
            "ES256 for a key of Ed25519",
            of.header(json!({"alg": "ES256"})),
        ),
        ("EdDSA for a key of RSA", of.header(json!({"kid": "rsa"}))),
        ("an algorithm that is not listed", pss),
        ("a signature that is empty", format!("{signed}.")),
    ]
}

fn about_headers(of: &Signers) -> Vec<(&'static str, String)> {
    let jwk = of.attacker.published();
    let url = "https://attacker.example/keys";
    vec![
        ("jku", of.attacked(json!({"jku": url}))),
        (
            "jku with the issuer's signature",
            of.header(json!({"jku": url})),
        ),
        ("jwk", of.attacked(json!({"jwk": jwk}))),
        ("x5u", of.attacked(json!({"x5u": url}))),
        ("x5c", of.attacked(json!({"x5c": ["MIIB"]}))),
        ("crit", of.header(json!({"crit": ["exp"]}))),
        ("b64", of.header(json!({"b64": false}))),
        ("zip", of.header(json!({"zip": "DEF"}))),
        ("a nested token", of.header(json!({"cty": "JWT"}))),
        ("typ of another kind", of.header(json!({"typ": "dpop+jwt"}))),
        ("typ of another type", of.header(json!({"typ": 1}))),
        ("kid of another type", of.header(json!({"kid": 1}))),
        ("an empty kid", of.header(json!({"kid": ""}))),
        ("a long kid", of.header(json!({"kid": "k".repeat(257)}))),
        (
            "a kid that is a path",
            of.header(json!({"kid": "../../dev/null"})),
        ),
        ("an unknown kid", of.header(json!({"kid": "other"}))),
        (
            "alg twice",
            of.parts(
                r#"{"alg":"EdDSA","kid":"ed","alg":"EdDSA"}"#,
                &claims().to_string(),
            ),
        ),
        (
            "a header that is a list",
            of.parts(r#"["EdDSA"]"#, &claims().to_string()),
        ),
    ]
}

fn about_forms(of: &Signers) -> Vec<(&'static str, String)> {
    let valid = of.ed.token(&claims());
    let parts: Vec<&str> = valid.split('.').collect();
    let [header, payload, signature] = parts[..] else {
        panic!("three parts")
    };
    let changed = encode(claims_with(json!({"sub": "root"})).to_string());
    // The last character has four bits that are not of the signature.
    let last = signature.len() - 1;
    let bits = match &signature[last..] {
        "A" => "B",
        "Q" => "R",
        "g" => "h",
        _ => "x",
    };
    let der = [&[0x30, 0x44, 2, 0x20][..], &[1; 32], &[2, 0x20], &[1; 32]].concat();
    let twice = format!(
        "{},\"sub\":\"root\"}}",
        claims().to_string().trim_end_matches('}')
    );
    vec![
        ("a JWE", format!("{valid}.a.b")),
        ("two parts", format!("{header}.{payload}")),
        ("four parts", format!("{valid}.a")),
        ("padding", format!("{header}.{payload}.{signature}=")),
        (
            "bits after the signature",
            format!("{header}.{payload}.{}{bits}", &signature[..last]),
        ),
        (
            "characters of base64",
            format!("{header}.{payload}.{}+/", &signature[..last - 1]),
        ),
        (
            "a signature cut off",
            format!("{header}.{payload}.{}", &signature[..last - 3]),
        ),
        ("other claims", format!("{header}.{changed}.{signature}")),
        ("another key's signature", of.attacker.token(&claims())),
        (
            "zeros for a signature of P-256",
            of.signature(&of.p256, &[0; 64]),
        ),
        ("a signature of P-256 in DER", of.signature(&of.p256, &der)),
        (
            "ones for a signature of RSA",
            of.signature(&of.rsa, &[1; 256]),
        ),
        ("sub twice", of.parts(&of.ed.header().to_string(), &twice)),
        (
            "claims that are a list",
            of.parts(&of.ed.header().to_string(), "[]"),
        ),
        (
            "claims that are not JSON",
            of.parts(&of.ed.header().to_string(), "{"),
        ),
        (
            "a long token",
            of.claims(json!({"pad": "x".repeat(12_500)})),
        ),
    ]
}

fn about_claims(of: &Signers) -> Vec<(&'static str, String)> {
    let now = now();
    vec![
        ("no exp", of.claims(json!({"exp": null}))),
        (
            "exp as text",
            of.claims(json!({"exp": (now + 600).to_string()})),
        ),
        ("exp in the past", of.claims(json!({"exp": now - 90}))),
        ("exp beyond all time", of.claims(json!({"exp": 1e300}))),
        ("exp below zero", of.claims(json!({"exp": -1}))),
        ("nbf in the future", of.claims(json!({"nbf": now + 90}))),
        ("nbf as text", of.claims(json!({"nbf": "now"}))),
        ("iat in the future", of.claims(json!({"iat": now + 90}))),
        ("no aud", of.claims(json!({"aud": null}))),
        ("another aud", of.claims(json!({"aud": "other"}))),
        ("aud that begins so", of.claims(json!({"aud": "headgate2"}))),
        ("no aud in the list", of.claims(json!({"aud": []}))),
        (
            "aud with another type",
            of.claims(json!({"aud": ["headgate", 1]})),
        ),
        ("no iss", of.claims(json!({"iss": null}))),
        (
            "another iss",
            of.claims(json!({"iss": "https://attacker.example"})),
        ),
        (
            "iss with a slash",
            of.claims(json!({"iss": format!("{ISSUER}/")})),
        ),
        ("iss as a list", of.claims(json!({"iss": [ISSUER]}))),
        ("no sub", of.claims(json!({"sub": null}))),
        ("an empty sub", of.claims(json!({"sub": ""}))),
        ("sub with a line", of.claims(json!({"sub": "a\nb"}))),
        ("sub with a space", of.claims(json!({"sub": "a b"}))),
        ("a long sub", of.claims(json!({"sub": "a".repeat(129)}))),
        ("sub as a list", of.claims(json!({"sub": ["alice"]}))),
    ]
}

#[tokio::test]
async fn no_forged_token_passes_and_none_makes_the_gateway_fetch_keys_at_will() {
    let signers = Signers::new();
    let known = [&signers.ed, &signers.p256, &signers.rsa];
    let world = TokenSetup::start(&known).await;
    let ask = |token: &str| Request::ask(Protocol::Chat).key(token);
    for signer in known {
        let answer = world.gateway.ask(&ask(&signer.token(&claims()))).await;
        assert_eq!(answer.status, 200, "{}: {}", signer.id, answer.text());
    }
    let forms = [
        about_algorithms(&signers),
        about_headers(&signers),
        about_forms(&signers),
        about_claims(&signers),
    ]
    .concat();
    assert!(forms.len() >= 70, "{} forms", forms.len());
    for (form, token) in forms {
        let answer = world.gateway.ask(&ask(&token)).await;
        assert_eq!(answer.status, 401, "{form}: {}", answer.text());
        assert_error_body(Protocol::Chat, &answer, 401);
        let line = world.gateway.log_of(&answer).await;
        // What has not three parts is taken for a key.
        let detail = line["error_detail"].as_str().unwrap_or_default();
        let has_form = token.matches('.').count() == 2;
        assert_eq!(detail.starts_with("token"), has_form, "{form}: {line}");
        assert!(line["caller"].is_null(), "{form}: {line}");
        let text = answer.text();
        assert!(
            text.contains("Incorrect API key provided"),
            "{form}: {text}"
        );
    }
    let sent = world.simulator.records().await.len();
    assert_eq!(sent, known.len(), "only valid tokens reach the provider");
    // The first fetch, and one for all keys that are not known.
    assert_eq!(world.issuer.fetches(), 2);
}

#[tokio::test]
async fn a_token_is_read_from_one_header_only() {
    let signer = TokenSigner::ed25519("ed", 1);
    let world = TokenSetup::start(&[&signer]).await;
    let token = signer.token(&claims());
    let request = Request::ask(Protocol::Messages).without("authorization");
    let answer = world
        .gateway
        .ask(&request.without("x-api-key").header("x-api-key", &token))
        .await;
    assert_eq!(answer.status, 401, "{}", answer.text());
}

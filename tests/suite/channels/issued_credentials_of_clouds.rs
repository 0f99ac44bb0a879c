//! Tests of credentials that Microsoft Entra, Google and their metadata servers issue: each request for a token is that of the
//! vendor's documentation.

use crate::harness::certificates::Authority;
use crate::harness::config::{self, channel};
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use crate::harness::token_endpoint::TokenEndpoint;
use crate::harness::token_issuer::{RSA_KEY, TokenSigner, encode};
use crate::harness::{Gateway, Request, eventually};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headgate_protocol::Protocol;
use headgate_protocol::percent_encoding::decoded;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;

const TENANT: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";
const CLIENT: &str = "11112222-3333-4444-5555-666677778888";
const SECRET: &str = "entra-canary~8Q/+";
const SCOPE: &str = "https://cognitiveservices.azure.com/.default";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A gateway with one channel, whose credential is this one, in a folder with these files.
pub async fn gateway_with(
    endpoint: &TokenEndpoint,
    folder: Folder,
    credential: Value,
    variables: &[(&str, String)],
) -> Gateway {
    let mut config = config::standard(&endpoint.provider.url());
    let url = endpoint.provider.url();
    config["channels"] = json!({"cloud": channel(&url, &["chat"], credential)});
    Gateway::start_with_variables(folder, &config, variables).await
}

pub async fn assert_serves(gateway: &Gateway) {
    let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 200, "{}", response.text());
}

/// The first line of a request, and the fields of its form.
pub fn form_of(request: &str) -> (String, BTreeMap<String, String>) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let fields = body.split('&').filter_map(|field| field.split_once('='));
    let fields = fields.map(|(name, value)| (name.to_owned(), decoded(value).into_owned()));
    (head.lines().next().unwrap().to_owned(), fields.collect())
}

/// Head and claims of a token, whose signature must be that of the key.
fn verified(token: &str) -> (Value, Value) {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    // The signature of RSASSA-PKCS1-v1_5 is the same each time.
    let expected = TokenSigner::rsa("key-1").sign(signed.as_bytes());
    assert_eq!(signature, encode(expected));
    let part = |at: usize| {
        let part = signed.split('.').nth(at).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    (part(0), part(1))
}

fn private_key() -> String {
    let key = RSA_KEY.trim();
    format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n")
}

#[tokio::test]
async fn an_application_of_entra_shows_its_secret() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let authority = endpoint.url();
    let credential = json!({"azure": {
        "tenant": TENANT, "client_id": CLIENT, "client_secret": SECRET, "authority": authority,
    }});
    let gateway = gateway_with(&endpoint, folder_with_schemas(), credential, &[]).await;
    assert_serves(&gateway).await;
    let (line, form) = form_of(&endpoint.last_request());
    assert_eq!(line, format!("POST /{TENANT}/oauth2/v2.0/token HTTP/1.1"));
    let expected = [
        ("client_id", CLIENT),
        ("client_secret", SECRET),
        ("grant_type", "client_credentials"),
        ("scope", SCOPE),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(form, BTreeMap::from(expected));
}

#[tokio::test]
async fn an_application_of_entra_shows_a_certificate() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let authority = endpoint.url();
    let folder = folder_with_schemas();
    // Entra knows the certificate by its thumbprint, whatever key it has.
    let certificate = Authority::new().pem();
    folder.write("application.pem", format!("{certificate}{}", private_key()));
    let credential = json!({"azure": {
        "tenant": TENANT, "client_id": CLIENT, "certificate": "application.pem", "authority": authority,
    }});
    let gateway = gateway_with(&endpoint, folder, credential, &[]).await;
    assert_serves(&gateway).await;
    let (_, form) = form_of(&endpoint.last_request());
    assert_eq!(form["client_assertion_type"], ASSERTION_TYPE);
    assert!(!form.contains_key("client_secret"));
    let (head, claims) = verified(&form["client_assertion"]);
    let thumbprint = head["x5t#S256"].as_str().unwrap();
    assert_eq!(URL_SAFE_NO_PAD.decode(thumbprint).unwrap().len(), 32);
    assert_eq!(
        (&head["alg"], &head["typ"]),
        (&json!("RS256"), &json!("JWT"))
    );
    let audience = format!("{authority}/{TENANT}/oauth2/v2.0/token");
    assert_eq!(claims["aud"], json!(audience));
    assert_eq!(
        (&claims["iss"], &claims["sub"]),
        (&json!(CLIENT), &json!(CLIENT))
    );
    let lifetime = claims["exp"].as_u64().unwrap() - claims["nbf"].as_u64().unwrap();
    assert_eq!(lifetime, 610);
}

#[tokio::test]
async fn a_federated_token_is_read_for_each_fetch() {
    let endpoint = TokenEndpoint::start(2).await;
    let folder = folder_with_schemas();
    let file = folder.write("federated", "workload-canary-1\n");
    let credential = json!({"azure": {
        "tenant": TENANT, "client_id": CLIENT, "federated_token_file": "${AZURE_FEDERATED_TOKEN_FILE}",
        "authority": endpoint.url(),
    }});
    let variables = [(
        "AZURE_FEDERATED_TOKEN_FILE",
        file.to_str().unwrap().to_owned(),
    )];
    let gateway = gateway_with(&endpoint, folder, credential, &variables).await;
    assert_serves(&gateway).await;
    let (_, form) = form_of(&endpoint.last_request());
    assert_eq!(form["client_assertion"], "workload-canary-1");
    gateway.folder.write("federated", "workload-canary-2");
    eventually("the next token", async || {
        let (_, form) = form_of(&endpoint.last_request());
        (form["client_assertion"] == "workload-canary-2").then_some(())
    })
    .await;
    let output = gateway.process.stderr.all().concat();
    assert!(!output.contains("workload-canary"), "{output}");
}

#[tokio::test]
async fn a_managed_identity_is_asked_for_at_the_machine() {
    for (id, query) in [
        (None, ""),
        (
            Some(CLIENT),
            "&client_id=11112222-3333-4444-5555-666677778888",
        ),
    ] {
        let endpoint = TokenEndpoint::start(3_600).await;
        let mut azure = json!({"managed_identity": true});
        if let Some(id) = id {
            azure["client_id"] = json!(id);
        }
        let host = [("AZURE_POD_IDENTITY_AUTHORITY_HOST", endpoint.url())];
        let credential = json!({"azure": azure});
        let gateway = gateway_with(&endpoint, folder_with_schemas(), credential, &host).await;
        assert_serves(&gateway).await;
        let request = endpoint.last_request();
        let line = format!(
            "GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fcognitiveservices.azure.com{query} HTTP/1.1"
        );
        assert_eq!(request.lines().next(), Some(&*line));
        assert!(
            request.to_lowercase().contains("\r\nmetadata: true\r\n"),
            "{request}"
        );
    }
}

#[tokio::test]
async fn a_service_account_of_google_signs_an_assertion() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let folder = folder_with_schemas();
    let token_url = format!("{}/token", endpoint.url());
    let account = json!({
        "type": "service_account",
        "project_id": "project-1",
        "private_key_id": "key-1",
        "private_key": private_key(),
        "client_email": "gateway@project-1.iam.gserviceaccount.com",
        "token_uri": "https://oauth2.googleapis.com/token",
    });
    folder.write("account.json", account.to_string());
    let credential = json!({"gcp": {"credentials_file": "account.json", "token_url": token_url}});
    let gateway = gateway_with(&endpoint, folder, credential, &[]).await;
    assert_serves(&gateway).await;
    let (line, form) = form_of(&endpoint.last_request());
    assert_eq!(line, "POST /token HTTP/1.1");
    assert_eq!(
        form["grant_type"],
        "urn:ietf:params:oauth:grant-type:jwt-bearer"
    );
    let (head, claims) = verified(&form["assertion"]);
    assert_eq!(head, json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"}));
    assert_eq!(claims["iss"], "gateway@project-1.iam.gserviceaccount.com");
    assert_eq!(claims["aud"], json!(token_url));
    assert_eq!(
        claims["scope"],
        "https://www.googleapis.com/auth/cloud-platform"
    );
    let lifetime = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
    assert_eq!(lifetime, 3_600);
}

#[tokio::test]
async fn the_metadata_server_of_google_is_asked_with_its_header() {
    let endpoint = TokenEndpoint::start(3_600).await;
    let host = [("GCE_METADATA_HOST", endpoint.server.address.to_string())];
    let credential = json!({"gcp": {"metadata_server": true}});
    let gateway = gateway_with(&endpoint, folder_with_schemas(), credential, &host).await;
    assert_serves(&gateway).await;
    let request = endpoint.last_request();
    let path = "/computeMetadata/v1/instance/service-accounts/default/token";
    let scopes = "scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform";
    assert_eq!(
        request.lines().next(),
        Some(&*format!("GET {path}?{scopes} HTTP/1.1"))
    );
    assert!(
        request
            .to_lowercase()
            .contains("\r\nmetadata-flavor: google\r\n"),
        "{request}"
    );
}

#[test]
fn a_file_that_names_another_server_than_googles_gets_no_assertion() {
    let folder = folder_with_schemas();
    for (change, reason) in [
        (
            json!({"token_uri": "https://oauth2.evil.example/token"}),
            "not at Google",
        ),
        (
            json!({"token_uri": "http://oauth2.googleapis.com/token"}),
            "not at Google",
        ),
        (
            json!({"token_uri": "https://googleapis.com.evil.example/"}),
            "not at Google",
        ),
        (json!({"type": "authorized_user"}), "`authorized_user`"),
        (json!({"private_key": "none"}), "no private key"),
    ] {
        let mut account = json!({
            "type": "service_account",
            "private_key": private_key(),
            "client_email": "gateway@project-1.iam.gserviceaccount.com",
            "token_uri": "https://oauth2.googleapis.com/token",
        });
        for (name, value) in change.as_object().unwrap() {
            account[name] = value.clone();
        }
        folder.write("account.json", account.to_string());
        let mut config = config::standard("https://models.example");
        let credential = json!({"gcp": {"credentials_file": "account.json"}});
        config["channels"] =
            json!({"cloud": channel("https://models.example", &["chat"], credential)});
        folder.write("routes.yaml", format!("{config:#}"));
        let output = Command::new(BINARY)
            .args(["check", "routes.yaml"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains(reason),
            "{change}: {text}"
        );
    }
}

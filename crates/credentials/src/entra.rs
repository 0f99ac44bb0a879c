//! Access tokens of Microsoft Entra for an application: by its secret, a certificate, or a token of another issuer.

use crate::issuer::CredentialIssuer;
use crate::token_file::read_token_file;
use crate::token_response::read_token;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headgate_core::callout::ServiceClient;
use headgate_core::catalog::jwt_key::JwtKey;
use headgate_core::credentials::credential_source::{CredentialIssueFuture, CredentialSource};
use headgate_core::credentials::temporary_credential::{
    CredentialSourceError, TemporaryCredential,
};
use headgate_core::random::random_hex;
use headgate_core::state::calendar::unix_ms;
use http::HeaderMap;
use serde_json::json;
use std::path::PathBuf;

/// The tokens of an application.
pub struct EntraSource {
    /// The token endpoint of the tenant.
    pub issuer: CredentialIssuer,
    /// The URL of that endpoint, which assertions name as their audience.
    pub token_url: Box<str>,
    pub client_id: Box<str>,
    pub client: EntraClient,
    /// Such as `https://cognitiveservices.azure.com/.default`.
    pub scope: Box<str>,
}

/// How an application shows who it is.
pub enum EntraClient {
    Secret(Box<str>),
    Certificate {
        key: JwtKey,
        /// The SHA-256 of the certificate in DER.
        thumbprint: [u8; 32],
    },
    /// A file with a token that the cluster issues and writes anew (workload identity). It is read for each fetch.
    FederatedToken(PathBuf),
}

/// The lifetime of an assertion, in seconds.
const ASSERTION_LIFETIME: u64 = 600;
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

impl EntraSource {
    async fn fetch(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<TemporaryCredential, CredentialSourceError> {
        let mut form = vec![
            ("grant_type", "client_credentials"),
            ("client_id", &*self.client_id),
            ("scope", &*self.scope),
        ];
        let assertion = match &self.client {
            EntraClient::Secret(_) => None,
            EntraClient::Certificate { key, thumbprint } => {
                Some(self.assertion(key, thumbprint, unix_ms() / 1_000)?)
            }
            EntraClient::FederatedToken(path) => Some(read_token_file(path).await?),
        };
        let secret = match (&self.client, &assertion) {
            (EntraClient::Secret(secret), _) => {
                form.push(("client_secret", secret));
                &**secret
            }
            (_, assertion) => {
                let assertion = assertion.as_deref().unwrap_or_default();
                form.push(("client_assertion_type", ASSERTION_TYPE));
                form.push(("client_assertion", assertion));
                assertion
            }
        };
        let response = self.issuer.post_form(client, HeaderMap::new(), &form);
        read_token(&response.await?, &[secret])
    }

    /// An assertion of the time `now`, in Unix seconds (Entra's documentation, *Certificate credentials*).
    fn assertion(
        &self,
        key: &JwtKey,
        thumbprint: &[u8; 32],
        now: u64,
    ) -> Result<String, CredentialSourceError> {
        let header = json!({"typ": "JWT", "x5t#S256": URL_SAFE_NO_PAD.encode(thumbprint)});
        let claims = json!({
            "aud": &*self.token_url,
            "iss": &*self.client_id,
            "sub": &*self.client_id,
            "jti": random_hex(4),
            "nbf": now.saturating_sub(10),
            "iat": now.saturating_sub(10),
            "exp": now + ASSERTION_LIFETIME,
        });
        let signed = key.token(header, &claims.to_string());
        signed.map_err(|error| CredentialSourceError(error.to_string()))
    }
}

impl CredentialSource for EntraSource {
    fn issue<'a>(&'a self, client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a> {
        Box::pin(self.fetch(client))
    }
}

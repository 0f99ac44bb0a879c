//! Access tokens of Google for a service account with a key, by a signed assertion (RFC 7523; Google's guide *Using OAuth 2.0
//! for Server to Server Applications*).

use crate::issuer::CredentialIssuer;
use crate::token_response::read_token;
use headgate_core::callout::ServiceClient;
use headgate_core::catalog::jwt_key::JwtKey;
use headgate_core::credentials::credential_source::{CredentialIssueFuture, CredentialSource};
use headgate_core::credentials::temporary_credential::{
    CredentialSourceError, TemporaryCredential,
};
use headgate_core::state::calendar::unix_ms;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::json;

/// The tokens of a service account.
pub struct ServiceAccountSource {
    /// The server of `token_uri`.
    pub issuer: CredentialIssuer,
    pub account: ServiceAccount,
    pub key: JwtKey,
    /// Such as `https://www.googleapis.com/auth/cloud-platform`.
    pub scope: Box<str>,
}

/// A file of a service account as Google issues it.
#[derive(Deserialize)]
pub struct ServiceAccount {
    pub client_email: Box<str>,
    /// In PEM.
    pub private_key: String,
    pub private_key_id: Option<Box<str>>,
    pub token_uri: Box<str>,
}

/// The longest lifetime of an assertion, in seconds.
const ASSERTION_LIFETIME: u64 = 3_600;
/// How far the clock of the server may be behind, in seconds.
const CLOCK_SKEW: u64 = 10;
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

impl ServiceAccountSource {
    async fn fetch(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<TemporaryCredential, CredentialSourceError> {
        let assertion = self.assertion(unix_ms() / 1_000)?;
        let form = [("grant_type", GRANT_TYPE), ("assertion", &assertion)];
        let response = self.issuer.post_form(client, HeaderMap::new(), &form);
        read_token(&response.await?, &[&assertion])
    }

    /// An assertion of the time `now`, in Unix seconds.
    fn assertion(&self, now: u64) -> Result<String, CredentialSourceError> {
        let began = now.saturating_sub(CLOCK_SKEW);
        let claims = json!({
            "iss": &*self.account.client_email,
            "scope": &*self.scope,
            "aud": &*self.account.token_uri,
            "iat": began,
            "exp": began + ASSERTION_LIFETIME,
        });
        let mut header = json!({"typ": "JWT"});
        if let Some(id) = &self.account.private_key_id {
            header["kid"] = json!(&**id);
        }
        let signed = self.key.token(header, &claims.to_string());
        signed.map_err(|error| CredentialSourceError(error.to_string()))
    }
}

impl CredentialSource for ServiceAccountSource {
    fn issue<'a>(&'a self, client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a> {
        Box::pin(self.fetch(client))
    }
}

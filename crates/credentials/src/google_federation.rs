//! Access tokens of Google for a workload of another cloud or cluster, in exchange for its token (RFC 8693), and those of a service
//! account that it may impersonate (Google's guide *Workload Identity Federation*, AIP-4117).

use crate::expiry::time_until;
use crate::issuer::{CredentialIssuer, IssuerResponse};
use crate::subject_token::SubjectToken;
use crate::token_response::{read_token, refusal};
use headgate_core::callout::ServiceClient;
use headgate_core::credentials::credential_source::{CredentialIssueFuture, CredentialSource};
use headgate_core::credentials::temporary_credential::{
    CredentialProof, CredentialSourceError, TemporaryCredential,
};
use http::{HeaderMap, header};
use serde::Deserialize;
use serde_json::json;

/// The tokens of a workload that a pool of identities knows.
pub struct FederatedWorkloadSource {
    /// Google's Security Token Service.
    pub issuer: CredentialIssuer,
    /// The provider of the pool, such as `//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q`.
    pub audience: Box<str>,
    /// Such as `urn:ietf:params:oauth:token-type:jwt`.
    pub subject_token_type: Box<str>,
    pub subject_token: SubjectToken,
    pub impersonation: Option<ServiceAccountImpersonation>,
    pub scope: Box<str>,
}

/// How the tokens of a service account are asked for by one who may impersonate it.
pub struct ServiceAccountImpersonation {
    /// The server, with the path `…:generateAccessToken` of the account.
    pub issuer: CredentialIssuer,
    /// How long its tokens are valid, in seconds.
    pub lifetime_seconds: u32,
}

/// The response to a request for the token of a service account.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImpersonatedToken {
    access_token: String,
    /// In RFC 3339.
    expire_time: String,
}

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// What a token must be for that is exchanged for the one of a service account.
const IMPERSONATION_SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

impl FederatedWorkloadSource {
    async fn fetch(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<TemporaryCredential, CredentialSourceError> {
        let subject_token = self.subject_token.read(client).await?;
        let scope = match &self.impersonation {
            Some(_) => IMPERSONATION_SCOPE,
            None => &self.scope,
        };
        let form = [
            ("grant_type", GRANT_TYPE),
            ("audience", &*self.audience),
            ("scope", scope),
            ("requested_token_type", ACCESS_TOKEN),
            ("subject_token", &*subject_token),
            ("subject_token_type", &*self.subject_token_type),
        ];
        let response = self.issuer.post_form(client, HeaderMap::new(), &form);
        let federated = read_token(&response.await?, &[&subject_token])?;
        match &self.impersonation {
            None => Ok(federated),
            Some(impersonation) => impersonation.fetch(client, federated, &self.scope).await,
        }
    }
}

impl ServiceAccountImpersonation {
    async fn fetch(
        &self,
        client: &dyn ServiceClient,
        federated: TemporaryCredential,
        scope: &str,
    ) -> Result<TemporaryCredential, CredentialSourceError> {
        let CredentialProof::Bearer(authorization) = federated.proof else {
            unreachable!("the Security Token Service issues bearer tokens");
        };
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, authorization)]);
        let scopes: Vec<&str> = scope.split_ascii_whitespace().collect();
        let body = json!({"scope": scopes, "lifetime": format!("{}s", self.lifetime_seconds)});
        let response = self.issuer.post_json(client, headers, &body).await?;
        let IssuerResponse { host, content, .. } = &response;
        if !content.status.is_success() {
            return Err(refusal(&response, &[]));
        }
        let invalid = |reason: &str| {
            CredentialSourceError(format!("{host} answered without a usable token: {reason}"))
        };
        let token: ImpersonatedToken = serde_json::from_slice(&content.body)
            .map_err(|_| invalid("the body lacks `accessToken` or `expireTime`"))?;
        let lifetime = time_until(&token.expire_time, &content.headers).map_err(invalid)?;
        TemporaryCredential::bearer(&token.access_token, lifetime)
            .map_err(|error| invalid(&error.0))
    }
}

impl CredentialSource for FederatedWorkloadSource {
    fn issue<'a>(&'a self, client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a> {
        Box::pin(self.fetch(client))
    }
}

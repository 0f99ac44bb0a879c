//! Access tokens of Entra for the managed identity of a machine of Azure, from its metadata server.

use crate::issuer::CredentialIssuer;
use crate::token_response::read_token;
use headgate_core::callout::ServiceClient;
use headgate_core::credentials::credential_source::{CredentialIssueFuture, CredentialSource};
use headgate_core::credentials::temporary_credential::{
    CredentialSourceError, TemporaryCredential,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// The tokens of a managed identity.
pub struct ManagedIdentitySource {
    /// The server, with the path of the token.
    pub issuer: CredentialIssuer,
    /// What the tokens are for, such as `https://cognitiveservices.azure.com`.
    pub resource: Box<str>,
    /// The id of an identity that a user assigned; the machine's own if `None`.
    pub client_id: Option<Box<str>>,
}

/// The URL of the token on machines of Azure.
pub const TOKEN_URL: &str = "http://169.254.169.254/metadata/identity/oauth2/token";
/// The version of the API of Azure's documentation, *How to use managed identities on an Azure VM*.
const API_VERSION: &str = "2018-02-01";
const METADATA: HeaderName = HeaderName::from_static("metadata");

impl ManagedIdentitySource {
    async fn fetch(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<TemporaryCredential, CredentialSourceError> {
        let headers = HeaderMap::from_iter([(METADATA, HeaderValue::from_static("true"))]);
        let mut query = vec![("api-version", API_VERSION), ("resource", &*self.resource)];
        query.extend(self.client_id.as_deref().map(|id| ("client_id", id)));
        let asked = self
            .issuer
            .request(client, Method::GET, None, &query, headers);
        read_token(&asked.await?, &[])
    }
}

impl CredentialSource for ManagedIdentitySource {
    fn issue<'a>(&'a self, client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a> {
        Box::pin(self.fetch(client))
    }
}

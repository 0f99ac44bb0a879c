//! Access tokens of the service account that a machine of Google Cloud runs as, from its metadata server.

use crate::issuer::CredentialIssuer;
use crate::token_response::read_token;
use headgate_core::callout::ServiceClient;
use headgate_core::credentials::credential_source::{CredentialIssueFuture, CredentialSource};
use headgate_core::credentials::temporary_credential::{
    CredentialSourceError, TemporaryCredential,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// The tokens of the machine's service account.
pub struct MetadataServerSource {
    /// The server, with the path of the token.
    pub issuer: CredentialIssuer,
    pub scope: Box<str>,
}

/// The URL of the token on machines of Google Cloud.
pub const TOKEN_URL: &str =
    "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token";
const METADATA_FLAVOR: HeaderName = HeaderName::from_static("metadata-flavor");

impl MetadataServerSource {
    async fn fetch(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<TemporaryCredential, CredentialSourceError> {
        let google = HeaderValue::from_static("Google");
        let headers = HeaderMap::from_iter([(METADATA_FLAVOR, google)]);
        let query = [("scopes", &*self.scope)];
        let asked = self
            .issuer
            .request(client, Method::GET, None, &query, headers);
        read_token(&asked.await?, &[])
    }
}

impl CredentialSource for MetadataServerSource {
    fn issue<'a>(&'a self, client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a> {
        Box::pin(self.fetch(client))
    }
}

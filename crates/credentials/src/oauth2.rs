//! Access tokens by client credentials (RFC 6749, section 4.4), from any token endpoint.

use crate::issuer::CredentialIssuer;
use crate::token_response::read_token;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headgate_core::callout::ServiceClient;
use headgate_core::credentials::credential_source::{CredentialIssueFuture, CredentialSource};
use headgate_core::credentials::temporary_credential::{
    CredentialSourceError, TemporaryCredential,
};
use headgate_protocol::percent_encoding::push_component;
use http::{HeaderMap, HeaderValue, header};

/// The tokens of one client at one token endpoint.
pub struct OAuth2Source {
    pub issuer: CredentialIssuer,
    pub client_id: Box<str>,
    pub client_secret: Box<str>,
    pub client_authentication: ClientAuthentication,
    /// Fields of the form besides the type of the grant, such as `scope`.
    pub fields: Vec<(Box<str>, Box<str>)>,
}

/// Where a client has its secret (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientAuthentication {
    /// The header `authorization`, which every server takes.
    Basic,
    /// The form.
    Post,
}

impl OAuth2Source {
    async fn fetch(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<TemporaryCredential, CredentialSourceError> {
        let mut headers = HeaderMap::new();
        let mut form = vec![("grant_type", "client_credentials")];
        match self.client_authentication {
            ClientAuthentication::Basic => {
                headers.insert(header::AUTHORIZATION, self.basic());
            }
            ClientAuthentication::Post => form.extend([
                ("client_id", &*self.client_id),
                ("client_secret", &*self.client_secret),
            ]),
        }
        form.extend(self.fields.iter().map(|(name, value)| (&**name, &**value)));
        let response = self.issuer.post_form(client, headers, &form).await?;
        read_token(&response, &[&self.client_secret])
    }

    /// Id and secret, each encoded as in a form, so that neither a colon nor another character is ambiguous.
    fn basic(&self) -> HeaderValue {
        let mut pair = String::new();
        push_component(&mut pair, self.client_id.as_bytes());
        pair.push(':');
        push_component(&mut pair, self.client_secret.as_bytes());
        let value = format!("Basic {}", STANDARD.encode(pair));
        let mut value = HeaderValue::try_from(value).expect("base64 is ASCII");
        value.set_sensitive(true);
        value
    }
}

impl CredentialSource for OAuth2Source {
    fn issue<'a>(&'a self, client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a> {
        Box::pin(self.fetch(client))
    }
}

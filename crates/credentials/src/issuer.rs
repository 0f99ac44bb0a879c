//! A server that issues credentials, and requests to it.

use bytes::Bytes;
use headgate_core::callout::{
    ServiceCallError, ServiceClient, ServiceEndpoint, ServiceHttpRequest, ServiceRequest,
    ServiceResponse,
};
use headgate_core::credentials::temporary_credential::CredentialSourceError;
use headgate_protocol::percent_encoding::push_component;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;
use std::time::Duration;

/// How long one request may take.
const WITHIN: Duration = Duration::from_secs(10);
/// Maximum size of a response, in bytes. Tokens with many groups have 20 KB.
const RESPONSE_BYTES_MAX: usize = 256 << 10;

/// The server that issues a credential.
#[derive(Debug)]
pub struct CredentialIssuer(ServiceEndpoint);

/// The response of a server that issues credentials.
pub(crate) struct IssuerResponse<'i> {
    /// The host and port of the server, for messages.
    pub host: &'i str,
    pub content: ServiceResponse,
    /// What the request's sensitive headers had, without the scheme. A server may repeat them in an error.
    pub secrets: Vec<String>,
}

impl CredentialIssuer {
    /// The operator names the server, so that the egress policy does not apply to it.
    pub fn new(endpoint: ServiceEndpoint) -> Self {
        Self(endpoint)
    }

    /// Sends a form to the path of the server.
    ///
    /// # Errors
    /// There is no whole response in time.
    pub(crate) async fn post_form(
        &self,
        client: &dyn ServiceClient,
        mut headers: HeaderMap,
        form: &[(&str, &str)],
    ) -> Result<IssuerResponse<'_>, CredentialSourceError> {
        for (name, value) in &Self::form_headers() {
            headers.insert(name, value.clone());
        }
        self.post(client, headers, form_body(form)).await
    }

    /// Sends a JSON body to the path of the server.
    ///
    /// # Errors
    /// There is no whole response in time.
    pub(crate) async fn post_json(
        &self,
        client: &dyn ServiceClient,
        mut headers: HeaderMap,
        body: &Value,
    ) -> Result<IssuerResponse<'_>, CredentialSourceError> {
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        self.post(client, headers, body.to_string()).await
    }

    /// Sends a request without a body for `path`, or the path of the server, with a query.
    ///
    /// # Errors
    /// There is no whole response in time.
    pub(crate) async fn request(
        &self,
        client: &dyn ServiceClient,
        method: Method,
        path: Option<&str>,
        query: &[(&str, &str)],
        headers: HeaderMap,
    ) -> Result<IssuerResponse<'_>, CredentialSourceError> {
        let mut path = path.unwrap_or(&self.0.path).to_owned();
        if !query.is_empty() {
            path = format!("{path}?{}", form_body(query));
        }
        self.send(
            client,
            ServiceHttpRequest {
                method,
                path,
                headers,
                body: Bytes::new(),
            },
        )
        .await
    }

    /// The headers of a form.
    pub(crate) fn form_headers() -> HeaderMap {
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        let json = HeaderValue::from_static("application/json");
        HeaderMap::from_iter([(header::CONTENT_TYPE, form), (header::ACCEPT, json)])
    }

    async fn post(
        &self,
        client: &dyn ServiceClient,
        headers: HeaderMap,
        body: String,
    ) -> Result<IssuerResponse<'_>, CredentialSourceError> {
        let content = ServiceHttpRequest {
            method: Method::POST,
            path: self.0.path.clone(),
            headers,
            body: Bytes::from(body),
        };
        self.send(client, content).await
    }

    async fn send(
        &self,
        client: &dyn ServiceClient,
        content: ServiceHttpRequest,
    ) -> Result<IssuerResponse<'_>, CredentialSourceError> {
        let secrets = secrets_in(&content.headers);
        let request = ServiceRequest {
            endpoint: &self.0,
            id: None,
            content,
            // A token that nobody uses expires.
            may_repeat: true,
            within: WITHIN,
            response_bytes_max: RESPONSE_BYTES_MAX,
        };
        let host = self.host();
        match client.send(request).await {
            Ok(content) => Ok(IssuerResponse {
                host,
                content,
                secrets,
            }),
            Err(error) => Err(CredentialSourceError(format!("{host}: {}", reason(error)))),
        }
    }

    /// The host and port of the server, for messages.
    pub(crate) fn host(&self) -> &str {
        self.authority().to_str().unwrap_or_default()
    }

    /// The header `host` of requests.
    pub(crate) fn authority(&self) -> &HeaderValue {
        &self.0.server.origin.authority
    }
}

/// The values of sensitive headers, without a scheme in front.
fn secrets_in(headers: &HeaderMap) -> Vec<String> {
    let sensitive = headers.values().filter(|value| value.is_sensitive());
    sensitive
        .filter_map(|value| value.to_str().ok()?.rsplit(' ').next())
        .filter(|secret| !secret.is_empty())
        .map(str::to_owned)
        .collect()
}

fn reason(error: ServiceCallError) -> String {
    match error {
        ServiceCallError::Connect(reason)
        | ServiceCallError::Timeout(reason)
        | ServiceCallError::ConnectionClosed(reason)
        | ServiceCallError::InvalidResponse(reason) => reason,
    }
}

/// The body of a form.
pub(crate) fn form_body(form: &[(&str, &str)]) -> String {
    let mut body = String::new();
    for (name, value) in form {
        if !body.is_empty() {
            body.push('&');
        }
        push_component(&mut body, name.as_bytes());
        body.push('=');
        push_component(&mut body, value.as_bytes());
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_each_field_encoded() {
        let form = [
            ("grant_type", "client_credentials"),
            ("scope", "a b/.default&c=ä"),
        ];
        assert_eq!(
            form_body(&form),
            "grant_type=client_credentials&scope=a%20b%2F.default%26c%3D%C3%A4"
        );
    }
}

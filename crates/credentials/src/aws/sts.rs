//! Keys of roles, from the Security Token Service of AWS.

use super::access_key::{IssuedAccessKey, read_key_in_xml};
use crate::issuer::{CredentialIssuer, form_body};
use crate::token_file::read_token_file;
use headgate_core::callout::ServiceClient;
use headgate_core::catalog::aws_signer::{AwsAccessKey, AwsSigner};
use headgate_core::credentials::temporary_credential::CredentialSourceError;
use headgate_core::state::calendar::unix_ms;
use http::{HeaderMap, Method, Uri, header};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// A role that is assumed with a token of another issuer (IRSA on EKS, or any issuer that the account trusts).
pub struct WebIdentity {
    /// The service, at `/`.
    pub issuer: CredentialIssuer,
    pub role_arn: Box<str>,
    pub session_name: Box<str>,
    /// A file with the token. It is read for each fetch.
    pub token_file: PathBuf,
}

/// A role that is assumed with an access key.
pub struct AssumedRole {
    /// The service, at `/`.
    pub issuer: CredentialIssuer,
    pub role_arn: Box<str>,
    pub session_name: Box<str>,
    /// What an account of somebody else requires.
    pub external_id: Option<Box<str>>,
    /// The region of the service.
    pub region: Box<str>,
}

const VERSION: (&str, &str) = ("Version", "2011-06-15");

impl WebIdentity {
    pub(super) async fn fetch(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<IssuedAccessKey, CredentialSourceError> {
        let token = read_token_file(&self.token_file).await?;
        let form = [
            ("Action", "AssumeRoleWithWebIdentity"),
            VERSION,
            ("RoleArn", &self.role_arn),
            ("RoleSessionName", &self.session_name),
            ("WebIdentityToken", &token),
        ];
        let asked = self.issuer.post_form(client, HeaderMap::new(), &form);
        read_key_in_xml(&asked.await?, &[&token])
    }
}

impl AssumedRole {
    /// Keys of the role for the owner of `key`.
    pub(super) async fn assume(
        &self,
        client: &dyn ServiceClient,
        key: AwsAccessKey,
    ) -> Result<IssuedAccessKey, CredentialSourceError> {
        let mut form = vec![
            ("Action", "AssumeRole"),
            VERSION,
            ("RoleArn", &*self.role_arn),
            ("RoleSessionName", &self.session_name),
        ];
        form.extend(self.external_id.as_deref().map(|id| ("ExternalId", id)));
        let mut headers = CredentialIssuer::form_headers();
        headers.insert(header::HOST, self.issuer.authority().clone());
        let digest = Sha256::digest(form_body(&form)).into();
        let signer = AwsSigner::new(key, &self.region, "sts");
        let target = Uri::from_static("/");
        signer.sign(&Method::POST, &target, &mut headers, digest, unix_ms());
        let asked = self.issuer.post_form(client, headers, &form);
        let secrets: Vec<&str> = self.external_id.as_deref().into_iter().collect();
        read_key_in_xml(&asked.await?, &secrets)
    }
}

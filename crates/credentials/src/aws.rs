//! Temporary access keys of AWS: of a container, an instance or a web identity, and those of a role that is assumed with one.

mod access_key;
mod sts;

use crate::issuer::{CredentialIssuer, IssuerResponse};
use crate::token_file::read_token_file;
use access_key::{IssuedAccessKey, read_key};
use headgate_core::callout::ServiceClient;
use headgate_core::catalog::aws_signer::{AwsAccessKey, AwsSigner};
use headgate_core::catalog::credential_secret::CredentialSecret;
use headgate_core::credentials::credential_source::{CredentialIssueFuture, CredentialSource};
use headgate_core::credentials::temporary_credential::{
    CredentialProof, CredentialSourceError, TemporaryCredential,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use std::path::PathBuf;
use std::time::Duration;

pub use sts::{AssumedRole, WebIdentity};

/// The keys of one account, which sign for one service in one region.
pub struct AwsKeySource {
    pub base: AwsBaseKeys,
    /// The role that is assumed with the base keys, if not they themselves sign.
    pub role: Option<AssumedRole>,
    pub region: Box<str>,
    pub service: Box<str>,
}

/// Where the first key comes from.
pub enum AwsBaseKeys {
    /// An access key that does not expire, with which a role is assumed.
    Fixed(AwsAccessKey),
    /// The endpoint of a container's agent (ECS, or EKS with pod identities), with the path of the keys.
    Container {
        issuer: CredentialIssuer,
        token: ContainerToken,
    },
    /// The metadata server of an instance, version 2 (IMDSv2).
    Instance(CredentialIssuer),
    WebIdentity(WebIdentity),
}

/// What the header `authorization` of requests to a container's agent has.
pub enum ContainerToken {
    None,
    Fixed(Box<str>),
    /// A file that is written anew before the token in it expires.
    File(PathBuf),
}

/// For how long a key that does not expire counts as issued.
const FIXED_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
const TOKEN_PATH: &str = "/latest/api/token";
const ROLE_PATH: &str = "/latest/meta-data/iam/security-credentials/";
const TOKEN_TTL: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds");
const TOKEN: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token");

impl AwsKeySource {
    async fn fetch(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<TemporaryCredential, CredentialSourceError> {
        let base = self.base.fetch(client).await?;
        let issued = match &self.role {
            None => base,
            Some(role) => role.assume(client, base.key).await?,
        };
        let IssuedAccessKey { key, lifetime } = issued;
        let secrets = [&key.id, &key.secret].into_iter().chain(&key.session_token);
        Ok(TemporaryCredential {
            secrets: secrets
                .map(|secret| CredentialSecret::new(secret))
                .collect(),
            proof: CredentialProof::Aws(Box::new(AwsSigner::new(key, &self.region, &self.service))),
            lifetime,
        })
    }
}

impl CredentialSource for AwsKeySource {
    fn issue<'a>(&'a self, client: &'a dyn ServiceClient) -> CredentialIssueFuture<'a> {
        Box::pin(self.fetch(client))
    }
}

impl AwsBaseKeys {
    async fn fetch(
        &self,
        client: &dyn ServiceClient,
    ) -> Result<IssuedAccessKey, CredentialSourceError> {
        match self {
            Self::Fixed(key) => Ok(IssuedAccessKey {
                key: copied(key),
                lifetime: FIXED_LIFETIME,
            }),
            Self::Container { issuer, token } => {
                let mut headers = HeaderMap::new();
                if let Some(token) = token.read().await? {
                    headers.insert(header::AUTHORIZATION, secret_value(&token)?);
                }
                let asked = issuer.request(client, Method::GET, None, &[], headers);
                read_key(&asked.await?)
            }
            Self::Instance(issuer) => fetch_from_instance(issuer, client).await,
            Self::WebIdentity(identity) => identity.fetch(client).await,
        }
    }
}

/// The keys of the role of an instance: a session token first, then the name of the role, then its keys.
async fn fetch_from_instance(
    issuer: &CredentialIssuer,
    client: &dyn ServiceClient,
) -> Result<IssuedAccessKey, CredentialSourceError> {
    let ttl = HeaderMap::from_iter([(TOKEN_TTL, HeaderValue::from_static("300"))]);
    let token = text_at(issuer, client, Method::PUT, TOKEN_PATH, ttl).await?;
    let headers = HeaderMap::from_iter([(TOKEN, secret_value(&token)?)]);
    let role = text_at(issuer, client, Method::GET, ROLE_PATH, headers.clone()).await?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@_-".contains(&byte);
    if role.is_empty() || !role.bytes().all(is_name) {
        let reason = format!("{}: the instance has no role", issuer.host());
        return Err(CredentialSourceError(reason));
    }
    let path = format!("{ROLE_PATH}{role}");
    let asked = issuer.request(client, Method::GET, Some(&path), &[], headers);
    read_key(&asked.await?)
}

/// The text that a metadata server has at a path.
async fn text_at(
    issuer: &CredentialIssuer,
    client: &dyn ServiceClient,
    method: Method,
    path: &str,
    headers: HeaderMap,
) -> Result<String, CredentialSourceError> {
    let response = issuer
        .request(client, method, Some(path), &[], headers)
        .await?;
    let IssuerResponse { host, content, .. } = &response;
    let text = std::str::from_utf8(&content.body).unwrap_or_default();
    match content.status {
        StatusCode::OK => Ok(text.trim().to_owned()),
        status => Err(CredentialSourceError(format!(
            "{host} answered with status {} for {path}",
            status.as_u16()
        ))),
    }
}

impl ContainerToken {
    async fn read(&self) -> Result<Option<String>, CredentialSourceError> {
        Ok(match self {
            Self::None => None,
            Self::Fixed(token) => Some((**token).to_owned()),
            Self::File(path) => Some(read_token_file(path).await?),
        })
    }
}

fn copied(key: &AwsAccessKey) -> AwsAccessKey {
    AwsAccessKey {
        id: key.id.clone(),
        secret: key.secret.clone(),
        session_token: key.session_token.clone(),
    }
}

fn secret_value(text: &str) -> Result<HeaderValue, CredentialSourceError> {
    let value = HeaderValue::from_str(text);
    let mut value = value.map_err(|_| {
        CredentialSourceError("the token has characters that no header may have".into())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

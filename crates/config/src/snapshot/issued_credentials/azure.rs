//! Builds the source of tokens of Microsoft Entra.

use super::super::credentials::credential_context::CredentialBuildContext;
use super::super::credentials::invalid_credential::InvalidCredential;
use super::super::pem;
use super::{IssuerPlace, IssuingAccount, hash, issuer};
use crate::issued_credentials::AzureCredentialConfig;
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::credential_secret::CredentialSecret;
use headgate_core::catalog::jwt_key::JwtKey;
use headgate_core::scalar::Secret;
use headgate_credentials::entra::{EntraClient, EntraSource};
use headgate_credentials::managed_identity::{ManagedIdentitySource, TOKEN_URL};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

const KINDS: &str = "write one of `client_secret`, `certificate`, `federated_token_file` and `managed_identity: true`";
/// What replaces the metadata server's scheme and host, as for Azure's SDKs.
const METADATA_HOST: &str = "AZURE_POD_IDENTITY_AUTHORITY_HOST";

/// The tokens of an application or of a managed identity.
pub fn build(
    config: &AzureCredentialConfig,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let AzureCredentialConfig {
        tenant: _,
        client_id,
        client_secret,
        certificate,
        federated_token_file,
        managed_identity,
        scope,
        authority: _,
    } = config;
    let id = client_id.as_ref().map(Secret::expose);
    let kinds = (
        client_secret,
        certificate,
        federated_token_file,
        managed_identity,
    );
    let (client, secret) = match kinds {
        (Some(secret), None, None, false) => {
            let secret = secret.expose();
            (EntraClient::Secret(secret.into()), secret.to_owned())
        }
        (None, Some(path), None, false) => certificate_at(&context.folder.join(path))?,
        (None, None, Some(path), false) => {
            let path = context.folder.join(path);
            let name = path.display().to_string();
            (EntraClient::FederatedToken(path), name)
        }
        (None, None, None, true) => return managed(config, id, scope, context),
        _ => {
            return Err(InvalidCredential {
                key: "/azure",
                reason: "it must have exactly one way to show who asks for tokens".into(),
                hint: Some(KINDS),
            });
        }
    };
    application(config, client, &secret, context)
}

fn application(
    config: &AzureCredentialConfig,
    client: EntraClient,
    secret: &str,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let tenant = config.tenant.as_deref().filter(|tenant| !tenant.is_empty());
    let (Some(tenant), Some(id)) = (tenant, config.client_id.as_ref()) else {
        return Err(InvalidCredential {
            key: "/azure",
            reason: "`tenant` and `client_id` are missing, or one of them".into(),
            hint: Some("an application of Entra has both on its page *Overview*"),
        });
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    if !tenant.bytes().all(is_name) {
        return Err(InvalidCredential {
            key: "/azure/tenant",
            reason: "a tenant is an id or a domain".into(),
            hint: None,
        });
    }
    let (id, scope) = (id.expose(), &config.scope);
    let authority = config.authority.trim_end_matches('/');
    let token_url = format!("{authority}/{tenant}/oauth2/v2.0/token");
    let issuer = issuer(
        context,
        "/azure/authority",
        &token_url,
        IssuerPlace::Network,
    )?;
    let secrets = match &client {
        EntraClient::Secret(secret) => vec![CredentialSecret::new(secret)],
        EntraClient::Certificate { .. } | EntraClient::FederatedToken(_) => Vec::new(),
    };
    let account = IssuingAccount {
        settings: hash(("azure", &token_url, id, secret, scope)),
        signs_body: false,
        identity: id.to_owned(),
        secrets,
        source: Arc::new(EntraSource {
            issuer,
            token_url: token_url.into(),
            client_id: id.into(),
            client,
            scope: scope.as_str().into(),
        }),
    };
    Ok(account.credential(context))
}

fn managed(
    config: &AzureCredentialConfig,
    id: Option<&str>,
    scope: &str,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    if config.tenant.is_some() {
        return Err(InvalidCredential {
            key: "/azure/tenant",
            reason: "a managed identity has no `tenant` to choose".into(),
            hint: Some("remove it"),
        });
    }
    let resource = scope.strip_suffix("/.default").unwrap_or(scope);
    let host = (context.variables)(METADATA_HOST).filter(|host| !host.is_empty());
    let url = match host {
        None => TOKEN_URL.to_owned(),
        Some(host) => {
            let path = TOKEN_URL.trim_start_matches("http://169.254.169.254");
            format!("{}{path}", host.trim_end_matches('/'))
        }
    };
    let issuer = issuer(
        context,
        "/azure/managed_identity",
        &url,
        IssuerPlace::Machine,
    )?;
    let account = IssuingAccount {
        settings: hash(("managed identity", &url, id, resource)),
        signs_body: false,
        identity: id.unwrap_or("managed identity").to_owned(),
        secrets: Vec::new(),
        source: Arc::new(ManagedIdentitySource {
            issuer,
            resource: resource.into(),
            client_id: id.map(Into::into),
        }),
    };
    Ok(account.credential(context))
}

/// The certificate and key of a file, and a text that differs for each.
fn certificate_at(path: &Path) -> Result<(EntraClient, String), InvalidCredential> {
    let invalid = |reason: String| InvalidCredential {
        key: "/azure/certificate",
        reason,
        hint: Some(
            "name a PEM file with the certificate of the application and its RSA key; a relative path starts at the folder of this file",
        ),
    };
    let certificates = pem::certificates(path).map_err(invalid)?;
    let key = JwtKey::from_pem(&pem::read(path).map_err(invalid)?);
    let key = key.map_err(|error| invalid(format!("`{}`: {error}", path.display())))?;
    let thumbprint: [u8; 32] = Sha256::digest(&certificates[0]).into();
    let text = format!("{thumbprint:?}");
    Ok((EntraClient::Certificate { key, thumbprint }, text))
}

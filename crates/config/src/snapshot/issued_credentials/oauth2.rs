//! Builds the source of tokens of any token endpoint.

use super::super::credentials::credential_context::CredentialBuildContext;
use super::super::credentials::invalid_credential::InvalidCredential;
use super::{IssuerPlace, IssuingAccount, hash, issuer};
use crate::issued_credentials::{ClientAuthenticationConfig, OAuth2CredentialConfig};
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::credential_secret::CredentialSecret;
use headgate_credentials::oauth2::{ClientAuthentication, OAuth2Source};
use std::sync::Arc;

/// The tokens of any token endpoint.
pub fn build(
    config: &OAuth2CredentialConfig,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let OAuth2CredentialConfig {
        token_url,
        client_id,
        client_secret,
        client_authentication,
        scope,
        audience,
        resource,
    } = config;
    let client_authentication = match client_authentication {
        ClientAuthenticationConfig::Basic => ClientAuthentication::Basic,
        ClientAuthenticationConfig::Post => ClientAuthentication::Post,
    };
    let fields = [
        ("scope", scope),
        ("audience", audience),
        ("resource", resource),
    ];
    let fields = fields.into_iter().filter_map(|(name, value)| {
        let value = value.as_ref()?;
        Some((name.into(), value.as_str().into()))
    });
    let fields: Vec<(Box<str>, Box<str>)> = fields.collect();
    let (id, secret) = (client_id.expose(), client_secret.expose());
    let settings = (
        "oauth2",
        token_url,
        id,
        secret,
        client_authentication,
        &fields,
    );
    let issuer = issuer(
        context,
        "/oauth2/token_url",
        token_url,
        IssuerPlace::Network,
    )?;
    let account = IssuingAccount {
        settings: hash(settings),
        signs_body: false,
        identity: id.to_owned(),
        secrets: vec![CredentialSecret::new(secret)],
        source: Arc::new(OAuth2Source {
            issuer,
            client_id: id.into(),
            client_secret: secret.into(),
            client_authentication,
            fields,
        }),
    };
    Ok(account.credential(context))
}

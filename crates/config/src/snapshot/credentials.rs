//! Builds the credentials of a channel from its configuration: one, or several keys used in turn.

pub(super) mod credential_context;
pub(super) mod invalid_credential;

use super::ProblemCollector;
use super::issued_credentials;
use super::{aws_credentials, pem};
use crate::channels::{
    ChannelConfig, CredentialHeaderConfig, JwtCredentialConfig, ProviderCredentialConfig,
};
use credential_context::CredentialBuildContext;
use headgate_core::catalog::channel_mask::ChannelMask;
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::credential_secret::CredentialSecret;
use headgate_core::catalog::fixed_query::FixedQuery;
use headgate_core::catalog::jwt_key::JwtKey;
use headgate_core::catalog::jwt_minter::{JwtClaims, JwtMinter};
use headgate_core::filter::header_name::header_name;
use headgate_protocol::mask::SECRET_BYTES_MIN;
use http::{HeaderName, HeaderValue, header};
use invalid_credential::InvalidCredential;
use std::path::Path;
use std::time::Duration;

/// The credentials of the channel at `at`; none if any of them has a problem.
pub(super) fn build(
    config: &ChannelConfig,
    context: CredentialBuildContext<'_>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<Vec<Credential>> {
    if config.credential.is_some() && !config.credentials.is_empty() {
        problems.error(
            &format!("{at}/credentials"),
            "`credential` and `credentials` are mutually exclusive",
            Some("move `credential` to the first place of `credentials`"),
        );
        return None;
    }
    let one = config
        .credential
        .iter()
        .map(|one| (format!("{at}/credential"), one));
    let several = config
        .credentials
        .iter()
        .enumerate()
        .map(|(index, one)| (format!("{at}/credentials/{index}"), one));
    let mut built: Vec<Credential> = Vec::new();
    let mut complete = true;
    for (at, config) in one.chain(several) {
        match build_one(config, context) {
            Ok(credential) if built.iter().any(|known| is_same(known, &credential)) => {
                problems.error(&at, "duplicate credential", None);
                complete = false;
            }
            Ok(credential) => {
                let mut secrets = credential.secrets.iter();
                if secrets.any(|secret| secret.expose().len() < SECRET_BYTES_MIN) {
                    let reason = "the secret is too short to be masked in responses that repeat it";
                    let hint = format!("secrets of {SECRET_BYTES_MIN} bytes or more are masked");
                    problems.warning(&at, reason, Some(&hint));
                }
                built.push(credential);
            }
            Err(InvalidCredential { key, reason, hint }) => {
                problems.error(&format!("{at}{key}"), reason, hint);
                complete = false;
            }
        }
    }
    complete.then_some(built)
}

/// Parts of the names of headers that carry credentials.
const CREDENTIAL_NAMES: [&str; 7] = [
    "auth",
    "key",
    "token",
    "secret",
    "password",
    "credential",
    "cookie",
];

/// The values that no response of the channel may reveal: all its credentials, and those of its headers and its query
/// whose name looks like that of a credential.
pub(crate) fn mask(
    credentials: &[Credential],
    headers: &[(HeaderName, HeaderValue)],
    query: &FixedQuery,
) -> ChannelMask {
    let fixed = credentials.iter().flat_map(|one| &one.secrets);
    let fixed = fixed.map(CredentialSecret::expose);
    let carries_credential = |name: &HeaderName| {
        let mut parts = CREDENTIAL_NAMES.iter();
        parts.any(|part| name.as_str().contains(part))
    };
    let headers = headers
        .iter()
        .filter(|(name, _)| carries_credential(name))
        .filter_map(|(_, value)| value.to_str().ok());
    let query: Vec<String> = query.secrets().collect();
    let query = query.iter().map(String::as_str);
    ChannelMask::new(credentials, fixed.chain(headers).chain(query))
}

fn is_same(one: &Credential, other: &Credential) -> bool {
    one.signer.header_name() == other.signer.header_name()
        && one.identity.expose() == other.identity.expose()
}

fn build_one(
    config: &ProviderCredentialConfig,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let (name, secret, text) = match config {
        ProviderCredentialConfig::Bearer(secret) => (
            header::AUTHORIZATION,
            secret,
            format!("Bearer {}", secret.expose()),
        ),
        ProviderCredentialConfig::ApiKey(secret) => (
            HeaderName::from_static("x-api-key"),
            secret,
            secret.expose().to_string(),
        ),
        ProviderCredentialConfig::Header(CredentialHeaderConfig { name, value }) => (
            header_name(name).map_err(|invalid| invalid.reason)?,
            value,
            value.expose().to_string(),
        ),
        ProviderCredentialConfig::Jwt(config) => {
            return build_minted(config, context);
        }
        ProviderCredentialConfig::Aws(config) if issued_credentials::aws::is_issued(config) => {
            return issued_credentials::aws::build(config, context);
        }
        ProviderCredentialConfig::Aws(config) => {
            let signer = aws_credentials::build(config, context.base_url, context.variables)?;
            let id = &signer.access_key().id;
            let fingerprint = context.fingerprint(&header::AUTHORIZATION, id);
            return Ok(Credential::aws(signer, fingerprint));
        }
        ProviderCredentialConfig::OAuth2(config) => {
            return issued_credentials::oauth2::build(config, context);
        }
        ProviderCredentialConfig::Azure(config) => {
            return issued_credentials::azure::build(config, context);
        }
        ProviderCredentialConfig::Gcp(config) => {
            return issued_credentials::gcp::build(config, context);
        }
    };
    let value = HeaderValue::from_str(&text)
        .map_err(|_| "the credential is not a valid header value".to_string())?;
    let fingerprint = context.fingerprint(&name, secret.expose());
    Ok(Credential::header(
        name,
        value,
        secret.expose(),
        fingerprint,
    ))
}

/// The access key stays when the secret key rotates, so that tasks and health are the account's.
fn build_minted(
    config: &JwtCredentialConfig,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let JwtCredentialConfig {
        issuer,
        secret,
        key_file,
        key_id,
        subject,
        audience,
        lifetime,
    } = config;
    let issuer = issuer.expose();
    let key = match (secret, key_file) {
        (Some(secret), None) => JwtKey::Secret(secret.expose().into()),
        (None, Some(path)) => jwt_key_in(&context.folder.join(path))?,
        _ => {
            return Err(InvalidCredential {
                key: "/jwt",
                reason: "it must have exactly one of `secret` and `key_file`".into(),
                hint: Some(
                    "`secret` signs by HS256, a private key in `key_file` by RS256 or ES256",
                ),
            });
        }
    };
    if lifetime.duration() < Duration::from_secs(1) {
        return Err("`lifetime` must be at least 1s".to_owned().into());
    }
    let text = |text: &Option<String>| text.as_deref().map(Into::into);
    let claims = JwtClaims {
        issuer: issuer.into(),
        subject: text(subject),
        audience: text(audience),
        key_id: text(key_id),
    };
    let minter = JwtMinter::new(claims, key, lifetime.duration());
    let fingerprint = context.fingerprint(&header::AUTHORIZATION, issuer);
    Ok(Credential::jwt(minter, fingerprint))
}

/// The private key of a PEM file.
fn jwt_key_in(path: &Path) -> Result<JwtKey, InvalidCredential> {
    let invalid = |reason: String| InvalidCredential {
        key: "/jwt/key_file",
        reason,
        hint: Some(pem::hint("key")),
    };
    let key = JwtKey::from_pem(&pem::read(path).map_err(invalid)?);
    key.map_err(|error| invalid(format!("`{}`: {error}", path.display())))
}

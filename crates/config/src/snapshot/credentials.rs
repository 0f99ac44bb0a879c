//! Builds the credentials of a channel from its configuration: one, or several keys used in turn.

use super::ProblemCollector;
use super::aws_credentials::{self, InvalidCredential};
use crate::channels::{
    ChannelConfig, CredentialHeaderConfig, JwtCredentialConfig, ProviderCredentialConfig,
};
use headgate_core::catalog::credential::{Credential, CredentialSecret};
use headgate_core::catalog::fixed_query::FixedQuery;
use headgate_core::catalog::jwt_minter::JwtMinter;
use headgate_core::filter::header_name::header_name;
use headgate_protocol::mask::{ChannelSecrets, SECRET_BYTES_MIN};
use http::{HeaderName, HeaderValue, header};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The credentials of the channel at `at`; none if any of them has a problem.
pub(crate) fn build(
    config: &ChannelConfig,
    channel_fingerprint: u64,
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
    let base_url = &config.base_url;
    for (at, config) in one.chain(several) {
        match build_one(config, base_url, channel_fingerprint) {
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
pub(crate) fn secrets(
    credentials: &[Credential],
    headers: &[(HeaderName, HeaderValue)],
    query: &FixedQuery,
) -> ChannelSecrets {
    let credentials = credentials.iter().flat_map(|one| &one.secrets);
    let credentials = credentials.map(CredentialSecret::expose);
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
    ChannelSecrets::new(credentials.chain(headers).chain(query))
}

fn is_same(one: &Credential, other: &Credential) -> bool {
    one.signer.header_name() == other.signer.header_name()
        && one.identity.expose() == other.identity.expose()
}

fn build_one(
    config: &ProviderCredentialConfig,
    base_url: &str,
    channel_fingerprint: u64,
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
            return Ok(build_minted(config, channel_fingerprint)?);
        }
        ProviderCredentialConfig::Aws(config) => {
            let signer = aws_credentials::build(config, base_url)?;
            let id = config.access_key_id.expose();
            let fingerprint = fingerprint(&header::AUTHORIZATION, id, channel_fingerprint);
            return Ok(Credential::aws(signer, fingerprint));
        }
    };
    let value = HeaderValue::from_str(&text)
        .map_err(|_| "the credential is not a valid header value".to_string())?;
    let fingerprint = fingerprint(&name, secret.expose(), channel_fingerprint);
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
    channel_fingerprint: u64,
) -> Result<Credential, String> {
    let JwtCredentialConfig {
        issuer,
        secret,
        lifetime,
    } = config;
    let (issuer, secret) = (issuer.expose(), secret.expose());
    if issuer.is_empty() || secret.is_empty() {
        return Err("`issuer` and `secret` must not be empty".into());
    }
    if lifetime.duration() < Duration::from_secs(1) {
        return Err("`lifetime` must be at least 1s".into());
    }
    let minter = JwtMinter::new(issuer, secret, lifetime.duration());
    let fingerprint = fingerprint(&header::AUTHORIZATION, issuer, channel_fingerprint);
    Ok(Credential::jwt(minter, fingerprint))
}

fn fingerprint(name: &HeaderName, identity: &str, channel_fingerprint: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (channel_fingerprint, name.as_str(), identity).hash(&mut hasher);
    hasher.finish()
}

//! Builds the source of tokens of Google.

use super::super::credentials::credential_context::CredentialBuildContext;
use super::super::credentials::invalid_credential::InvalidCredential;
use super::{IssuerPlace, IssuingAccount, hash, issuer};
use crate::issued_credentials::GcpCredentialConfig;
use headgate_core::catalog::base_url;
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::jwt_key::JwtKey;
use headgate_core::regular_file;
use headgate_credentials::google::{ServiceAccount, ServiceAccountSource};
use headgate_credentials::metadata_server::{MetadataServerSource, TOKEN_URL};
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

const KINDS: &str = "write one of `credentials_file` and `metadata_server: true`";
/// What replaces the metadata server's host, as for Google's libraries.
const METADATA_HOST: &str = "GCE_METADATA_HOST";
/// Largest file of credentials, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 10;
const FILE: &str = "/gcp/credentials_file";

/// The kind of a file of credentials.
#[derive(Deserialize)]
struct FileKind {
    r#type: Option<String>,
}

/// The tokens of a service account.
pub fn build(
    config: &GcpCredentialConfig,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    match (&config.credentials_file, config.metadata_server) {
        (Some(path), false) => with_key(config, &context.folder.join(path), context),
        (None, true) => for_machine(config, context),
        _ => Err(InvalidCredential {
            key: "/gcp",
            reason: "it must have exactly one source of tokens".into(),
            hint: Some(KINDS),
        }),
    }
}

fn with_key(
    config: &GcpCredentialConfig,
    path: &Path,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let text = regular_file::read_text(path, FILE_BYTES_MAX);
    let text =
        text.map_err(|error| invalid_file(format!("cannot read `{}`: {error}", path.display())))?;
    let mut account = service_account(&text)?;
    let key = JwtKey::from_pem(account.private_key.as_bytes());
    let key = key.map_err(|error| invalid_file(format!("`private_key`: {error}")))?;
    let (url_key, url) = match &config.token_url {
        Some(url) => ("/gcp/token_url", url.as_str()),
        None => (FILE, google_url(&account.token_uri)?),
    };
    account.token_uri = url.into();
    let issuer = issuer(context, url_key, &account.token_uri, IssuerPlace::Network)?;
    let account = IssuingAccount {
        settings: hash(("gcp", &text, url_key, &account.token_uri, &config.scope)),
        signs_body: false,
        identity: account.client_email.to_string(),
        secrets: Vec::new(),
        source: Arc::new(ServiceAccountSource {
            issuer,
            account,
            key,
            scope: config.scope.as_str().into(),
        }),
    };
    Ok(account.credential(context))
}

fn for_machine(
    config: &GcpCredentialConfig,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let host = (context.variables)(METADATA_HOST).filter(|host| !host.is_empty());
    let url = match host {
        None => TOKEN_URL.to_owned(),
        Some(host) => TOKEN_URL.replace("metadata.google.internal", &host),
    };
    let issuer = issuer(context, "/gcp/metadata_server", &url, IssuerPlace::Machine)?;
    let account = IssuingAccount {
        settings: hash(("metadata server", &url, &config.scope)),
        signs_body: false,
        identity: "metadata server".into(),
        secrets: Vec::new(),
        source: Arc::new(MetadataServerSource {
            issuer,
            scope: config.scope.as_str().into(),
        }),
    };
    Ok(account.credential(context))
}

/// The service account of a file, which may be of another kind.
fn service_account(text: &str) -> Result<ServiceAccount, InvalidCredential> {
    let kind: Result<FileKind, _> = serde_json::from_str(text);
    let kind = kind.ok().and_then(|kind| kind.r#type);
    match kind.as_deref() {
        Some("service_account") => serde_json::from_str(text)
            .map_err(|_| invalid_file("the file lacks a field of a service account".into())),
        Some(other) => Err(invalid_file(format!(
            "the file is of the kind `{other}`, and only `service_account` is supported"
        ))),
        None => Err(invalid_file(
            "the file is not one of Google's credentials".into(),
        )),
    }
}

/// The token endpoint of a file, if it is one of Google's: whoever writes the file must not choose who gets assertions.
fn google_url(url: &str) -> Result<&str, InvalidCredential> {
    let base = base_url::parse(url).map_err(invalid_file)?;
    let host = base.host.to_ascii_lowercase();
    match base.tls && (host == "accounts.google.com" || host.ends_with(".googleapis.com")) {
        true => Ok(url),
        false => Err(InvalidCredential {
            key: FILE,
            reason: format!(
                "`token_uri` of the file is at `{}`, not at Google",
                base.host
            ),
            hint: Some("if it is right, write it as `token_url` here"),
        }),
    }
}

fn invalid_file(reason: String) -> InvalidCredential {
    InvalidCredential {
        key: FILE,
        reason,
        hint: Some(
            "name the JSON file of a service account with its key; a relative path starts at the folder of this file",
        ),
    }
}

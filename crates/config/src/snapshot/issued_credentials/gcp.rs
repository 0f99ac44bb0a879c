//! Builds the source of tokens of Google.

mod external_account;

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
        (Some(path), false) => from_file(config, &context.folder.join(path), context),
        (None, true) => for_machine(config, context),
        _ => Err(InvalidCredential {
            key: "/gcp",
            reason: "it must have exactly one source of tokens".into(),
            hint: Some(KINDS),
        }),
    }
}

/// The credential of a file, by its kind.
fn from_file(
    config: &GcpCredentialConfig,
    path: &Path,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let text = regular_file::read_text(path, FILE_BYTES_MAX);
    let text =
        text.map_err(|error| invalid_file(format!("cannot read `{}`: {error}", path.display())))?;
    let kind: Result<FileKind, _> = serde_json::from_str(&text);
    let kind = kind.ok().and_then(|kind| kind.r#type);
    match kind.as_deref() {
        Some("service_account") => with_key(config, &text, context),
        Some("external_account") => external_account::build(config, &text, context),
        Some(other) => Err(invalid_file(format!(
            "the file is of the kind `{other}`, and only `service_account` and `external_account` are supported"
        ))),
        None => Err(invalid_file(
            "the file is not one of Google's credentials".into(),
        )),
    }
}

fn with_key(
    config: &GcpCredentialConfig,
    text: &str,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let account: Result<ServiceAccount, _> = serde_json::from_str(text);
    let mut account =
        account.map_err(|_| invalid_file("the file lacks a field of a service account".into()))?;
    let key = JwtKey::from_pem(account.private_key.as_bytes());
    let key = key.map_err(|error| invalid_file(format!("`private_key`: {error}")))?;
    let ChosenUrl { url, key: url_key } =
        TOKEN_ENDPOINT.choose(config.token_url.as_ref(), &account.token_uri)?;
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

/// A URL that a file of credentials has, and that `routes.yaml` may replace.
struct FileUrl {
    /// Its name in the file.
    member: &'static str,
    /// The pointer to what replaces it.
    key: &'static str,
    hint: &'static str,
}

/// A URL, and the pointer to where it is written.
struct ChosenUrl<'u> {
    url: &'u str,
    key: &'static str,
}

const TOKEN_ENDPOINT: FileUrl = FileUrl {
    member: "token_uri",
    key: "/gcp/token_url",
    hint: "if it is right, write it as `token_url` here",
};

impl FileUrl {
    /// The URL that `routes.yaml` has, or that of the file if it is one of Google's: whoever writes the file must not choose who
    /// gets assertions and tokens.
    fn choose<'u>(
        &self,
        written: Option<&'u String>,
        in_file: &'u str,
    ) -> Result<ChosenUrl<'u>, InvalidCredential> {
        if let Some(url) = written {
            return Ok(ChosenUrl { url, key: self.key });
        }
        let base = base_url::parse(in_file).map_err(invalid_file)?;
        let host = base.host.to_ascii_lowercase();
        match base.tls && (host == "accounts.google.com" || host.ends_with(".googleapis.com")) {
            true => Ok(ChosenUrl {
                url: in_file,
                key: FILE,
            }),
            false => Err(InvalidCredential {
                key: FILE,
                reason: format!(
                    "`{}` of the file is at `{}`, not at Google",
                    self.member, base.host
                ),
                hint: Some(self.hint),
            }),
        }
    }
}

fn invalid_file(reason: String) -> InvalidCredential {
    InvalidCredential {
        key: FILE,
        reason,
        hint: Some(
            "name the JSON file of a service account with its key, or of a workload identity pool; a relative path starts at the folder of this file",
        ),
    }
}

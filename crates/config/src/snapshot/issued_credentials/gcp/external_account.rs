//! Builds the source of tokens of a workload of another cloud or cluster from Google's file `external_account`.

use super::super::super::credentials::credential_context::CredentialBuildContext;
use super::super::super::credentials::invalid_credential::InvalidCredential;
use super::super::{IssuerPlace, IssuingAccount, hash, issuer};
use super::{FILE, FileUrl, TOKEN_ENDPOINT, invalid_file};
use crate::issued_credentials::GcpCredentialConfig;
use headgate_core::catalog::base_url;
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::credential_secret::CredentialSecret;
use headgate_credentials::google_federation::{
    FederatedWorkloadSource, ServiceAccountImpersonation,
};
use headgate_credentials::{SubjectToken, SubjectTokenFormat};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The file, as `gcloud iam workload-identity-pools create-cred-config` writes it (AIP-4117).
#[derive(Deserialize)]
struct ExternalAccountFile {
    audience: Box<str>,
    subject_token_type: Box<str>,
    token_url: String,
    service_account_impersonation_url: Option<String>,
    #[serde(default)]
    service_account_impersonation: ImpersonationSettings,
    credential_source: SubjectTokenSettings,
}

#[derive(Deserialize, Default)]
struct ImpersonationSettings {
    token_lifetime_seconds: Option<u32>,
}

/// Where the token of the workload is.
#[derive(Deserialize)]
struct SubjectTokenSettings {
    file: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    format: TokenFormatSettings,
    executable: Option<Value>,
    environment_id: Option<Value>,
}

#[derive(Deserialize, Default)]
struct TokenFormatSettings {
    r#type: Option<String>,
    subject_token_field_name: Option<Box<str>>,
}

/// A token of a workload, and what of its settings is secret.
struct TokenWithSecrets {
    token: SubjectToken,
    secrets: Vec<CredentialSecret>,
}

const TOKEN_SERVICE: FileUrl = FileUrl {
    member: "token_url",
    ..TOKEN_ENDPOINT
};
const IMPERSONATION: FileUrl = FileUrl {
    member: "service_account_impersonation_url",
    key: "/gcp/impersonation_url",
    hint: "if it is right, write it as `impersonation_url` here",
};
/// The metadata server of Azure, the only one that has tokens for others.
const METADATA_SERVER: &str = "http://169.254.169.254/";
/// The header that metadata servers want, whose value is no secret.
const METADATA_HEADER: &str = "metadata";
/// The lifetime of a service account's token, in seconds, where the file has none.
const LIFETIME_DEFAULT: u32 = 3_600;

/// The credential of the file with this text.
pub(super) fn build(
    config: &GcpCredentialConfig,
    text: &str,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let file: ExternalAccountFile = serde_json::from_str(text)
        .map_err(|error| invalid_file(format!("the file is no external account: {error}")))?;
    let endpoint = TOKEN_SERVICE.choose(config.token_url.as_ref(), &file.token_url)?;
    let token_service = issuer(context, endpoint.key, endpoint.url, IssuerPlace::Network)?;
    let impersonation = match &file.service_account_impersonation_url {
        None => None,
        Some(url) => {
            let server = IMPERSONATION.choose(config.impersonation_url.as_ref(), url)?;
            let lifetime = file.service_account_impersonation.token_lifetime_seconds;
            Some(ServiceAccountImpersonation {
                issuer: issuer(context, server.key, server.url, IssuerPlace::Network)?,
                lifetime_seconds: lifetime.unwrap_or(LIFETIME_DEFAULT),
            })
        }
    };
    let TokenWithSecrets { token, secrets } =
        subject_token(config, file.credential_source, context)?;
    let urls = (
        &config.token_url,
        &config.impersonation_url,
        &config.subject_token_url,
    );
    let service_account = file
        .service_account_impersonation_url
        .as_deref()
        .and_then(service_account);
    let account = IssuingAccount {
        settings: hash(("external account", text, urls, &config.scope)),
        signs_body: false,
        identity: service_account.unwrap_or(&file.audience).to_owned(),
        secrets,
        source: Arc::new(FederatedWorkloadSource {
            issuer: token_service,
            audience: file.audience,
            subject_token_type: file.subject_token_type,
            subject_token: token,
            impersonation,
            scope: config.scope.as_str().into(),
        }),
    };
    Ok(account.credential(context))
}

/// The address of the service account in `…/serviceAccounts/ADDRESS:generateAccessToken`.
fn service_account(url: &str) -> Option<&str> {
    let (_, name) = url.rsplit_once('/')?;
    name.strip_suffix(":generateAccessToken")
}

fn subject_token(
    config: &GcpCredentialConfig,
    source: SubjectTokenSettings,
    context: CredentialBuildContext<'_>,
) -> Result<TokenWithSecrets, InvalidCredential> {
    let refused = |kind: &str| {
        let reason = format!(
            "the token of the workload comes from {kind}; only those of a `file` and of a `url` are supported"
        );
        Err(invalid_file(reason))
    };
    if source.executable.is_some() {
        return refused("an `executable`, which the gateway does not run");
    }
    if source.environment_id.is_some() {
        return refused("a signature of AWS (`environment_id`)");
    }
    let format = format(source.format)?;
    match (source.file, source.url) {
        (Some(file), None) => Ok(TokenWithSecrets {
            token: SubjectToken::File {
                path: context.folder.join(file),
                format,
            },
            secrets: Vec::new(),
        }),
        (None, Some(url)) => from_server(config, &url, &source.headers, format, context),
        _ => refused("neither, or both, of the two"),
    }
}

fn from_server(
    config: &GcpCredentialConfig,
    in_file: &str,
    headers: &BTreeMap<String, String>,
    format: SubjectTokenFormat,
    context: CredentialBuildContext<'_>,
) -> Result<TokenWithSecrets, InvalidCredential> {
    let (url, key, place) = match &config.subject_token_url {
        Some(url) => (url.as_str(), "/gcp/subject_token_url", IssuerPlace::Network),
        None if in_file.starts_with(METADATA_SERVER) => (in_file, FILE, IssuerPlace::Machine),
        None => {
            return Err(InvalidCredential {
                key: FILE,
                reason: format!("`credential_source` of the file asks `{in_file}` for the token"),
                hint: Some("if it is right, write it as `subject_token_url` here"),
            });
        }
    };
    let server = url.split_once('?').map_or(url, |(server, _)| server);
    let (base, query) = base_url::parse_with_query(url).map_err(invalid_file)?;
    let path = match query {
        None => base.path.to_string(),
        Some(query) => format!("{}?{query}", base.path),
    };
    Ok(TokenWithSecrets {
        token: SubjectToken::Server {
            issuer: Box::new(issuer(context, key, server, place)?),
            path: path.into(),
            headers: header_map(headers)?,
            format,
        },
        secrets: headers
            .iter()
            .filter(|(name, _)| !name.eq_ignore_ascii_case(METADATA_HEADER))
            .map(|(_, value)| CredentialSecret::new(value))
            .collect(),
    })
}

fn header_map(headers: &BTreeMap<String, String>) -> Result<HeaderMap, InvalidCredential> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let parts = (HeaderName::try_from(name), HeaderValue::try_from(value));
        let (Ok(name), Ok(mut value)) = parts else {
            return Err(invalid_file(format!(
                "`credential_source` of the file has a header `{name}` that cannot be sent"
            )));
        };
        value.set_sensitive(name != METADATA_HEADER);
        map.insert(name, value);
    }
    Ok(map)
}

fn format(settings: TokenFormatSettings) -> Result<SubjectTokenFormat, InvalidCredential> {
    match (
        settings.r#type.as_deref(),
        settings.subject_token_field_name,
    ) {
        (None | Some("text"), _) => Ok(SubjectTokenFormat::Text),
        (Some("json"), Some(member)) => Ok(SubjectTokenFormat::Json(member)),
        (Some("json"), None) => Err(invalid_file(
            "`format` of the file is `json` and lacks `subject_token_field_name`".into(),
        )),
        (Some(other), _) => Err(invalid_file(format!(
            "`format` of the file is `{other}`; `text` and `json` are supported"
        ))),
    }
}

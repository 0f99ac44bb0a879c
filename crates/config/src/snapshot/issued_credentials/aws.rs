//! Builds the source of temporary access keys of AWS.

use super::super::aws_credentials::{SignatureScope, access_key, scope};
use super::super::credentials::credential_context::CredentialBuildContext;
use super::super::credentials::invalid_credential::InvalidCredential;
use super::{IssuerPlace, IssuingAccount, hash, issuer};
use crate::aws_credentials::{AwsCredentialConfig, AwsWebIdentityConfig};
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::credential_secret::CredentialSecret;
use headgate_core::scalar::Secret;
use headgate_credentials::CredentialIssuer;
use headgate_credentials::aws::{
    AssumedRole, AwsBaseKeys, AwsKeySource, ContainerToken, WebIdentity,
};
use std::sync::Arc;

const KINDS: &str = "write an access key, `container: true`, `instance: true` or `web_identity: {role_arn: …, token_file: …}`";
/// Where ECS and EKS say that keys are, as AWS's SDKs read it.
const RELATIVE_URI: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL_URI: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const CONTAINER_TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
const CONTAINER_TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
/// What replaces the URL of the metadata server, and that of the Security Token Service.
const METADATA_URL: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
const STS_URL: &str = "AWS_ENDPOINT_URL_STS";
/// The agent of ECS.
const ECS_AGENT: &str = "http://169.254.170.2";
/// Agents whose URLs may have no TLS: those of ECS and EKS.
const AGENTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];

/// Whether a server issues the keys, so that they are no access key that is written.
pub fn is_issued(config: &AwsCredentialConfig) -> bool {
    let others = [
        config.container,
        config.instance,
        config.web_identity.is_some(),
    ];
    others.contains(&true) || config.assume_role.is_some()
}

/// Temporary keys of a container, an instance, a web identity or a role.
pub fn build(
    config: &AwsCredentialConfig,
    context: CredentialBuildContext<'_>,
) -> Result<Credential, InvalidCredential> {
    let SignatureScope { region, service } = scope(config, context.base_url)?;
    let BaseWithIdentity {
        base,
        identity,
        mut secrets,
        settings,
    } = base(config, &region, context)?;
    let external_id = config
        .assume_role
        .as_ref()
        .and_then(|role| role.external_id.as_ref());
    let external_id = external_id.map(Secret::expose);
    secrets.extend(external_id.map(CredentialSecret::new));
    let role = match &config.assume_role {
        None => None,
        Some(role) => Some(AssumedRole {
            issuer: sts(&region, context)?,
            role_arn: arn("/aws/assume_role/role_arn", &role.role_arn)?,
            session_name: session_name("/aws/assume_role/session_name", &role.session_name)?,
            external_id: external_id.map(Into::into),
            region: region.as_str().into(),
        }),
    };
    let named = role
        .as_ref()
        .map(|role| (&role.role_arn, &role.session_name));
    let account = IssuingAccount {
        settings: hash(("aws", settings, named, external_id, &region, &service)),
        signs_body: true,
        identity: named.map_or(identity, |(arn, _)| arn.to_string()),
        secrets,
        source: Arc::new(AwsKeySource {
            base,
            role,
            region: region.into(),
            service: service.into(),
        }),
    };
    Ok(account.credential(context))
}

struct BaseWithIdentity {
    base: AwsBaseKeys,
    identity: String,
    secrets: Vec<CredentialSecret>,
    /// A hash of what is written of it.
    settings: u64,
}

fn base(
    config: &AwsCredentialConfig,
    region: &str,
    context: CredentialBuildContext<'_>,
) -> Result<BaseWithIdentity, InvalidCredential> {
    let keys = [&config.access_key_id, &config.secret_access_key];
    let has_key = keys.iter().any(|part| part.is_some()) || config.profile.is_some();
    match (
        has_key,
        config.container,
        config.instance,
        &config.web_identity,
    ) {
        (true, false, false, None) => {
            let key = access_key(config, context.variables)?;
            let parts = [Some(&key.id), Some(&key.secret), key.session_token.as_ref()];
            let parts = parts.into_iter().flatten();
            Ok(BaseWithIdentity {
                identity: key.id.to_string(),
                secrets: parts.map(|part| CredentialSecret::new(part)).collect(),
                settings: hash((&key.id, &key.secret, &key.session_token)),
                base: AwsBaseKeys::Fixed(key),
            })
        }
        (false, true, false, None) => container(context),
        (false, false, true, None) => {
            let url = variable(context, METADATA_URL);
            let url = url.unwrap_or_else(|| "http://169.254.169.254".into());
            let issuer = issuer(context, "/aws/instance", &url, IssuerPlace::Machine)?;
            Ok(BaseWithIdentity {
                base: AwsBaseKeys::Instance(issuer),
                identity: "instance".into(),
                secrets: Vec::new(),
                settings: hash(("instance", url)),
            })
        }
        (false, false, false, Some(identity)) => web_identity(identity, region, context),
        _ => Err(InvalidCredential {
            key: "/aws",
            reason: "it must have exactly one access key or source of keys".into(),
            hint: Some(KINDS),
        }),
    }
}

fn container(context: CredentialBuildContext<'_>) -> Result<BaseWithIdentity, InvalidCredential> {
    let invalid = |reason: String| InvalidCredential {
        key: "/aws/container",
        reason,
        hint: Some("ECS and EKS set these variables; elsewhere use another source of keys"),
    };
    let relative = variable(context, RELATIVE_URI).map(|path| format!("{ECS_AGENT}{path}"));
    let url = relative.or_else(|| variable(context, FULL_URI));
    let url =
        url.ok_or_else(|| invalid(format!("neither `{RELATIVE_URI}` nor `{FULL_URI}` is set")))?;
    let host = url.strip_prefix("http://").map(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        let host = host.strip_prefix('[').map_or_else(
            || host.split(':').next().unwrap_or_default(),
            |host| host.split(']').next().unwrap_or_default(),
        );
        AGENTS.contains(&host)
    });
    let place = match host {
        Some(true) => IssuerPlace::Machine,
        Some(false) | None => IssuerPlace::Network,
    };
    let token = match (
        variable(context, CONTAINER_TOKEN_FILE),
        variable(context, CONTAINER_TOKEN),
    ) {
        (Some(path), _) => ContainerToken::File(context.folder.join(path)),
        (None, Some(token)) => ContainerToken::Fixed(token.into()),
        (None, None) => ContainerToken::None,
    };
    let secrets = match &token {
        ContainerToken::Fixed(token) => vec![CredentialSecret::new(token)],
        ContainerToken::File(_) | ContainerToken::None => Vec::new(),
    };
    Ok(BaseWithIdentity {
        base: AwsBaseKeys::Container {
            issuer: issuer(context, "/aws/container", &url, place)?,
            token,
        },
        identity: "container".into(),
        secrets,
        settings: hash(("container", url)),
    })
}

fn web_identity(
    config: &AwsWebIdentityConfig,
    region: &str,
    context: CredentialBuildContext<'_>,
) -> Result<BaseWithIdentity, InvalidCredential> {
    let role_arn = arn("/aws/web_identity/role_arn", &config.role_arn)?;
    let session_name = session_name("/aws/web_identity/session_name", &config.session_name)?;
    let token_file = context.folder.join(&config.token_file);
    Ok(BaseWithIdentity {
        identity: role_arn.to_string(),
        secrets: Vec::new(),
        settings: hash(("web identity", &role_arn, &session_name, &token_file)),
        base: AwsBaseKeys::WebIdentity(WebIdentity {
            issuer: sts(region, context)?,
            role_arn,
            session_name,
            token_file,
        }),
    })
}

/// The Security Token Service of a region.
fn sts(
    region: &str,
    context: CredentialBuildContext<'_>,
) -> Result<CredentialIssuer, InvalidCredential> {
    let end = match region.starts_with("cn-") {
        true => ".cn",
        false => "",
    };
    let url = variable(context, STS_URL);
    let url = url.unwrap_or_else(|| format!("https://sts.{region}.amazonaws.com{end}"));
    issuer(
        context,
        "/aws",
        url.trim_end_matches('/'),
        IssuerPlace::Network,
    )
}

fn arn(key: &'static str, arn: &str) -> Result<Box<str>, InvalidCredential> {
    match arn.starts_with("arn:") && arn.contains(":role/") && arn.is_ascii() {
        true => Ok(arn.into()),
        false => Err(InvalidCredential {
            key,
            reason: "it is not the ARN of a role".into(),
            hint: Some("write it as in `arn:aws:iam::123456789012:role/gateway`"),
        }),
    }
}

fn session_name(key: &'static str, name: &str) -> Result<Box<str>, InvalidCredential> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_+=,.@-".contains(&byte);
    match (2..=64).contains(&name.len()) && name.bytes().all(is_of_name) {
        true => Ok(name.into()),
        false => Err(InvalidCredential {
            key,
            reason: "the name must have 2 to 64 letters, digits and characters of `_+=,.@-`".into(),
            hint: None,
        }),
    }
}

fn variable(context: CredentialBuildContext<'_>, name: &str) -> Option<String> {
    (context.variables)(name).filter(|value| !value.is_empty())
}

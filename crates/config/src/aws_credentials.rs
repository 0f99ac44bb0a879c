//! Credentials of channels at AWS, as written: an access key, or where a temporary one comes from.

use headgate_core::scalar::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// An access key of AWS, which signs each request with its body: one that is written here, or a temporary one of a container, an
/// instance, a web identity or a role.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AwsCredentialConfig {
    /// The id of the access key. Tasks belong to it: the secret may rotate.
    pub access_key_id: Option<Secret>,
    /// The secret access key, which signs.
    pub secret_access_key: Option<Secret>,
    /// The session token of a temporary key. Default: none.
    pub session_token: Option<Secret>,
    /// The name of a profile with an access key, in the file that AWS's tools share. It is read at each reload. Default: none.
    #[schemars(length(min = 1))]
    pub profile: Option<String>,
    /// Whether the keys are those of this container, on ECS or on EKS with pod identities. Default: false.
    #[serde(default)]
    pub container: bool,
    /// Whether the keys are those of this instance, from its metadata server (IMDSv2). Default: false.
    #[serde(default)]
    pub instance: bool,
    /// A role that is assumed with a token in a file.
    pub web_identity: Option<AwsWebIdentityConfig>,
    /// A role that is assumed with the key. Default: none, the key signs.
    pub assume_role: Option<AwsRoleConfig>,
    /// The region. Default: that in the host of `base_url`, such as `bedrock-runtime.eu-west-1.amazonaws.com`.
    #[schemars(length(min = 1))]
    pub region: Option<String>,
    /// The name of the service in signatures. Default: bedrock.
    #[serde(default = "default_aws_service")]
    #[schemars(length(min = 1))]
    pub service: String,
}

/// A role, and the token with which it is assumed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AwsWebIdentityConfig {
    /// The ARN of the role. Tasks belong to it.
    #[schemars(length(min = 1))]
    pub role_arn: String,
    /// A file with a token that the account trusts, such as `${AWS_WEB_IDENTITY_TOKEN_FILE}`. It is read for each key.
    pub token_file: PathBuf,
    /// The name of the session in AWS's logs. Default: headgate.
    #[serde(default = "default_session_name")]
    #[schemars(length(min = 2))]
    pub session_name: String,
}

/// A role that is assumed with an access key.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AwsRoleConfig {
    /// The ARN of the role. Tasks belong to it.
    #[schemars(length(min = 1))]
    pub role_arn: String,
    /// What the account of the role requires of others. Default: none.
    pub external_id: Option<Secret>,
    /// The name of the session in AWS's logs. Default: headgate.
    #[serde(default = "default_session_name")]
    #[schemars(length(min = 2))]
    pub session_name: String,
}

fn default_aws_service() -> String {
    "bedrock".to_owned()
}

fn default_session_name() -> String {
    "headgate".to_owned()
}

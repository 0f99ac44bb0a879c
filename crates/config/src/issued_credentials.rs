//! Credentials of channels that a server issues, as written: tokens of OAuth 2.0, of Microsoft Entra and of Google.

use headgate_core::scalar::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// Access tokens of any token endpoint, by client credentials (RFC 6749, section 4.4).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OAuth2CredentialConfig {
    /// The URL of the token endpoint: with https, or at this machine.
    #[schemars(length(min = 1))]
    pub token_url: String,
    /// The id of the client. Tasks belong to it: the secret may rotate.
    pub client_id: Secret,
    /// The secret of the client.
    pub client_secret: Secret,
    /// Where requests for a token have the secret. Default: basic.
    #[serde(default)]
    pub client_authentication: ClientAuthenticationConfig,
    /// The scope of the tokens. Default: what the server grants the client.
    pub scope: Option<String>,
    /// The field `audience`, which some servers need. Default: none.
    pub audience: Option<String>,
    /// The field `resource` (RFC 8707). Default: none.
    pub resource: Option<String>,
}

/// Where a client has its secret.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuthenticationConfig {
    /// In the header `authorization`.
    #[default]
    Basic,
    /// In the form.
    Post,
}

/// Access tokens of Microsoft Entra: for an application by its secret, a certificate or a token of another issuer, or for the
/// managed identity of this machine.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AzureCredentialConfig {
    /// The id or domain of the tenant. Not with a managed identity.
    pub tenant: Option<String>,
    /// The id of the application, or of an identity that a user assigned. Tasks belong to it. Default: with a managed
    /// identity, that of the system.
    pub client_id: Option<Secret>,
    /// A secret of the application.
    pub client_secret: Option<Secret>,
    /// A PEM file with a certificate of the application and its RSA key. It is read at each reload.
    pub certificate: Option<PathBuf>,
    /// A file with a token that the application trusts (workload identity), such as `${AZURE_FEDERATED_TOKEN_FILE}`. It is read
    /// for each token.
    pub federated_token_file: Option<PathBuf>,
    /// Whether the tokens are those of the managed identity of this machine. Default: false.
    #[serde(default)]
    pub managed_identity: bool,
    /// What the tokens are for. Default: https://cognitiveservices.azure.com/.default.
    #[serde(default = "default_azure_scope")]
    #[schemars(length(min = 1))]
    pub scope: String,
    /// The URL of Entra; other clouds have others. Default: https://login.microsoftonline.com.
    #[serde(default = "default_authority")]
    #[schemars(length(min = 1))]
    pub authority: String,
}

/// Access tokens of Google: for a service account with a key, for a workload of another cloud that Google trusts, or for the
/// service account that this machine runs as.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GcpCredentialConfig {
    /// The file of a service account with its key, or of an external account (workload identity federation), such as
    /// `${GOOGLE_APPLICATION_CREDENTIALS}`. It is read at each reload.
    pub credentials_file: Option<PathBuf>,
    /// Whether the tokens are those of the service account of this machine, from the metadata server. Default: false.
    #[serde(default)]
    pub metadata_server: bool,
    /// The URL of the token endpoint. Default: that in the file, which must be one of Google's.
    pub token_url: Option<String>,
    /// The URL at which an external account gets the token of a service account. Default: that in the file, which must be one
    /// of Google's.
    pub impersonation_url: Option<String>,
    /// The URL at which an external account gets its own token. Default: that in the file, which must be the metadata server of
    /// Azure.
    pub subject_token_url: Option<String>,
    /// The scope of the tokens. Default: https://www.googleapis.com/auth/cloud-platform.
    #[serde(default = "default_gcp_scope")]
    #[schemars(length(min = 1))]
    pub scope: String,
}

fn default_azure_scope() -> String {
    "https://cognitiveservices.azure.com/.default".to_owned()
}

fn default_authority() -> String {
    "https://login.microsoftonline.com".to_owned()
}

fn default_gcp_scope() -> String {
    "https://www.googleapis.com/auth/cloud-platform".to_owned()
}

//! Callbacks of a provider as written: how it confirms a URL, and how it signs what it sends there.

use super::scalars::ValueSourcesConfig;
use schemars::JsonSchema;
use serde::Deserialize;

/// Callbacks of a provider.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderCallbackConfig {
    /// Member of a callback that is sent back in the response, by which some providers confirm a new URL; a JSON pointer.
    /// Default: none.
    pub challenge: Option<String>,
    /// How callbacks are signed; others are refused. Default: they are not verified.
    pub signature: Option<CallbackSignatureConfig>,
    /// Where a verified callback has the provider's task id, so that one about another task is refused. Default: not
    /// compared.
    pub task_id: Option<ValueSourcesConfig>,
}

/// How callbacks are signed.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CallbackSignatureConfig {
    /// Kind of signature; `standard_webhooks` has defaults for all other members.
    pub kind: CallbackSignatureKindConfig,
    /// Header with the signature, or with several ones separated by spaces. Required unless `kind` is
    /// `standard_webhooks`.
    pub header: Option<String>,
    /// What stands before each signature, such as `sha256=`; others are ignored. Default: nothing.
    pub prefix: Option<String>,
    /// How signatures are written. Default: hex; with `standard_webhooks`, base64.
    pub encoding: Option<SignatureEncodingConfig>,
    /// Header with the time of the callback in Unix seconds, which must be within 5 minutes of now. Default: none.
    pub timestamp: Option<String>,
    /// What is signed: a text with `{body}`, `{body_sha256}` (in hex) and names of headers, such as `{webhook-id}`. Default:
    /// `{body}`.
    pub signed: Option<String>,
    /// URL of the provider's public keys, a JSON Web Key Set. Required with `ed25519`.
    pub jwks: Option<String>,
}

/// Kind of a callback's signature.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum CallbackSignatureKindConfig {
    /// Standard Webhooks, with `callback_secrets` of the channel.
    StandardWebhooks,
    /// HMAC-SHA256, with `callback_secrets` of the channel.
    HmacSha256,
    /// Ed25519, with the keys at `jwks`.
    Ed25519,
}

/// How a signature is written.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SignatureEncodingConfig {
    Hex,
    Base64,
}

//! `callers` of `routes.yaml`: their keys and what each may do.

use crate::caller_limits::{BudgetConfig, CallerLimitsConfig};
use headgate_core::scalar::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// One caller, identified by its key.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallerConfig {
    /// Name of the caller in logs and metrics.
    #[schemars(length(min = 1))]
    pub name: String,
    /// SHA-256 digest of the caller's only key, 64 hex digits; `headgate key new` prints both. Required unless there are `keys`.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    #[schemars(extend("patternErrorMessage" = "expected a SHA-256 digest of 64 hex digits, as `headgate key new` and `headgate key digest` print it"))]
    pub key_sha256: Option<String>,
    /// Keys with names, of which any number is valid at a time: add the new one, let the caller change over, and remove the
    /// old one. Default: none.
    #[serde(default)]
    pub keys: Vec<CallerKeyConfig>,
    /// Platform models this caller may use; `*` matches any characters.
    pub models: Vec<String>,
    /// Limits of the caller, enforced on routes with `rate_limit`. Default: none.
    #[serde(default)]
    pub limits: CallerLimitsConfig,
    /// Group of `groups` whose limits the caller shares. Default: none.
    pub group: Option<String>,
    /// Secrets that sign deliveries to the caller's callback URLs, each `whsec_` and the base64 of 24 to 64 random
    /// bytes. List the new and the old one while the caller changes over. Default: none, deliveries are not signed.
    #[serde(default)]
    pub webhook_secrets: Vec<Secret>,
    /// URL that gets OpenAI's events `video.completed` and `video.failed` for the caller's videos on routes with
    /// `protocol: videos`, unless a create names a `callback_url`. Requires `webhook_secrets`. Default: none.
    #[serde(default)]
    pub webhook_url: Option<String>,
}

/// A key of a caller. What it is restricted to is a part of what the caller may do.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct CallerKeyConfig {
    /// Name of the key in logs, metrics and findings, unique among the caller's keys: letters, digits, `.`, `_` and `-`.
    #[schemars(length(min = 1, max = 64))]
    #[schemars(regex(pattern = r"^[0-9A-Za-z._-]+$"))]
    #[schemars(extend("patternErrorMessage" = "expected letters, digits, `.`, `_` and `-`"))]
    pub label: String,
    /// SHA-256 digest of the key, 64 hex digits; `headgate key new` prints both. Required unless there is a `certificate`.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    #[schemars(extend("patternErrorMessage" = "expected a SHA-256 digest of 64 hex digits, as `headgate key new` and `headgate key digest` print it"))]
    pub key_sha256: Option<String>,
    /// In place of a key: a name in the client certificate of connections, on routes whose `authenticate` has
    /// `client_certificate`: `uri:`, `dns:` or `email:` and a subject alternative name, or `cn:` and the common name of the
    /// subject, such as `uri:spiffe://prod/web`. Requires `server.tls.client_ca`. Default: none.
    #[schemars(regex(pattern = r"^(uri|dns|email|cn):."))]
    #[schemars(extend("patternErrorMessage" = "expected `uri:`, `dns:`, `email:` or `cn:`, and a name of the certificate"))]
    pub certificate: Option<String>,
    /// Time before which the key is refused, such as `2026-12-01T00:00:00Z`. Default: none.
    pub not_before: Option<String>,
    /// Time from which on the key is refused, such as `2027-03-01T00:00:00Z`; a finding reports a key in use 14 days before it
    /// expires. Default: none, it never expires.
    pub not_after: Option<String>,
    /// Platform models that the key may be used for, of those of the caller; `*` matches any characters. Default: all of
    /// them.
    pub models: Option<Vec<String>>,
    /// Names of routes that the key may be used on. Default: all.
    pub routes: Option<Vec<String>>,
    /// Budget in money of requests with this key, besides those of the caller, on routes with `rate_limit`. Default: none.
    #[serde(default)]
    pub budget: BudgetConfig,
    /// Networks of clients that may use the key, such as `10.0.0.0/8`. Default: all.
    pub networks: Option<Vec<String>>,
}

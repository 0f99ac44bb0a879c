//! The settings of the admin listener in `server`: keys, roles, and pages that need no key.

use schemars::JsonSchema;
use serde::Deserialize;

/// One holder of an admin key.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct AdminKeyConfig {
    /// Name of the holder in the audit log.
    #[schemars(length(min = 1))]
    pub name: String,
    /// SHA-256 digest of the key, 64 hex digits; `headgate key new` prints both.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    #[schemars(extend("patternErrorMessage" = "expected a SHA-256 digest of 64 hex digits, as `headgate key new` and `headgate key digest` print it"))]
    pub key_sha256: String,
    /// What the key permits.
    pub role: AdminRoleConfig,
}

/// What an admin key permits.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AdminRoleConfig {
    /// Reads all pages.
    Read,
    /// Also acts: reloads, drains channels, resets their health, redrives callbacks. Issues no keys.
    Act,
    /// Reads all pages, makes, changes and deletes callers of the state store, and does nothing that `act` does.
    Issue,
}

/// An admin page that can be opened to requests without a key.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OpenAdminPageConfig {
    /// `/metrics`, which has the names of callers, channels and models.
    Metrics,
    /// `/healthz`.
    Healthz,
    /// `/readyz`.
    Readyz,
}

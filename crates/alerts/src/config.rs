//! `alerts` of `routes.yaml`.

use headgate_core::scalar::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The section of this feature.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AlertsSection {
    /// Receivers of findings, by name. Default: none.
    pub alerts: BTreeMap<String, AlertReceiverConfig>,
}

/// A receiver of findings: it gets a POST when one begins, and when it is over.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AlertReceiverConfig {
    /// URL that is called, `https` or `http`, at any address. It is a secret, since such URLs often contain a token.
    pub url: Secret,
    /// Secret that signs each event, as `headgate key webhook` prints it. Default: events are not signed.
    pub secret: Option<Secret>,
    /// The least severe finding that is sent. Default: `warning`.
    #[serde(default)]
    pub severity: AlertSeverity,
    /// Only findings of these codes are sent; an unknown code is an error. Default: of all codes.
    #[serde(default)]
    pub codes: Vec<String>,
}

/// How severe a finding is at least.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AlertSeverity {
    /// All findings.
    Notice,
    /// Requests fail, or may fail soon.
    #[default]
    Warning,
    /// Requests fail.
    Critical,
}

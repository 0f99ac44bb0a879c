//! `issuers` of `routes.yaml`.

use crate::token::algorithm::SignatureAlgorithm;
use headgate_core::scalar::HumanDuration;
use headgate_core::scalar::one_or_more::OneOrMore;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The section of this feature.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct IdentitySection {
    /// Issuers of JSON Web Tokens, by the name that `authenticate.jwt`, logs and names of callers have. Default: none.
    pub issuers: BTreeMap<String, TokenIssuerConfig>,
}

/// An issuer whose tokens authenticate callers, on routes whose `authenticate.jwt` names it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenIssuerConfig {
    /// The claim `iss` of its tokens, letter by letter. Without `jwks`, the keys are those that
    /// `ISSUER/.well-known/openid-configuration` names.
    #[schemars(length(min = 1, max = 1024))]
    pub issuer: String,
    /// Audiences: the claim `aud` of a token must have one of them.
    pub audience: OneOrMore,
    /// URL of its JSON Web Key Set: `https`, or `http` on a loopback address. Default: by discovery.
    pub jwks: Option<String>,
    /// Algorithms that it signs with; a token with another one is refused. Each takes keys of its own type only.
    #[schemars(length(min = 1))]
    pub algorithms: Vec<SignatureAlgorithm>,
    /// How far its clock may be from the gateway's, at most `5m`. Default: `60s`.
    #[serde(default = "default_clock_skew")]
    pub clock_skew: HumanDuration,
    /// Expression for the name of the caller, over the claims as `json("/claim")`: at most 128 visible ASCII characters. The
    /// caller is named `NAME:value`, by the name of the issuer here. Default: `json("/sub")`.
    #[serde(default = "default_caller")]
    pub caller: String,
    /// Expression for the models that a token is restricted to, of those that `admit` gives: a list of names and patterns, or
    /// a text of them with spaces between. Default: all of those.
    pub models: Option<String>,
    /// Who is admitted: the first entry whose condition is true decides. A token that none admits gets 403.
    #[schemars(length(min = 1))]
    pub admit: Vec<TokenAdmissionConfig>,
    /// The number of callers that metrics name; all others are `other`. Default: 100.
    #[serde(default = "default_metric_names")]
    #[schemars(range(max = 10_000))]
    pub metric_names: usize,
}

/// What tokens with certain claims may do. Requires `as` or `like`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenAdmissionConfig {
    /// Condition over the claims, such as `"ml" in json("/groups")`. Default: every token of the issuer.
    pub when: Option<String>,
    /// The token is one more key of this caller of `callers`: it has its name, and shares its limits.
    #[serde(rename = "as")]
    pub as_caller: Option<String>,
    /// The claimed caller may do what this caller of `callers` may, each with limits of its own.
    pub like: Option<String>,
}

fn default_clock_skew() -> HumanDuration {
    HumanDuration::seconds(60)
}

fn default_caller() -> String {
    r#"json("/sub")"#.to_owned()
}

fn default_metric_names() -> usize {
    100
}

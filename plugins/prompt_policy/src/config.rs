//! The configuration of the plugin.

use crate::policy::{Policy, Rule, RuleAction};
use crate::role::Role;
use regex::Regex;
use serde::Deserialize;

/// The configuration as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyConfig {
    /// Rules in the order in which they apply to each text.
    pub rules: Vec<RuleConfig>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// The name in log lines.
    pub name: String,
    /// The regular expression, of the syntax of the crate regex.
    #[serde(rename = "match")]
    pub pattern: String,
    /// Roles whose text the rule applies to. Default: all.
    #[serde(default = "Role::all", rename = "in")]
    pub roles: Vec<Role>,
    /// What becomes of a request whose text matches.
    pub action: ActionConfig,
    /// The message of the local reply. Only for `deny`. Default: "The request is denied by policy."
    pub message: Option<String>,
    /// The code of the local reply. Only for `deny`. Default: `denied`.
    pub code: Option<String>,
    /// What replaces each match; `$1` or `${name}` is a group of it. Required for `rewrite`, and only for it.
    pub replacement: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionConfig {
    Deny,
    Rewrite,
}

impl Policy {
    /// Reads the configuration, which must have rules.
    pub fn new(configuration: &[u8]) -> Result<Self, String> {
        let config: PolicyConfig =
            serde_json::from_slice(configuration).map_err(|error| error.to_string())?;
        if config.rules.is_empty() {
            return Err("rules: must not be empty".to_owned());
        }
        let rules: Result<Vec<_>, String> = config.rules.into_iter().map(rule).collect();
        Ok(Self { rules: rules? })
    }
}

fn rule(config: RuleConfig) -> Result<Rule, String> {
    let name = config.name;
    let pattern = Regex::new(&config.pattern)
        .map_err(|error| format!("rule {name:?}: invalid regular expression: {error}"))?;
    let is_denial = config.message.is_some() || config.code.is_some();
    let action = match (config.action, config.replacement) {
        (ActionConfig::Deny, None) => RuleAction::Deny {
            message: config
                .message
                .unwrap_or_else(|| "The request is denied by policy.".to_owned()),
            code: config.code.unwrap_or_else(|| "denied".to_owned()),
        },
        (ActionConfig::Deny, Some(_)) => {
            return Err(format!(
                "rule {name:?}: `replacement` is only for `action: rewrite`"
            ));
        }
        (ActionConfig::Rewrite, None) => {
            return Err(format!(
                "rule {name:?}: `action: rewrite` requires `replacement`"
            ));
        }
        (ActionConfig::Rewrite, Some(_)) if is_denial => {
            return Err(format!(
                "rule {name:?}: `message` and `code` are only for `action: deny`"
            ));
        }
        (ActionConfig::Rewrite, Some(replacement)) => RuleAction::Rewrite { replacement },
    };
    Ok(Rule {
        name,
        pattern,
        roles: config.roles,
        action,
    })
}

#[cfg(test)]
mod tests {
    use crate::policy::Policy;

    #[test]
    fn mistakes_are_refused_with_their_reason() {
        for (rules, reason) in [
            ("", "must not be empty"),
            (r#"{"name":"a"}"#, "missing field `match`"),
            (
                r#"{"name":"a","match":"x","action":"drop"}"#,
                "unknown variant `drop`",
            ),
            (
                r#"{"name":"a","match":"x","action":"deny","on":1}"#,
                "unknown field `on`",
            ),
            (
                r#"{"name":"a","match":"x","action":"deny","in":["model"]}"#,
                "unknown variant `model`",
            ),
            (
                r#"{"name":"a","match":"(","action":"deny"}"#,
                "\"a\": invalid regular expression",
            ),
            (
                r#"{"name":"a","match":"x","action":"rewrite"}"#,
                "requires `replacement`",
            ),
            (
                r#"{"name":"a","match":"x","action":"deny","replacement":""}"#,
                "only for `action: rewrite`",
            ),
            (
                r#"{"name":"a","match":"x","action":"rewrite","replacement":"","code":"c"}"#,
                "only for `action: deny`",
            ),
        ] {
            let error = Policy::new(format!("{{\"rules\":[{rules}]}}").as_bytes()).unwrap_err();
            assert!(error.contains(reason), "{rules}: {error}");
        }
        assert!(Policy::new(b"").is_err());
    }
}

//! Builds the issuers of a configuration, and checks what their settings name.

use super::admission::{CallerTemplate, TokenAdmissionPolicy, TokenAdmissionRule};
use super::claim_expression::ClaimExpression;
use super::claimed_names::ClaimedNames;
use super::config::{TokenAdmissionConfig, TokenIssuerConfig};
use super::issuer_keys::IssuerKeySets;
use super::key_source::{KeySource, parse_key_url};
use super::metrics::IssuerCounts;
use super::token_issuer::{TokenIssuer, TokenIssuers};
use crate::token::claims::ClaimRequirements;
use headgate_core::catalog::caller::Callers;
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::pointer::child;
use headgate_core::state::counter_key::RESERVED_PREFIXES;
use headgate_protocol::nearest::nearest;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The largest clock skew.
const CLOCK_SKEW_MAX: Duration = Duration::from_secs(5 * 60);
/// The longest name of an issuer, in bytes.
const NAME_BYTES_MAX: usize = 32;

/// What issuers of all configurations share.
pub(crate) struct SharedIssuerState {
    pub keys: Arc<IssuerKeySets>,
    pub names: Arc<ClaimedNames>,
    pub counts: Arc<IssuerCounts>,
}

struct IssuerBuilder<'a> {
    shared: &'a SharedIssuerState,
    problems: &'a mut dyn ConfigProblemSink,
}

pub(crate) fn build(
    configs: &BTreeMap<String, TokenIssuerConfig>,
    shared: &SharedIssuerState,
    problems: &mut dyn ConfigProblemSink,
) -> TokenIssuers {
    let mut claimed = HashSet::new();
    let mut builder = IssuerBuilder { shared, problems };
    let mut issuers = TokenIssuers::default();
    for (name, config) in configs {
        let at = child("/issuers", name);
        if !claimed.insert(&config.issuer) {
            let reason = "another issuer has the same `issuer`: tokens must be those of one";
            builder.problems.error(&child(&at, "issuer"), reason, None);
        }
        if let Some(issuer) = builder.build(name, config, &at) {
            issuers.by_name.insert(name.clone(), Arc::new(issuer));
        }
    }
    issuers
}

/// Checks what is known when callers and routes are built: the callers that rules name, and that every issuer is used.
pub(crate) fn check_use(
    issuers: &TokenIssuers,
    callers: &Callers,
    problems: &mut dyn ConfigProblemSink,
) {
    let errors = problems.errors();
    for (name, issuer) in &issuers.by_name {
        let at = child("/issuers", name);
        let prefix = format!("{name}:");
        let mut names = callers.iter().map(|caller| &caller.name);
        if let Some(taken) = names.find(|caller| caller.starts_with(&prefix)) {
            let reason =
                format!("caller `{taken}` has a name that tokens of this issuer can claim");
            let hint = "rename the issuer or the caller";
            problems.error(&at, reason, Some(hint));
        }
        for (index, rule) in issuer.admission.rules.iter().enumerate() {
            let (key, known) = match &rule.template {
                CallerTemplate::Same(known) => ("as", known),
                CallerTemplate::Like(known) => ("like", known),
            };
            if callers.find_declared(known).is_none() {
                let names = callers.iter().map(|caller| &*caller.name);
                let close = nearest(known, names, 1);
                let hint = close
                    .first()
                    .map(|close| format!("did you mean `{close}`?"));
                let at = child(&child(&child(&at, "admit"), index), key);
                let reason = format!("unknown caller `{known}`");
                problems.error(&at, reason, hint.as_deref());
            }
        }
        if errors == 0 && !issuer.is_used.load(Ordering::Relaxed) {
            let reason = format!("issuer `{name}` is never used");
            let hint = "name it in `jwt` of `authenticate`";
            problems.warning(&at, reason, Some(hint));
        }
    }
}

impl IssuerBuilder<'_> {
    fn build(&mut self, name: &str, config: &TokenIssuerConfig, at: &str) -> Option<TokenIssuer> {
        let errors = self.problems.errors();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_name) {
            let reason = format!(
                "the name of an issuer has 1 to {NAME_BYTES_MAX} letters, digits, `-` and `_`"
            );
            self.problems.error(at, reason, None);
        }
        let prefix = format!("{name}:");
        if RESERVED_PREFIXES.contains(&&*prefix) {
            let reason = format!("no caller has a name that begins with `{prefix}`");
            self.problems.error(at, reason, Some("choose another name"));
        }
        if config.audience.0.is_empty() || config.audience.0.iter().any(String::is_empty) {
            let reason = "expected at least one audience, and none that is empty";
            self.problems.error(&child(at, "audience"), reason, None);
        }
        if config.clock_skew.duration() > CLOCK_SKEW_MAX {
            let at = child(at, "clock_skew");
            self.problems.error(&at, "expected at most 5m", None);
        }
        let source = self.source(config, at);
        let name: Arc<str> = name.into();
        let admission = self.admission(&name, config, at);
        if self.problems.errors() > errors {
            return None;
        }
        Some(TokenIssuer {
            claimed: config.issuer.as_str().into(),
            algorithms: config.algorithms.clone(),
            requirements: ClaimRequirements {
                audiences: config.audience.0.clone(),
                clock_skew: config.clock_skew.duration(),
            },
            keys: self.shared.keys.find(&source),
            admission: admission?,
            is_used: false.into(),
            counts: self.shared.counts.find(&name),
            name,
        })
    }

    fn source(&mut self, config: &TokenIssuerConfig, at: &str) -> KeySource {
        let (source, key) = match &config.jwks {
            Some(url) => (KeySource::KeySet(url.as_str().into()), "jwks"),
            None => (
                KeySource::Discovery(config.issuer.as_str().into()),
                "issuer",
            ),
        };
        if let Err(reason) = parse_key_url(&source.url()) {
            self.problems.error(&child(at, key), reason, None);
        }
        source
    }

    fn admission(
        &mut self,
        name: &Arc<str>,
        config: &TokenIssuerConfig,
        at: &str,
    ) -> Option<TokenAdmissionPolicy> {
        let caller = ClaimExpression::compile_text(&config.caller);
        let caller = self.compiled(caller, child(at, "caller"));
        let models = config.models.as_ref().map(|models| {
            let compiled = ClaimExpression::compile(models);
            self.compiled(compiled, child(at, "models"))
        });
        let rules = config.admit.iter().enumerate();
        let rules: Vec<_> = rules
            .map(|(index, rule)| self.rule(rule, &child(&child(at, "admit"), index)))
            .collect();
        Some(TokenAdmissionPolicy {
            issuer: name.clone(),
            caller: caller?,
            models: match models {
                None => None,
                Some(models) => Some(models?),
            },
            rules: rules.into_iter().collect::<Option<_>>()?,
            metric_names_max: config.metric_names,
            metric_names: self.shared.names.clone(),
        })
    }

    fn rule(&mut self, config: &TokenAdmissionConfig, at: &str) -> Option<TokenAdmissionRule> {
        let when = config.when.as_ref().map(|when| {
            let compiled = ClaimExpression::compile_condition(when);
            self.compiled(compiled, child(at, "when"))
        });
        let template = match (&config.as_caller, &config.like) {
            (Some(name), None) => CallerTemplate::Same(name.as_str().into()),
            (None, Some(name)) => CallerTemplate::Like(name.as_str().into()),
            (Some(_), Some(_)) | (None, None) => {
                let reason = "expected one of `as` and `like`";
                self.problems.error(at, reason, None);
                return None;
            }
        };
        Some(TokenAdmissionRule {
            when: match when {
                None => None,
                Some(when) => Some(when?),
            },
            template,
        })
    }

    fn compiled(
        &mut self,
        compiled: Result<ClaimExpression, String>,
        at: String,
    ) -> Option<ClaimExpression> {
        compiled
            .map_err(|reason| self.problems.error(&at, reason, None))
            .ok()
    }
}

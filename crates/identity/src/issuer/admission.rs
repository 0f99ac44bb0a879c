//! What a valid token may do: the caller that its claims name, and the rule that admits it.

use super::claim_expression::ClaimExpression;
use super::claimed_names::ClaimedNames;
use crate::token::refusal::TokenRefusal;
use headgate_core::catalog::caller::{Caller, Callers};
use headgate_core::catalog::caller_key::CallerKey;
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_protocol::json::DocumentNode;
use std::sync::Arc;

/// The longest name of a caller that a token claims, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// What the claims of an issuer's tokens decide.
pub(crate) struct TokenAdmissionPolicy {
    pub issuer: Arc<str>,
    pub caller: ClaimExpression,
    pub models: Option<ClaimExpression>,
    /// The first one that applies decides.
    pub rules: Vec<TokenAdmissionRule>,
    pub metric_names_max: usize,
    pub metric_names: Arc<ClaimedNames>,
}

/// What tokens with certain claims may do.
pub(crate) struct TokenAdmissionRule {
    /// `None` for every token.
    pub when: Option<ClaimExpression>,
    pub template: CallerTemplate,
}

/// The caller of the configuration that a token's caller is made from, by its name.
pub(crate) enum CallerTemplate {
    /// It is this caller.
    Same(Arc<str>),
    /// It is another one with the same models and limits.
    Like(Arc<str>),
}

impl TokenAdmissionPolicy {
    /// The caller of a token with these claims, which a key of this id has signed.
    ///
    /// # Errors
    /// The claims name no caller, or none that is admitted.
    pub fn admit(
        &self,
        claims: DocumentNode<'_>,
        key_id: Option<&str>,
        callers: &Callers,
    ) -> Result<Caller, TokenRefusal> {
        let name = self.caller_name(claims)?;
        let template = self.template(claims)?;
        let known = |name: &Arc<str>| {
            let known = callers.find_declared(name);
            known.ok_or_else(|| TokenRefusal::UnknownCaller(name.to_string()))
        };
        let caller = match template {
            CallerTemplate::Same(known_name) => known(known_name)?.as_ref().clone(),
            CallerTemplate::Like(known_name) => {
                let most = self.metric_names_max;
                let label = self.metric_names.metric_label(&self.issuer, &name, most);
                known(known_name)?.claimed_as(name, label)
            }
        };
        let key = CallerKey {
            label: self.key_label(key_id),
            models: self.restriction(claims)?,
            ..CallerKey::default()
        };
        Ok(caller.with_key(Arc::new(key)))
    }

    fn caller_name(&self, claims: DocumentNode<'_>) -> Result<Arc<str>, TokenRefusal> {
        let claimed = self.caller.text(claims);
        let claimed = claimed.map_err(|error| failed("caller", error.message))?;
        let is_visible = claimed.bytes().all(|byte| byte.is_ascii_graphic());
        match is_visible && (1..=NAME_BYTES_MAX).contains(&claimed.len()) {
            true => Ok(format!("{}:{claimed}", self.issuer).into()),
            false => Err(TokenRefusal::CallerName),
        }
    }

    /// The template of the first rule that applies. A rule whose condition has no value for these claims, such as one about
    /// a claim that they lack, does not apply.
    fn template(&self, claims: DocumentNode<'_>) -> Result<&CallerTemplate, TokenRefusal> {
        let applies = |rule: &&TokenAdmissionRule| {
            let when = rule.when.as_ref();
            when.is_none_or(|when| when.is_true(claims).unwrap_or(false))
        };
        let rule = self.rules.iter().find(applies);
        rule.map(|rule| &rule.template)
            .ok_or(TokenRefusal::NotAdmitted)
    }

    fn restriction(
        &self,
        claims: DocumentNode<'_>,
    ) -> Result<Option<Vec<ModelPattern>>, TokenRefusal> {
        let Some(models) = &self.models else {
            return Ok(None);
        };
        let names = models.texts(claims);
        let names = names.map_err(|error| failed("models", error.message))?;
        Ok(Some(
            names.iter().map(|name| ModelPattern::new(name)).collect(),
        ))
    }

    /// The issuer and the id of the key, for the log.
    fn key_label(&self, key_id: Option<&str>) -> Arc<str> {
        match key_id {
            Some(id) => format!("{}/{id}", self.issuer).into(),
            None => self.issuer.clone(),
        }
    }
}

fn failed(expression: &'static str, message: String) -> TokenRefusal {
    TokenRefusal::Expression(expression, message)
}

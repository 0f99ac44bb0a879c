//! Builds the rules between fields from a family's definition.

use super::{FamilyErrors, child};
use crate::definition::{FieldLimitConfig, FieldMappingConfig, FieldRuleConfig};
use crate::family::document_expression::DocumentExpression;
use crate::family::field_rule::{FieldLimit, FieldRule};
use crate::generic::{GenericField, MediaRole};

/// When a rule applies, if its definition does not say that.
const DEFAULT_REASON: &str = "with the other fields";

impl FamilyErrors {
    pub(super) fn field_rules(&mut self, at: &str, rules: &[FieldRuleConfig]) -> Vec<FieldRule> {
        let rules = rules.iter().enumerate();
        let rules = rules.filter_map(|(index, rule)| {
            let at = child(&child(at, "rules"), &index.to_string());
            self.field_rule(&at, rule)
        });
        rules.collect()
    }

    fn field_rule(&mut self, at: &str, config: &FieldRuleConfig) -> Option<FieldRule> {
        let FieldRuleConfig {
            condition,
            reason,
            limits,
        } = config;
        let condition = DocumentExpression::over_create(condition)
            .map_err(|reason| self.add(&child(at, "if"), reason, None))
            .ok();
        let limits_at = child(at, "limits");
        if limits.is_empty() {
            self.add(&limits_at, "a rule must have limits", None);
        }
        let limits = limits.iter().filter_map(|(name, limit)| {
            let at = child(&limits_at, name);
            let Some(name) = field_or_role(name) else {
                let hint = "such as `duration`, `resolution` or `last_frame`";
                self.add(&at, "not a field, and not a role of media", Some(hint));
                return None;
            };
            Some((name, self.field_limit(&at, limit)?))
        });
        let limits = limits.collect();
        Some(FieldRule {
            condition: condition?,
            reason: reason.clone().unwrap_or_else(|| DEFAULT_REASON.into()),
            limits,
        })
    }

    fn field_limit(&mut self, at: &str, config: &FieldLimitConfig) -> Option<FieldLimit> {
        let FieldLimitConfig {
            allowed,
            min,
            max,
            required,
            refuse,
        } = config;
        let has_values = !allowed.is_empty() || min.is_some() || max.is_some();
        match (has_values, required, refuse) {
            (true, false, None) => {
                let values = FieldMappingConfig {
                    allowed: allowed.clone(),
                    min: *min,
                    max: *max,
                    ..FieldMappingConfig::default()
                };
                Some(FieldLimit::Values(self.allowed_values(at, &values)))
            }
            (false, true, None) => Some(FieldLimit::Required),
            (false, false, Some(why)) => Some(FieldLimit::Refuse(why.clone())),
            _ => {
                let reason = "set `allowed`, or `min` and `max`, or `required`, or `refuse`";
                self.add(at, reason, None);
                None
            }
        }
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    let fields = GenericField::ALL.into_iter().map(GenericField::name);
    fields.chain(MediaRole::ALL.into_iter().map(MediaRole::name))
}

fn field_or_role(name: &str) -> Option<&'static str> {
    names().find(|known| *known == name)
}

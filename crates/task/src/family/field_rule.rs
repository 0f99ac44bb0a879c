//! Rules between the fields of a create: what some may be, depending on others.

use super::allowed_values::AllowedValues;
use super::document_expression::DocumentExpression;
use super::json_fragment::JsonFragment;
use headgate_protocol::json::DocumentNode;
use std::fmt::Write;

/// A rule between fields.
#[derive(Debug)]
pub(super) struct FieldRule {
    /// Over the create in the generic shape.
    pub condition: DocumentExpression,
    /// As it reads after a value.
    pub reason: String,
    /// By the name of a field, or of a role of media.
    pub limits: Vec<(&'static str, FieldLimit)>,
}

/// What a field may be while its rule applies.
#[derive(Debug)]
pub(super) enum FieldLimit {
    Values(AllowedValues),
    Required,
    /// Why the field is refused, as it reads after the model.
    Refuse(String),
}

/// The limits of the rules that apply to a create.
pub(super) struct FieldLimits<'m>(Vec<AppliedFieldLimit<'m>>);

struct AppliedFieldLimit<'m> {
    name: &'static str,
    limit: &'m FieldLimit,
    reason: &'m str,
}

impl FieldRule {
    /// The limits of the rule in words, for people.
    pub fn descriptions(&self) -> impl Iterator<Item = String> {
        self.limits.iter().map(|(name, limit)| {
            let mut text = match limit {
                FieldLimit::Values(values) => {
                    format!("`{name}` must be {} {}", values.expected(), self.reason)
                }
                FieldLimit::Required => format!("`{name}` is required {}", self.reason),
                FieldLimit::Refuse(why) => format!("`{name}` is refused: the model {why}"),
            };
            // Writing to a text does not fail.
            let _ = write!(text, "; if {}", self.condition.expression_text());
            text
        })
    }
}

impl<'m> FieldLimits<'m> {
    /// The limits that apply to a create in the generic shape.
    pub fn new(
        rules: impl Iterator<Item = &'m FieldRule>,
        create: Option<DocumentNode<'_>>,
    ) -> Self {
        let applied = rules.filter(|rule| create.is_some_and(|root| rule.condition.is_true(root)));
        let limits = applied.flat_map(|rule| {
            let limits = rule.limits.iter();
            limits.map(|(name, limit)| AppliedFieldLimit {
                name,
                limit,
                reason: &rule.reason,
            })
        });
        Self(limits.collect())
    }

    /// # Errors
    /// The limit that the field exceeds, as it reads after its name and the model.
    pub fn check(
        &self,
        name: &str,
        param: &str,
        model: &str,
        value: &JsonFragment<'_>,
    ) -> Result<(), String> {
        for AppliedFieldLimit { limit, reason, .. } in self.for_field(name) {
            match limit {
                FieldLimit::Values(values) => {
                    if let Err(expected) = values.mapped(value, Some(reason)) {
                        return Err(format!("`{param}` of model `{model}` must be {expected}"));
                    }
                }
                FieldLimit::Refuse(why) => {
                    return Err(format!("`{param}`: model `{model}` {why}"));
                }
                FieldLimit::Required => {}
            }
        }
        Ok(())
    }

    /// Why the field must be given, if it must.
    pub fn required(&self, name: &str) -> Option<&'m str> {
        let mut limits = self.for_field(name);
        let required = limits.find(|applied| matches!(applied.limit, FieldLimit::Required));
        required.map(|applied| applied.reason)
    }

    fn for_field(&self, name: &str) -> impl Iterator<Item = &AppliedFieldLimit<'m>> {
        self.0.iter().filter(move |applied| applied.name == name)
    }
}

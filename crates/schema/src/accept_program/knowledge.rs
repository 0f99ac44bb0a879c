//! What is known of an object once some of its members have been read, and the verdicts that follow from it.

use super::scalar::KindSet;
use super::vocabulary::{is_annotation, target};
use super::{SchemaVerdict, all_pass, any_passes};
use headgate_protocol::json::ValueKind;
use serde_json::Value;
use std::cell::Cell;

/// What is known of a value: nothing, or that it is an object with members in these states.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct KnownMemberStates<'s>(Vec<(&'s str, MemberState<'s>)>);

/// The state of a member.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum MemberState<'s> {
    Absent,
    /// It is equal to this text, boolean or null.
    Equal(&'s Value),
    /// It is there, and equal to none of these.
    Other(Vec<&'s Value>),
}

/// A value of which something is known.
trait PartlyKnownValue<'s> {
    /// The verdict of a keyword that does not combine other schemas about the same value.
    fn verdict_of_keyword(
        &self,
        scope: PartialSchemaEvaluator<'s, '_>,
        keyword: &str,
        value: &'s Value,
    ) -> SchemaVerdict;
}

/// The evaluation of a schema.
#[derive(Clone, Copy)]
struct PartialSchemaEvaluator<'s, 'e> {
    root: &'s Value,
    /// The number of schemas that may still be entered, as references may be endless.
    schemas_left: &'e Cell<usize>,
}

/// The maximum number of schemas that one evaluation enters.
const SCHEMAS_MAX: usize = 256;

impl<'s> KnownMemberStates<'s> {
    /// This knowledge, and the state of one more member.
    pub fn with(&self, member: &'s str, state: MemberState<'s>) -> Self {
        let mut members = self.0.clone();
        members.push((member, state));
        Self(members)
    }

    /// The number of members whose state is known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether what is known of a member proves that a schema of it is kept to.
    pub fn implies(&self, root: &'s Value, member: &str, schema: &'s Value) -> bool {
        let schemas_left = &Cell::new(SCHEMAS_MAX);
        let known = self.0.iter().find(|(name, _)| *name == member);
        known.is_some_and(|(_, state)| {
            PartialSchemaEvaluator { root, schemas_left }.verdict(state, schema)
                == SchemaVerdict::Yes
        })
    }

    /// The verdict of a schema on the value, if what is known decides it.
    pub fn verdict(&self, root: &'s Value, schema: &'s Value) -> SchemaVerdict {
        let schemas_left = &Cell::new(SCHEMAS_MAX);
        match self.0.is_empty() && !schema.is_boolean() {
            true => SchemaVerdict::Unknown,
            false => PartialSchemaEvaluator { root, schemas_left }.verdict(self, schema),
        }
    }
}

impl<'s> PartlyKnownValue<'s> for KnownMemberStates<'s> {
    fn verdict_of_keyword(
        &self,
        scope: PartialSchemaEvaluator<'s, '_>,
        keyword: &str,
        value: &'s Value,
    ) -> SchemaVerdict {
        let state = |name: &str| {
            let member = self.0.iter().find(|(member, _)| *member == name);
            member.map(|(_, state)| state)
        };
        match keyword {
            "type" => verdict_of_type(value, ValueKind::Object.into()),
            "required" => {
                let names = value.as_array().into_iter().flatten();
                all_pass(
                    names
                        .filter_map(Value::as_str)
                        .map(|name| match state(name) {
                            Some(MemberState::Absent) => SchemaVerdict::No,
                            Some(_) => SchemaVerdict::Yes,
                            None => SchemaVerdict::Unknown,
                        }),
                )
            }
            "properties" => {
                let schemas = value.as_object().into_iter().flatten();
                all_pass(schemas.map(|(name, schema)| match state(name) {
                    Some(MemberState::Absent) => SchemaVerdict::Yes,
                    Some(state) => scope.verdict(state, schema),
                    None => SchemaVerdict::Unknown,
                }))
            }
            _ => SchemaVerdict::Unknown,
        }
    }
}

impl<'s> PartlyKnownValue<'s> for MemberState<'s> {
    fn verdict_of_keyword(
        &self,
        _: PartialSchemaEvaluator<'s, '_>,
        keyword: &str,
        value: &'s Value,
    ) -> SchemaVerdict {
        match (keyword, self) {
            ("const", _) => self.equals(value),
            ("enum", _) => {
                let values = value.as_array().into_iter().flatten();
                any_passes(values.map(|value| self.equals(value)))
            }
            ("type", MemberState::Equal(known)) => verdict_of_type(value, KindSet::from(*known)),
            _ => SchemaVerdict::Unknown,
        }
    }
}

impl MemberState<'_> {
    fn equals(&self, literal: &Value) -> SchemaVerdict {
        match self {
            MemberState::Equal(known) => SchemaVerdict::from(*known == literal),
            MemberState::Other(excluded) if excluded.contains(&literal) => SchemaVerdict::No,
            _ => SchemaVerdict::Unknown,
        }
    }
}

impl<'s> PartialSchemaEvaluator<'s, '_> {
    fn verdict(self, known: &dyn PartlyKnownValue<'s>, schema: &'s Value) -> SchemaVerdict {
        let Value::Object(keywords) = schema else {
            return SchemaVerdict::from(*schema != Value::Bool(false));
        };
        let Some(left) = self.schemas_left.get().checked_sub(1) else {
            return SchemaVerdict::Unknown;
        };
        self.schemas_left.set(left);
        all_pass(keywords.iter().map(|(keyword, value)| {
            let schemas = value.as_array().into_iter().flatten();
            let mut verdicts = schemas.map(|schema| self.verdict(known, schema));
            match keyword.as_str() {
                "$ref" => target(self.root, value)
                    .map_or(SchemaVerdict::Unknown, |schema| self.verdict(known, schema)),
                "not" => !self.verdict(known, value),
                "allOf" => all_pass(&mut verdicts),
                "anyOf" => any_passes(&mut verdicts),
                annotation if is_annotation(annotation) => SchemaVerdict::Yes,
                keyword => known.verdict_of_keyword(self, keyword, value),
            }
        }))
    }
}

fn verdict_of_type(words: &Value, kind: KindSet) -> SchemaVerdict {
    match KindSet::from_type(words) {
        Some((kinds, _)) => SchemaVerdict::from(kinds.intersection(kind) != KindSet::NONE),
        None => SchemaVerdict::Unknown,
    }
}

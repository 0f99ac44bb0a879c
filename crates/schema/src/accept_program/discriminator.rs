//! Members that decide which `if` applies, such as `type` of a message's part.

use super::SchemaVerdict;
use super::conjunction::BranchSchemas;
use super::knowledge::{KnownMemberStates, MemberState};
use super::vocabulary::target;
use serde_json::{Map, Value};

/// A member whose state decides tests, and the values that it is compared with.
pub struct Discriminator<'s> {
    pub member: &'s str,
    /// Texts, booleans and null.
    pub literals: Vec<&'s Value>,
}

/// The members that tests mention.
struct DiscriminatorSearch<'s> {
    root: &'s Value,
    found: Vec<Discriminator<'s>>,
    /// The number of schemas that may still be entered, as references may be endless.
    schemas_left: usize,
}

/// The maximum number of members of one object that are looked at first. Each multiplies the nodes of the object.
const FACTS_MAX: usize = 2;
/// The maximum number of values of a discriminator.
const LITERALS_MAX: usize = 64;
/// The maximum number of schemas that one search enters.
const SCHEMAS_MAX: usize = 512;

impl<'s> Discriminator<'s> {
    /// The member that decides the most tests of `branches`, if any does.
    pub fn find(
        root: &'s Value,
        branches: &[BranchSchemas<'s>],
        knowledge: &KnownMemberStates<'s>,
    ) -> Option<Self> {
        if knowledge.len() == FACTS_MAX {
            return None;
        }
        let mut candidates = DiscriminatorSearch {
            root,
            found: Vec::new(),
            schemas_left: SCHEMAS_MAX,
        };
        let mut tests = Vec::new();
        for branch in branches {
            if let BranchSchemas::If {
                test,
                then,
                otherwise,
            } = branch
            {
                tests.push(*test);
                candidates.search_test(test);
                for implied in [then, otherwise].into_iter().flatten() {
                    candidates.search(implied);
                }
            }
        }
        let counts = candidates.found.into_iter().map(|candidate| {
            let decides = |test: &&&'s Value| candidate.decides(root, test, knowledge);
            (tests.iter().filter(decides).count(), candidate)
        });
        let useful =
            counts.filter(|(count, found)| *count > 0 && found.literals.len() <= LITERALS_MAX);
        // Of equals the first one.
        let best = useful.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, candidate)| candidate)
    }

    fn decides(&self, root: &'s Value, test: &'s Value, knowledge: &KnownMemberStates<'s>) -> bool {
        let literals = self.literals.iter().copied().map(MemberState::Equal);
        let mut states = literals.chain([
            MemberState::Absent,
            MemberState::Other(self.literals.clone()),
        ]);
        states.all(|state| {
            let knowledge = knowledge.with(self.member, state);
            knowledge.verdict(root, test) != SchemaVerdict::Unknown
        })
    }
}

impl<'s> DiscriminatorSearch<'s> {
    /// Searches the tests within a schema that applies to the same value.
    fn search(&mut self, schema: &'s Value) {
        let Some(keywords) = self.enter(schema) else {
            return;
        };
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "if" => self.search_test(value),
                "then" | "else" => self.search(value),
                "$ref" => {
                    let target = target(self.root, value).into_iter();
                    target.for_each(|schema| self.search(schema));
                }
                "allOf" => {
                    let schemas = value.as_array().into_iter().flatten();
                    schemas.for_each(|schema| self.search(schema));
                }
                _ => {}
            }
        }
    }

    /// Adds the members that a test mentions, with the values it compares them with.
    fn search_test(&mut self, test: &'s Value) {
        let Some(keywords) = self.enter(test) else {
            return;
        };
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "required" => {
                    let names = value.as_array().into_iter().flatten();
                    for name in names.filter_map(Value::as_str) {
                        self.add(name, Vec::new());
                    }
                }
                "properties" => {
                    for (name, schema) in value.as_object().into_iter().flatten() {
                        let mut literals = Vec::new();
                        self.search_literals(schema, &mut literals);
                        self.add(name, literals);
                    }
                }
                _ => {
                    for schema in same_value(self.root, keyword, value) {
                        self.search_test(schema);
                    }
                }
            }
        }
    }

    /// Adds the values that a schema compares a value with. Numbers are left out, as equal ones have several spellings.
    fn search_literals(&mut self, schema: &'s Value, found: &mut Vec<&'s Value>) {
        let Some(keywords) = self.enter(schema) else {
            return;
        };
        let is_plain = |value: &&Value| value.is_string() || value.is_boolean() || value.is_null();
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "const" => found.extend(Some(value).filter(is_plain)),
                "enum" => found.extend(value.as_array().into_iter().flatten().filter(is_plain)),
                _ => {
                    for schema in same_value(self.root, keyword, value) {
                        self.search_literals(schema, found);
                    }
                }
            }
        }
    }

    /// The keywords of a schema, unless the search has already taken long.
    fn enter(&mut self, schema: &'s Value) -> Option<&'s Map<String, Value>> {
        self.schemas_left = self.schemas_left.checked_sub(1)?;
        schema.as_object()
    }

    fn add(&mut self, member: &'s str, literals: Vec<&'s Value>) {
        let known = self.found.iter().position(|known| known.member == member);
        let at = known.unwrap_or_else(|| {
            let literals = Vec::new();
            self.found.push(Discriminator { member, literals });
            self.found.len() - 1
        });
        let all = &mut self.found[at].literals;
        for literal in literals {
            if !all.contains(&literal) {
                all.push(literal);
            }
        }
    }
}

/// The schemas of a keyword that combines schemas about the same value.
fn same_value<'s>(root: &'s Value, keyword: &str, value: &'s Value) -> Vec<&'s Value> {
    match keyword {
        "not" => vec![value],
        "$ref" => target(root, value).into_iter().collect(),
        "allOf" | "anyOf" => value.as_array().into_iter().flatten().collect(),
        _ => Vec::new(),
    }
}

//! All rules that schemas state about one value, as one conjunction: `$ref`, `allOf` and decided `if` are expanded.

use super::SchemaVerdict;
use super::knowledge::KnownMemberStates;
use super::literal::Enumeration;
use super::scalar::{CountRange, KindSet, NumberRange};
use super::vocabulary::{kinds_of_judge, kinds_of_unknown, target};
use headgate_protocol::json::ValueKind;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet};

/// What several schemas together require of a value.
pub struct Conjunction<'s> {
    pub kinds: KindSet,
    /// The kinds to which a keyword applies that programs do not know.
    pub unknown_kinds: KindSet,
    pub integer: bool,
    pub numbers: NumberRange,
    pub length: CountRange,
    pub enumerations: Vec<Enumeration>,
    pub item_count: CountRange,
    pub items: Vec<&'s Value>,
    pub contains: Vec<(&'s Value, CountRange)>,
    pub member_count: CountRange,
    pub members: Vec<MemberSchemas<'s>>,
    pub required: BTreeSet<&'s str>,
    pub branches: Vec<BranchSchemas<'s>>,
    /// Keywords that are left to judges: the kinds they apply to, the word, and its value.
    pub judge_keywords: Vec<(KindSet, &'s str, &'s Value)>,
}

/// The schemas of members by one schema. `additionalProperties` is for the names that `properties` lacks.
pub struct MemberSchemas<'s> {
    pub properties: Option<&'s Map<String, Value>>,
    pub additional: Option<&'s Value>,
}

/// The schemas of a keyword that combines verdicts.
pub enum BranchSchemas<'s> {
    If {
        test: &'s Value,
        then: Option<&'s Value>,
        otherwise: Option<&'s Value>,
    },
    AnyOf(&'s [Value]),
    OneOf(&'s [Value]),
    Not(&'s Value),
}

/// The schemas refer to themselves without a step into the value.
#[derive(Debug)]
pub struct EndlessReferenceError;

/// The expansion of schemas into a conjunction.
struct ConjunctionBuilder<'s, 'k> {
    root: &'s Value,
    knowledge: &'k KnownMemberStates<'s>,
    rules: Conjunction<'s>,
    /// The schemas around the current one, by address.
    path: Vec<*const Value>,
    /// All schemas so far, by address: a schema that is stated twice says nothing new.
    known_addresses: HashSet<*const Value>,
}

impl<'s> Conjunction<'s> {
    /// The rules of `schemas`, all parts of `root`, for a value of which some facts are known.
    ///
    /// # Errors
    /// The schemas refer to themselves.
    pub fn new(
        root: &'s Value,
        schemas: &[&'s Value],
        knowledge: &KnownMemberStates<'s>,
    ) -> Result<Self, EndlessReferenceError> {
        let mut expansion = ConjunctionBuilder {
            root,
            knowledge,
            rules: Self::unrestricted(),
            path: Vec::new(),
            known_addresses: HashSet::new(),
        };
        for schema in schemas {
            expansion.absorb(schema)?;
        }
        Ok(expansion.rules)
    }

    fn unrestricted() -> Self {
        Self {
            kinds: KindSet::ALL,
            unknown_kinds: KindSet::NONE,
            integer: false,
            numbers: NumberRange::ALL,
            length: CountRange::ALL,
            enumerations: Vec::new(),
            item_count: CountRange::ALL,
            items: Vec::new(),
            contains: Vec::new(),
            member_count: CountRange::ALL,
            members: Vec::new(),
            required: BTreeSet::new(),
            branches: Vec::new(),
            judge_keywords: Vec::new(),
        }
    }

    fn add_unknown(&mut self, kinds: impl Into<KindSet>) {
        self.unknown_kinds = self.unknown_kinds.union(kinds.into());
    }

    fn add_type(&mut self, words: &Value) {
        match KindSet::from_type(words) {
            Some((kinds, integer)) => {
                self.kinds = self.kinds.intersection(kinds);
                self.integer |= integer;
            }
            None => self.add_unknown(KindSet::ALL),
        }
    }

    fn add_enumeration(&mut self, values: &[Value]) {
        match Enumeration::new(values) {
            Some((list, kinds)) => {
                self.kinds = self.kinds.intersection(kinds);
                self.enumerations.push(list);
            }
            None => self.add_unknown(KindSet::ALL),
        }
    }

    fn add_limit(&mut self, keyword: &str, value: &Value) {
        let limit = value.as_number().and_then(NumberRange::limit);
        match (limit, keyword) {
            (None, _) => self.add_unknown(ValueKind::Number),
            (Some(limit), "minimum") => self.numbers.raise_lower(limit, false),
            (Some(limit), "exclusiveMinimum") => self.numbers.raise_lower(limit, true),
            (Some(limit), "maximum") => self.numbers.reduce_upper(limit, false),
            (Some(limit), _) => self.numbers.reduce_upper(limit, true),
        }
    }

    fn add_count(&mut self, keyword: &str, value: &Value) {
        let (count, kind) = match keyword {
            "minLength" | "maxLength" => (&mut self.length, ValueKind::String),
            "minItems" | "maxItems" => (&mut self.item_count, ValueKind::Array),
            _ => (&mut self.member_count, ValueKind::Object),
        };
        match parse_limit(value) {
            Some(min) if keyword.starts_with("min") => count.min = count.min.max(min),
            Some(max) => count.max = count.max.min(max),
            None => self.add_unknown(kind),
        }
    }

    fn add_contains(&mut self, schema: &'s Map<String, Value>, of_element: &'s Value) {
        let limit = |keyword, default| schema.get(keyword).map_or(Some(default), parse_limit);
        match (
            limit("minContains", 1),
            limit("maxContains", CountRange::ALL.max),
        ) {
            (Some(min), Some(max)) => self.contains.push((of_element, CountRange { min, max })),
            _ => self.add_unknown(ValueKind::Array),
        }
    }

    fn add_required(&mut self, names: &'s Value) {
        let names = names.as_array().map_or(&[][..], Vec::as_slice);
        self.required.extend(names.iter().filter_map(Value::as_str));
    }
}

impl<'s> ConjunctionBuilder<'s, '_> {
    fn absorb(&mut self, schema: &'s Value) -> Result<(), EndlessReferenceError> {
        let Value::Object(keywords) = schema else {
            if *schema == Value::Bool(false) {
                self.rules.kinds = KindSet::NONE;
            }
            return Ok(());
        };
        let address = std::ptr::from_ref(schema);
        if self.path.contains(&address) {
            return Err(EndlessReferenceError);
        }
        if !self.known_addresses.insert(address) {
            return Ok(());
        }
        self.path.push(address);
        for (keyword, value) in keywords {
            self.absorb_keyword(keywords, keyword, value)?;
        }
        let properties = keywords.get("properties").and_then(Value::as_object);
        let additional = keywords.get("additionalProperties");
        if properties.is_some() || additional.is_some() {
            self.rules.members.push(MemberSchemas {
                properties,
                additional,
            });
        }
        self.path.pop();
        Ok(())
    }

    fn absorb_keyword(
        &mut self,
        schema: &'s Map<String, Value>,
        keyword: &'s str,
        value: &'s Value,
    ) -> Result<(), EndlessReferenceError> {
        let schemas = || value.as_array().map_or(&[][..], Vec::as_slice);
        let rules = &mut self.rules;
        match keyword {
            "$ref" => match target(self.root, value) {
                Some(target) => self.absorb(target)?,
                None => rules.add_unknown(KindSet::ALL),
            },
            "allOf" => schemas()
                .iter()
                .try_for_each(|schema| self.absorb(schema))?,
            "if" => self.absorb_if(schema, value)?,
            "anyOf" => rules.branches.push(BranchSchemas::AnyOf(schemas())),
            "oneOf" => rules.branches.push(BranchSchemas::OneOf(schemas())),
            "not" => rules.branches.push(BranchSchemas::Not(value)),
            "type" => rules.add_type(value),
            "const" => rules.add_enumeration(std::slice::from_ref(value)),
            "enum" => rules.add_enumeration(schemas()),
            "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" => {
                rules.add_limit(keyword, value);
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" => rules.add_count(keyword, value),
            "items" => rules.items.push(value),
            "contains" => rules.add_contains(schema, value),
            "required" => rules.add_required(value),
            // Read together with the keyword that they belong to.
            "properties"
            | "additionalProperties"
            | "then"
            | "else"
            | "minContains"
            | "maxContains" => {}
            _ => match kinds_of_judge(keyword) {
                Some(kinds) => rules.judge_keywords.push((kinds, keyword, value)),
                None => rules.add_unknown(kinds_of_unknown(keyword)),
            },
        }
        Ok(())
    }

    fn absorb_if(
        &mut self,
        schema: &'s Map<String, Value>,
        test: &'s Value,
    ) -> Result<(), EndlessReferenceError> {
        let (then, otherwise) = (schema.get("then"), schema.get("else"));
        let implied = match self.knowledge.verdict(self.root, test) {
            SchemaVerdict::Yes => then,
            SchemaVerdict::No => otherwise,
            SchemaVerdict::Unknown if then.or(otherwise).is_none() => None,
            SchemaVerdict::Unknown => {
                self.rules.branches.push(BranchSchemas::If {
                    test,
                    then,
                    otherwise,
                });
                None
            }
        };
        implied.map_or(Ok(()), |schema| self.absorb(schema))
    }
}

/// A limit of a count. Others than plain integers are left to `jsonschema`.
fn parse_limit(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

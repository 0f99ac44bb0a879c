//! Compiles schemas to accept programs: one node for each set of schemas that apply to the same value.

use super::base64_pattern::Base64Pattern;
use super::conjunction::{BranchSchemas, Conjunction, MemberSchemas};
use super::discriminator::Discriminator;
use super::knowledge::{KnownMemberStates, MemberState};
use super::literal::Literal;
use super::object::{MemberName, ObjectRules};
use super::scalar::{CountRange, KindSet, NumberRange};
use super::vocabulary::is_supported;
use super::{AcceptProgram, ArrayRules, Branch, KeywordJudge, Node, NodeIndex, Switch};
use crate::build_validator;
use headgate_protocol::json::ValueKind;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap, VecDeque};

impl AcceptProgram {
    /// Compiles a valid schema; `None` for a schema of another draft, one with several resources, one that refers to
    /// itself without end, and one that becomes too large.
    pub fn compile(root: &Value) -> Option<Self> {
        if !is_supported(root) {
            return None;
        }
        let mut compiler = AcceptProgramCompiler::new(root);
        compiler.node_index(vec![root], &KnownMemberStates::default());
        let mut nodes = Vec::new();
        while let Some(source) = compiler.pending.pop_front() {
            nodes.push(compiler.node(&source)?);
            if compiler.indices.len() > NODES_MAX {
                return None;
            }
        }
        let is_endless = has_loop(&nodes);
        (!is_endless).then(|| Self {
            nodes: nodes.into(),
            judges: compiler.judges.into(),
        })
    }
}

/// The maximum number of nodes. Schemas for requests have hundreds.
const NODES_MAX: usize = 4096;

/// The source of a node: schemas that apply to one value, and what is known of the value.
type NodeSource<'s> = (Vec<&'s Value>, KnownMemberStates<'s>);

/// A node's source as a key: the schemas by address, so that equal schemas at other places are other sources.
type SourceKey<'s> = (Vec<*const Value>, KnownMemberStates<'s>);

struct AcceptProgramCompiler<'s> {
    root: &'s Value,
    indices: HashMap<SourceKey<'s>, NodeIndex>,
    /// The sources of nodes that have an index and are still to be built, in the order of their indices.
    pending: VecDeque<NodeSource<'s>>,
    judges: Vec<KeywordJudge>,
    /// The indices of the judges by the addresses of their keywords' values.
    judge_indices: HashMap<*const Value, u32>,
}

impl<'s> AcceptProgramCompiler<'s> {
    fn new(root: &'s Value) -> Self {
        Self {
            root,
            indices: HashMap::new(),
            pending: VecDeque::new(),
            judges: Vec::new(),
            judge_indices: HashMap::new(),
        }
    }

    /// The index of the node for a source, which is built later if it is new.
    fn node_index(
        &mut self,
        schemas: Vec<&'s Value>,
        knowledge: &KnownMemberStates<'s>,
    ) -> NodeIndex {
        let addresses = schemas.iter().map(|schema| std::ptr::from_ref(*schema));
        let addresses: BTreeSet<*const Value> = addresses.collect();
        let key = (addresses.into_iter().collect(), knowledge.clone());
        let next = self.indices.len() as NodeIndex;
        let index = *self.indices.entry(key).or_insert(next);
        if index == next {
            self.pending.push_back((schemas, knowledge.clone()));
        }
        index
    }

    /// `None` if the schemas refer to themselves.
    fn node(&mut self, (schemas, knowledge): &NodeSource<'s>) -> Option<Node> {
        let mut rules = Conjunction::new(self.root, schemas, knowledge).ok()?;
        let switch = self.switch(schemas, &rules, knowledge);
        let judges = self.judges(&mut rules);
        let array = self.array(&rules);
        let object = match switch {
            Some(_) => None,
            None => self.object(&mut rules, knowledge),
        };
        // With a switch, what follows is only for values that are no objects.
        let is_switched = switch.is_some() && rules.kinds == ValueKind::Object.into();
        let branches = match is_switched {
            true => Box::default(),
            false => self.branches(&rules.branches, knowledge),
        };
        let mut node = Node {
            kinds: rules.kinds,
            free_kinds: KindSet::NONE,
            unknown_kinds: rules.unknown_kinds,
            integer: rules.integer,
            numbers: rules.numbers,
            length: rules.length,
            enumerations: rules.enumerations.into(),
            array,
            object,
            switch,
            branches,
            judges,
        };
        node.free_kinds = node.compute_free_kinds();
        Some(node)
    }

    fn switch(
        &mut self,
        schemas: &[&'s Value],
        rules: &Conjunction<'s>,
        knowledge: &KnownMemberStates<'s>,
    ) -> Option<Box<Switch>> {
        let kinds = rules.kinds.without(rules.unknown_kinds);
        if !kinds.contains(ValueKind::Object) {
            return None;
        }
        let found = Discriminator::find(self.root, &rules.branches, knowledge)?;
        let literals = found.literals.iter().map(|literal| Literal::new(literal));
        let literals = literals.collect::<Option<Vec<_>>>()?;
        let mut target = |state| {
            let knowledge = knowledge.with(found.member, state);
            self.node_index(schemas.to_vec(), &knowledge)
        };
        let cases = found.literals.iter().copied().map(MemberState::Equal);
        let cases: Vec<NodeIndex> = cases.map(&mut target).collect();
        Some(Box::new(Switch {
            member: MemberName::new(found.member),
            cases: literals.into_iter().zip(cases).collect(),
            other: target(MemberState::Other(found.literals)),
            absent: target(MemberState::Absent),
        }))
    }

    fn array(&mut self, rules: &Conjunction<'s>) -> Option<Box<ArrayRules>> {
        let is_free = rules.items.is_empty()
            && rules.contains.is_empty()
            && rules.item_count == CountRange::ALL;
        let is_relevant = rules.kinds.contains(ValueKind::Array) && !is_free;
        is_relevant.then(|| {
            let nothing = KnownMemberStates::default();
            let contains = rules.contains.iter();
            Box::new(ArrayRules {
                count: rules.item_count,
                items: self.node_index(rules.items.clone(), &nothing),
                contains: contains
                    .map(|(schema, count)| (self.node_index(vec![schema], &nothing), *count))
                    .collect(),
            })
        })
    }

    fn object(
        &mut self,
        rules: &mut Conjunction<'s>,
        knowledge: &KnownMemberStates<'s>,
    ) -> Option<Box<ObjectRules>> {
        let is_free = rules.members.is_empty()
            && rules.required.is_empty()
            && rules.member_count == CountRange::ALL;
        if !rules.kinds.contains(ValueKind::Object) || is_free {
            return None;
        }
        let names = rules.members.iter().filter_map(|part| part.properties);
        let mut names: BTreeSet<&str> = names.flat_map(Map::keys).map(String::as_str).collect();
        names.extend(&rules.required);
        let nothing = KnownMemberStates::default();
        let mut node_of = |name: Option<&str>| {
            let schemas = rules
                .members
                .iter()
                .filter_map(|part| part.member_schema(name));
            let is_implied =
                |schema| name.is_some_and(|name| knowledge.implies(self.root, name, schema));
            let schemas = schemas.filter(|schema| !is_implied(schema)).collect();
            self.node_index(schemas, &nothing)
        };
        let members = names.into_iter();
        let members = members
            .map(|name| (name, node_of(Some(name)), rules.required.contains(name)))
            .collect();
        let object = ObjectRules::new(members, node_of(None), rules.member_count);
        if object.is_none() {
            rules.unknown_kinds = rules.unknown_kinds.union(ValueKind::Object.into());
        }
        object.map(Box::new)
    }

    fn branches(
        &mut self,
        branches: &[BranchSchemas<'s>],
        knowledge: &KnownMemberStates<'s>,
    ) -> Box<[Branch]> {
        let mut node =
            |schema: Option<&'s Value>| self.node_index(schema.into_iter().collect(), knowledge);
        let branches = branches.iter().map(|branch| match branch {
            BranchSchemas::If {
                test,
                then,
                otherwise,
            } => Branch::If {
                test: node(Some(test)),
                then: node(*then),
                otherwise: node(*otherwise),
            },
            BranchSchemas::AnyOf(all) => {
                Branch::AnyOf(all.iter().map(Some).map(&mut node).collect())
            }
            BranchSchemas::OneOf(all) => {
                Branch::OneOf(all.iter().map(Some).map(&mut node).collect())
            }
            BranchSchemas::Not(schema) => Branch::Not(node(Some(schema))),
        });
        branches.collect()
    }

    /// The judges of the keywords that programs do not compute themselves.
    fn judges(&mut self, rules: &mut Conjunction<'s>) -> Box<[(KindSet, u32)]> {
        let mut judges = Vec::new();
        for (kinds, keyword, value) in std::mem::take(&mut rules.judge_keywords) {
            match self.judge_index(keyword, value) {
                Some(judge) => judges.push((kinds, judge)),
                None => rules.unknown_kinds = rules.unknown_kinds.union(kinds),
            }
        }
        judges.into()
    }

    fn judge_index(&mut self, keyword: &str, value: &'s Value) -> Option<u32> {
        let address = std::ptr::from_ref(value);
        if let Some(index) = self.judge_indices.get(&address) {
            return Some(*index);
        }
        self.judges.push(KeywordJudge::new(keyword, value)?);
        let index = self.judges.len() as u32 - 1;
        self.judge_indices.insert(address, index);
        Some(index)
    }
}

impl KeywordJudge {
    /// `None` if the keyword cannot be judged by itself.
    fn new(keyword: &str, value: &Value) -> Option<Self> {
        if keyword == "pattern"
            && let Some(pattern) = Base64Pattern::parse(value)
        {
            return Some(Self::Base64(pattern));
        }
        let schema = Value::from_iter([(keyword, value.clone())]);
        let validator = build_validator(&schema).ok()?;
        Some(Self::Validator(Box::new(validator)))
    }
}

impl<'s> MemberSchemas<'s> {
    /// The schema of the member with this name, or of members that no schema names.
    fn member_schema(&self, name: Option<&str>) -> Option<&'s Value> {
        let named = name.and_then(|name| self.properties?.get(name));
        named.or(self.additional)
    }
}

impl Node {
    /// The kinds that only `kinds` decides.
    fn compute_free_kinds(&self) -> KindSet {
        let is_free = |kind: ValueKind| match kind {
            ValueKind::Null | ValueKind::Bool => true,
            ValueKind::Number => !self.integer && self.numbers == NumberRange::ALL,
            ValueKind::String => self.length == CountRange::ALL,
            ValueKind::Array => self.array.is_none(),
            ValueKind::Object => self.object.is_none() && self.switch.is_none(),
        };
        let is_compared = |kind| self.enumerations.iter().any(|list| list.is_relevant(kind));
        let kinds = KindSet::EACH.into_iter().filter(|kind| {
            let judges = self.judges.iter();
            is_free(*kind)
                && !is_compared(*kind)
                && self.branches.is_empty()
                && !judges
                    .map(|(kinds, _)| *kinds)
                    .any(|kinds| kinds.contains(*kind))
        });
        let kinds = kinds.fold(KindSet::NONE, |all, kind| all.union(kind.into()));
        self.kinds.intersection(kinds).without(self.unknown_kinds)
    }

    /// The nodes that a verdict on the same value asks.
    fn same_value(&self) -> Vec<NodeIndex> {
        let mut nodes = Vec::new();
        for branch in &self.branches {
            match branch {
                Branch::If {
                    test,
                    then,
                    otherwise,
                } => nodes.extend([*test, *then, *otherwise]),
                Branch::AnyOf(all) | Branch::OneOf(all) => nodes.extend(all),
                Branch::Not(node) => nodes.push(*node),
            }
        }
        if let Some(switch) = &self.switch {
            nodes.extend(switch.cases.iter().map(|(_, node)| *node));
            nodes.extend([switch.other, switch.absent]);
        }
        nodes
    }
}

/// Whether a verdict could ask for itself on the same value, and so never end.
fn has_loop(nodes: &[Node]) -> bool {
    // Nodes that nobody asks any more are removed; those of a loop remain.
    let edges: Vec<Vec<NodeIndex>> = nodes.iter().map(Node::same_value).collect();
    let mut askers = vec![0_usize; nodes.len()];
    for node in edges.iter().flatten() {
        askers[*node as usize] += 1;
    }
    let mut free: Vec<usize> = (0..nodes.len()).filter(|node| askers[*node] == 0).collect();
    let mut left = nodes.len();
    while let Some(node) = free.pop() {
        left -= 1;
        for asked in edges[node].iter().map(|asked| *asked as usize) {
            askers[asked] -= 1;
            if askers[asked] == 0 {
                free.push(asked);
            }
        }
    }
    left > 0
}

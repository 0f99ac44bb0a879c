//! Accept programs: schemas flattened into tables, which prove that a body is valid faster than the validator does.

mod base64_pattern;
mod compile;
mod conjunction;
mod discriminator;
mod knowledge;
mod literal;
mod object;
mod scalar;
mod vocabulary;

#[cfg(test)]
mod tests;

use base64_pattern::Base64Pattern;
use headgate_protocol::json::tape_values::{JsonSchemaTapeAdapter, is_integer};
use headgate_protocol::json::{DocumentNode, ValueKind};
use jsonschema::Validator;
use literal::{ComparedBodyValue, Enumeration, Literal};
use object::{MemberName, ObjectRules};
use scalar::{CountRange, KindSet, NumberRange};

/// What a program knows about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaVerdict {
    Yes,
    No,
    /// The value has reached a keyword that the program does not know. Only the validator can decide.
    Unknown,
}

/// A schema as a flat list of nodes; the first node is the root.
///
/// All schemas that apply to one value, through `$ref`, `allOf`, `properties` and `additionalProperties`, are merged
/// into one node, so that an object is read once, however many schemas describe it.
pub(super) struct AcceptProgram {
    nodes: Box<[Node]>,
    judges: Box<[KeywordJudge]>,
}

/// Decides about a single keyword that programs do not compute themselves.
enum KeywordJudge {
    Base64(Base64Pattern),
    /// Only `jsonschema` knows the keyword, such as another `pattern`.
    Validator(Box<Validator<JsonSchemaTapeAdapter>>),
}

/// The index of a node in its program.
type NodeIndex = u32;

/// All rules for one value.
struct Node {
    /// The kinds of values that may be valid.
    kinds: KindSet,
    /// The kinds that are valid whatever the value.
    free_kinds: KindSet,
    /// The kinds to which a keyword applies that the program does not know.
    unknown_kinds: KindSet,
    /// Whether a number must have no fraction.
    integer: bool,
    numbers: NumberRange,
    /// The length of a string in code points.
    length: CountRange,
    /// The lists that must contain the value: one for each `enum` and `const`.
    enumerations: Box<[Enumeration]>,
    array: Option<Box<ArrayRules>>,
    object: Option<Box<ObjectRules>>,
    /// Replaces everything else for objects.
    switch: Option<Box<Switch>>,
    branches: Box<[Branch]>,
    /// The keywords that judges decide: the kinds they apply to, and the index of the judge.
    judges: Box<[(KindSet, u32)]>,
}

struct ArrayRules {
    count: CountRange,
    items: NodeIndex,
    contains: Box<[(NodeIndex, CountRange)]>,
}

/// Chooses the node of an object by one member, so that `if` and `then` cost one look at that member.
struct Switch {
    member: MemberName,
    cases: Box<[(Literal, NodeIndex)]>,
    /// For other values of the member.
    other: NodeIndex,
    absent: NodeIndex,
}

/// A keyword that combines the verdicts of schemas about the same value.
enum Branch {
    If {
        test: NodeIndex,
        then: NodeIndex,
        otherwise: NodeIndex,
    },
    AnyOf(Box<[NodeIndex]>),
    OneOf(Box<[NodeIndex]>),
    Not(NodeIndex),
}

impl AcceptProgram {
    /// The verdict on a document by its root. Never wrong, but perhaps unknown.
    pub fn verdict(&self, root: DocumentNode<'_>) -> SchemaVerdict {
        self.check_node(0, root)
    }

    #[inline]
    fn check_node(&self, index: NodeIndex, value: DocumentNode<'_>) -> SchemaVerdict {
        let node = &self.nodes[index as usize];
        match node.free_kinds.contains(value.kind()) {
            true => SchemaVerdict::Yes,
            false => self.check_rules(node, value),
        }
    }

    // Apart from the question above, which most values end at: together they are too large to be inlined.
    #[inline(never)]
    fn check_rules<'p>(&'p self, mut node: &'p Node, value: DocumentNode<'_>) -> SchemaVerdict {
        let kind = value.kind();
        loop {
            if !node.kinds.contains(kind) {
                return SchemaVerdict::No;
            }
            if node.unknown_kinds.contains(kind) {
                return SchemaVerdict::Unknown;
            }
            match &node.switch {
                Some(switch) if kind == ValueKind::Object => {
                    node = &self.nodes[switch.target(value) as usize];
                }
                _ => return self.check_kind(node, kind, value),
            }
        }
    }

    /// The verdict of a node's rules on a value of a kind that it admits. Stops at the first rule that does not say
    /// yes.
    fn check_kind(&self, node: &Node, kind: ValueKind, value: DocumentNode<'_>) -> SchemaVerdict {
        let mut lists = node.enumerations.iter();
        if !lists.all(|list| list.contains(value)) {
            return SchemaVerdict::No;
        }
        let own = match kind {
            ValueKind::Null | ValueKind::Bool => SchemaVerdict::Yes,
            ValueKind::Number => node.check_number(value),
            ValueKind::String => SchemaVerdict::from(node.length.admits_length(value)),
            ValueKind::Array => match &node.array {
                Some(rules) => self.check_array(rules, value),
                None => SchemaVerdict::Yes,
            },
            ValueKind::Object => match &node.object {
                Some(rules) => self.check_object(rules, value),
                None => SchemaVerdict::Yes,
            },
        };
        let branches = node.branches.iter();
        let of_branches = || all_pass(branches.map(|branch| self.check_branch(branch, value)));
        own.and_then(of_branches).and_then(|| {
            let judges = node.judges.iter();
            let mut relevant = judges.filter(|(kinds, _)| kinds.contains(kind));
            let admits = |judge: u32| self.judges[judge as usize].admits(value);
            SchemaVerdict::from(relevant.all(|(_, judge)| admits(*judge)))
        })
    }

    fn check_array(&self, rules: &ArrayRules, value: DocumentNode<'_>) -> SchemaVerdict {
        if !rules.count.contains(value.len()) {
            return SchemaVerdict::No;
        }
        for element in value.elements() {
            match self.check_node(rules.items, element) {
                SchemaVerdict::Yes => {}
                verdict => return verdict,
            }
        }
        all_pass(rules.contains.iter().map(|(node, count)| {
            let elements = value.elements();
            count.check_count(elements.map(|element| self.check_node(*node, element)))
        }))
    }

    fn check_object(&self, rules: &ObjectRules, value: DocumentNode<'_>) -> SchemaVerdict {
        if !rules.count.contains(value.len()) {
            return SchemaVerdict::No;
        }
        let mut present = 0;
        let mut members = value.members();
        while let Some((key, member)) = members.next_raw() {
            let (node, required) = rules.find_member(key);
            present |= required;
            match self.check_node(node, member) {
                SchemaVerdict::Yes => {}
                verdict => return verdict,
            }
        }
        SchemaVerdict::from(present == rules.required)
    }

    fn check_branch(&self, branch: &Branch, value: DocumentNode<'_>) -> SchemaVerdict {
        match branch {
            Branch::If {
                test,
                then,
                otherwise,
            } => match self.check_node(*test, value) {
                SchemaVerdict::Yes => self.check_node(*then, value),
                SchemaVerdict::No => self.check_node(*otherwise, value),
                SchemaVerdict::Unknown => SchemaVerdict::Unknown,
            },
            Branch::AnyOf(nodes) => {
                any_passes(nodes.iter().map(|node| self.check_node(*node, value)))
            }
            Branch::OneOf(nodes) => {
                let verdicts = nodes.iter().map(|node| self.check_node(*node, value));
                CountRange { min: 1, max: 1 }.check_count(verdicts)
            }
            Branch::Not(node) => !self.check_node(*node, value),
        }
    }
}

impl KeywordJudge {
    fn admits(&self, value: DocumentNode<'_>) -> bool {
        match self {
            Self::Base64(pattern) => pattern.admits(value),
            Self::Validator(validator) => validator.is_valid(value),
        }
    }
}

impl Node {
    fn check_number(&self, value: DocumentNode<'_>) -> SchemaVerdict {
        let is_whole = !self.integer || is_integer(value);
        SchemaVerdict::from(is_whole && self.numbers.admits(value))
    }
}

impl Switch {
    /// The node for an object.
    fn target(&self, object: DocumentNode<'_>) -> NodeIndex {
        let Some(value) = self.member.find_in(object) else {
            return self.absent;
        };
        let probe = ComparedBodyValue::new(value);
        for (literal, node) in &self.cases {
            if literal.equals(&probe) {
                return *node;
            }
        }
        self.other
    }
}

/// The verdict of several parts that must all say yes: no, if one says no.
fn all_pass(verdicts: impl Iterator<Item = SchemaVerdict>) -> SchemaVerdict {
    let mut whole = SchemaVerdict::Yes;
    for verdict in verdicts {
        match verdict {
            SchemaVerdict::Yes => {}
            SchemaVerdict::No => return SchemaVerdict::No,
            SchemaVerdict::Unknown => whole = SchemaVerdict::Unknown,
        }
    }
    whole
}

/// The verdict of several parts of which one must say yes.
fn any_passes(verdicts: impl Iterator<Item = SchemaVerdict>) -> SchemaVerdict {
    !all_pass(verdicts.map(|verdict| !verdict))
}

impl SchemaVerdict {
    /// The verdict of the next rule if this one says yes.
    fn and_then(self, next: impl FnOnce() -> SchemaVerdict) -> SchemaVerdict {
        match self {
            SchemaVerdict::Yes => next(),
            verdict => verdict,
        }
    }
}

impl From<bool> for SchemaVerdict {
    fn from(is_valid: bool) -> Self {
        match is_valid {
            true => SchemaVerdict::Yes,
            false => SchemaVerdict::No,
        }
    }
}

impl std::ops::Not for SchemaVerdict {
    type Output = SchemaVerdict;

    fn not(self) -> SchemaVerdict {
        match self {
            SchemaVerdict::Yes => SchemaVerdict::No,
            SchemaVerdict::No => SchemaVerdict::Yes,
            SchemaVerdict::Unknown => SchemaVerdict::Unknown,
        }
    }
}

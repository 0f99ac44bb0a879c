//! The rules of an object's members, found by their keys.

use super::NodeIndex;
use super::literal::{Text, TextEdgeWords};
use super::scalar::CountRange;
use headgate_protocol::json::{DocumentNode, UndecodedString};

/// The rules of an object; one walk over its members checks them all.
pub struct ObjectRules {
    pub count: CountRange,
    /// One bit for each required member.
    pub required: u64,
    /// Sorted by length.
    members: Box<[MemberRule]>,
    /// Where the keys of each length start in `members`; the last entry is the number of members.
    starts: Box<[u16]>,
    /// The node of all other members.
    others: NodeIndex,
}

/// The key of a member.
pub struct MemberName(Text);

/// The node of a named member, and its bit if it is required.
pub struct MemberRule {
    name: MemberName,
    node: NodeIndex,
    required: u64,
}

impl ObjectRules {
    /// The rules of members by name, as `(name, node, is_required)`, and the node of all other members; `None` if there
    /// are more required members than bits, or more members than numbers.
    pub fn new(
        members: Vec<(&str, NodeIndex, bool)>,
        others: NodeIndex,
        count: CountRange,
    ) -> Option<Self> {
        let mut required = 0;
        let mut rules = Vec::new();
        for (name, node, is_required) in members {
            let bit = match is_required {
                true => 1 << u64::trailing_ones(required).min(63),
                false => 0,
            };
            if required & bit != 0 {
                return None;
            }
            required |= bit;
            rules.push(MemberRule {
                name: MemberName::new(name),
                node,
                required: bit,
            });
        }
        rules.sort_by_key(MemberRule::len);
        let longest = rules.last().map_or(0, MemberRule::len);
        let start_of = |length| rules.partition_point(|rule| rule.len() < length);
        let starts = (0..=longest + 1).map(|length| u16::try_from(start_of(length)).ok());
        Some(Self {
            count,
            required,
            starts: starts.collect::<Option<_>>()?,
            members: rules.into(),
            others,
        })
    }

    /// The node of the member with this key, and its bit if it is required.
    #[inline]
    pub fn find_member(&self, key: UndecodedString<'_>) -> (NodeIndex, u64) {
        match key.is_escaped() {
            false => self.find_key(key.bytes),
            true => self.find_key(key.decode().as_bytes()),
        }
    }

    #[inline]
    fn find_key(&self, key: &[u8]) -> (NodeIndex, u64) {
        let length = key.len();
        let Some([start, end]) = self.starts.get(length..length + 2) else {
            return (self.others, 0);
        };
        let same_length = self.members.get(*start as usize..*end as usize);
        let words = TextEdgeWords::from_bytes(key);
        for rule in same_length.unwrap_or_default() {
            if rule.name.0.equals(key, words) {
                return (rule.node, rule.required);
            }
        }
        (self.others, 0)
    }
}

impl MemberRule {
    fn len(&self) -> usize {
        self.name.0.bytes().len()
    }
}

impl MemberName {
    pub fn new(name: &str) -> Self {
        Self(Text::new(name))
    }

    /// The value of the member with this name.
    pub fn find_in<'a>(&self, object: DocumentNode<'a>) -> Option<DocumentNode<'a>> {
        let mut members = object.members();
        while let Some((key, value)) = members.next_raw() {
            if self.matches(key) {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    fn matches(&self, key: UndecodedString<'_>) -> bool {
        let name = self.0.bytes();
        match key.is_escaped() {
            false => {
                key.bytes.len() == name.len()
                    && self
                        .0
                        .equals(key.bytes, TextEdgeWords::from_bytes(key.bytes))
            }
            true => key.decode().as_bytes() == name,
        }
    }
}

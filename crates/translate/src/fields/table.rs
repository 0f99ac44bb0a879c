//! A table of fields: a graph of the shapes of objects, whose members have a sign for each other protocol.

use super::TableSubject;
use super::member_index::MemberIndex;
use crate::ledger::FieldOutcome;
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::json::DocumentNode;
use std::borrow::Cow;

/// The fields of the requests, responses or events of a protocol.
#[derive(Debug)]
pub(crate) struct FieldTable {
    pub subject: TableSubject,
    /// The other protocols, in the order of each row's cells.
    pub columns: Box<[ProviderFormat]>,
    /// The first one is that of the whole body.
    pub shapes: Vec<ObjectShape>,
    pub rows: Vec<FieldRow>,
}

/// What an object may have.
#[derive(Debug)]
pub(crate) struct ObjectShape {
    /// Empty for one that only one field has.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the generated pages and their tests read it")
    )]
    pub name: &'static str,
    pub kind: ShapeKind,
}

#[derive(Debug)]
pub(crate) enum ShapeKind {
    Members(MemberIndex),
    Union(Union),
}

/// Objects that are told apart by a member.
#[derive(Debug)]
pub(crate) struct Union {
    /// Such as `type`.
    pub discriminator: &'static str,
    /// The variant of an object without discriminator, by a member that it has; any, if the name is empty.
    pub defaults: Vec<(&'static str, &'static str)>,
    /// The rows of variants by name.
    pub variants: MemberIndex,
    /// The rows of variants whose names begin alike.
    pub beginnings: Vec<(&'static str, usize)>,
}

/// A field.
#[derive(Debug)]
pub(crate) struct FieldRow {
    /// Its path from the shape that has it, as the text writes it; empty for the discriminator of a variant.
    pub field: &'static str,
    /// The shape under whose heading it stands.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the generated pages and their tests read it")
    )]
    pub shape: usize,
    /// JSON values that say as much as no value at all.
    pub neutral: Vec<&'static str>,
    /// The shape of its value, or of the value's elements. Without it, the value is carried whole or not at all.
    pub below: Option<usize>,
    pub is_array: bool,
    pub cells: Box<[FieldCell]>,
}

/// What becomes of a field in one other protocol.
#[derive(Clone, Debug)]
pub(crate) struct FieldCell {
    pub sign: FieldSign,
    /// For a loss: a clause that follows the path. For other signs: a note, or nothing.
    pub reason: Cow<'static, str>,
}

/// From nothing to great loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FieldSign {
    Exact,
    /// It says nothing to others: it belongs to the form of its protocol, or repeats what the other side knows.
    Formal,
    /// It depends on the value: what is not exact is noted by who writes it.
    ByValue,
    Loss(FieldOutcome),
}

impl FieldSign {
    /// Whether nothing of a field is carried.
    pub fn carries_nothing(self) -> bool {
        self == Self::Formal || self > Self::Loss(FieldOutcome::Approximated)
    }
}

impl FieldCell {
    pub const EXACT: Self = Self {
        sign: FieldSign::Exact,
        reason: Cow::Borrowed(""),
    };
}

impl FieldTable {
    /// The index of a protocol's cell in each row.
    pub fn column(&self, other: ProviderFormat) -> usize {
        let column = self.columns.iter().position(|column| *column == other);
        column.expect("the table of a protocol has a column for each other one")
    }
}

impl Union {
    /// The row of the variant with this value of the discriminator.
    #[inline]
    pub fn variant(&self, name: &[u8]) -> Option<usize> {
        let begins = |(start, _): &&(&'static str, usize)| name.starts_with(start.as_bytes());
        let longer = || self.beginnings.iter().find(begins).map(|(_, row)| *row);
        self.variants.row(name).or_else(longer)
    }

    /// The row of the variant of an object without discriminator.
    pub fn default_variant(&self, object: DocumentNode<'_>) -> Option<usize> {
        let mut defaults = self.defaults.iter();
        let found = defaults.find(|(member, _)| member.is_empty() || object.get(member).is_some());
        self.variant(found?.1.as_bytes())
    }
}

//! The walk over a document that notes the fields which another protocol cannot say.

use super::TableSubject;
use super::table::{FieldRow, FieldSign, FieldTable, ShapeKind, Union};
use crate::ledger::{FieldOutcome, Ledger};
use crate::member_path::{path_without_indexes, plain_name};
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::json::{DocumentNode, UndecodedString, ValueKind};
use std::borrow::Cow;

/// The walk over one document.
pub(super) struct Audit<'l> {
    table: &'static FieldTable,
    column: usize,
    has_seals: bool,
    ledger: &'l mut Ledger,
}

impl<'l> Audit<'l> {
    pub fn for_request(
        table: &'static FieldTable,
        other: ProviderFormat,
        ledger: &'l mut Ledger,
    ) -> Self {
        Self::for_response(table, other, true, ledger)
    }

    /// `has_seals` is whether the gateway seals thoughts: only that makes it depend on the value what becomes of a field.
    pub fn for_response(
        table: &'static FieldTable,
        other: ProviderFormat,
        has_seals: bool,
        ledger: &'l mut Ledger,
    ) -> Self {
        Self {
            table,
            column: table.column(other),
            has_seals,
            ledger,
        }
    }

    /// Notes what a document has.
    pub fn check(&mut self, root: DocumentNode<'_>) {
        self.check_object(root, 0);
    }

    fn check_object(&mut self, object: DocumentNode<'_>, shape: usize) {
        match &self.table.shapes[shape].kind {
            ShapeKind::Members(members) => {
                let mut values = object.members();
                while let Some((name, value)) = values.next_raw() {
                    let row = match name.is_escaped() {
                        true => members.row(name.decode().as_bytes()),
                        false => members.row(name.bytes),
                    };
                    match row {
                        Some(row) => self.check_field(value, row),
                        None => self.note_unknown_member(value, &name.decode(), shape),
                    }
                }
            }
            ShapeKind::Union(union) => self.check_variant(object, shape, union),
        }
    }

    fn check_field(&mut self, value: DocumentNode<'_>, index: usize) {
        let row = &self.table.rows[index];
        let sign = self.sign(row);
        if let FieldSign::Loss(outcome) = sign {
            if row.is_neutral(value) {
                return;
            }
            let reason = self.reason(row);
            let reason = || Cow::Borrowed(reason);
            let path = || self.table.path(value);
            self.ledger.add_kind(key(index, ""), outcome, reason, path);
        }
        if !sign.carries_nothing() {
            self.check_below(value, index);
        }
    }

    fn check_below(&mut self, value: DocumentNode<'_>, index: usize) {
        let row = &self.table.rows[index];
        let Some(below) = row.below else {
            return;
        };
        match value.kind() {
            ValueKind::Object if !row.is_array => self.check_object(value, below),
            ValueKind::Array if row.is_array => {
                let elements = value.elements();
                for object in elements.filter(|element| element.kind() == ValueKind::Object) {
                    self.check_object(object, below);
                }
            }
            ValueKind::Object | ValueKind::Array => self.note_unknown_value(value, index),
            // Readers check the types of what they read.
            ValueKind::Null | ValueKind::Bool | ValueKind::Number | ValueKind::String => {}
        }
    }

    fn check_variant(&mut self, object: DocumentNode<'_>, shape: usize, union: &'static Union) {
        let value = object.get(union.discriminator);
        let value = value.filter(|value| !value.is_null());
        let name = value.and_then(DocumentNode::raw_text);
        let row = match (value, name) {
            (None, _) => union.default_variant(object),
            (Some(_), None) => None,
            (_, Some(name)) if name.is_escaped() => union.variant(name.decode().as_bytes()),
            (_, Some(name)) => union.variant(name.bytes),
        };
        let Some(index) = row else {
            self.note_unknown_variant(object, name, shape, union);
            return;
        };
        let row = &self.table.rows[index];
        let sign = self.sign(row);
        if let FieldSign::Loss(outcome) = sign {
            let name = name.map(UndecodedString::decode).unwrap_or_default();
            let reason = self.reason(row);
            let reason = || match &*name {
                "" => Cow::Borrowed(reason),
                name => {
                    let discriminator = union.discriminator;
                    format!(
                        "has the {discriminator} `{}`, which {reason}",
                        plain_name(name)
                    )
                    .into()
                }
            };
            let path = || self.table.path(object);
            self.ledger
                .add_kind(key(index, &name), outcome, reason, path);
        }
        if !sign.carries_nothing() {
            self.check_below(object, index);
        }
    }

    fn sign(&self, row: &FieldRow) -> FieldSign {
        match row.cells[self.column].sign {
            FieldSign::ByValue if !self.has_seals => FieldSign::Loss(FieldOutcome::Dropped),
            sign => sign,
        }
    }

    fn reason(&self, row: &'static FieldRow) -> &'static str {
        match row.cells[self.column].sign {
            FieldSign::ByValue => "is left out, since the gateway has no keys for seals",
            FieldSign::Exact | FieldSign::Formal | FieldSign::Loss(_) => {
                &row.cells[self.column].reason
            }
        }
    }

    fn note_unknown_member(&mut self, value: DocumentNode<'_>, name: &str, shape: usize) {
        if !value.is_null() {
            self.note_unknown(value, key(shape, name), || "is not a member".into());
        }
    }

    fn note_unknown_value(&mut self, value: DocumentNode<'_>, row: usize) {
        let kind = value.type_name();
        self.note_unknown(value, key(row, kind), || format!("is {kind}, not a value"));
    }

    fn note_unknown_variant(
        &mut self,
        object: DocumentNode<'_>,
        name: Option<UndecodedString<'_>>,
        shape: usize,
        union: &Union,
    ) {
        let discriminator = union.discriminator;
        let name = name.map(UndecodedString::decode).unwrap_or_default();
        self.note_unknown(object, key(shape, &name), || match &*name {
            "" => format!("has no {discriminator}"),
            name => format!("has the {discriminator} `{}`, not one", plain_name(name)),
        });
    }

    fn note_unknown(&mut self, value: DocumentNode<'_>, key: u64, start: impl FnOnce() -> String) {
        let format = self.table.subject.format().name();
        let is_request = matches!(self.table.subject, TableSubject::Request(_));
        let (outcome, end) = match is_request {
            true => (FieldOutcome::Refused, WAY_OUT),
            false => (FieldOutcome::Dropped, ""),
        };
        let reason = || {
            let start = start();
            format!("{start} that the gateway knows in the {format} protocol{end}").into()
        };
        let path = || self.table.path(value);
        self.ledger.add_kind(key, outcome, reason, path);
    }
}

/// How a caller gets on after a refusal.
pub(super) const WAY_OUT: &str = "; remove it, or let the route drop it with `on_loss: drop`";

impl FieldTable {
    /// The path of a value as an entry has it: with indexes in a request, whose caller knows them.
    fn path(&self, value: DocumentNode<'_>) -> String {
        match self.subject {
            TableSubject::Request(_) => value.path(),
            TableSubject::Response(_) | TableSubject::Event(_) => {
                path_without_indexes(&value.path()).into_owned()
            }
        }
    }
}

impl FieldRow {
    /// Whether a value says as much as no value at all.
    pub(super) fn is_neutral(&self, value: DocumentNode<'_>) -> bool {
        let written = || {
            value
                .raw()
                .iter()
                .filter(|byte| !byte.is_ascii_whitespace())
        };
        value.is_null()
            || self
                .neutral
                .iter()
                .any(|neutral| written().eq(neutral.as_bytes()))
    }
}

/// What fields of one kind have in common: FNV-1a of the number of a row or shape, and of a name.
fn key(number: usize, name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ number as u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    hash
}

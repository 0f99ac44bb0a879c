//! Lists the members of a request, each with what becomes of it in the channel's protocol.

#[cfg(test)]
mod tests;

use super::table::{FieldRow, FieldSign, FieldTable, ShapeKind, Union};
use super::{TableSubject, table};
use crate::ProtocolPair;
use crate::ledger::{FieldOutcome, Ledger, LedgerEntry};
use crate::member_path::{path_without_indexes, plain_name};
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
use std::borrow::Cow;

/// Lines of a list; more members are counted.
const LINES_MAX: usize = 256;

/// The members of one request.
#[derive(Clone, Debug, Default)]
pub struct MemberList {
    /// In the order of the request.
    pub members: Vec<ListedMember>,
    /// How many members have no line.
    pub left_out: u64,
}

/// Members of one kind, such as the texts of all messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedMember {
    /// The first one of the kind, such as `messages[0].content`.
    pub path: String,
    /// As the pages of fields explain it: `=`, `·`, `~`, `×`, `!` or `!!`.
    pub sign: &'static str,
    /// A clause that follows the path, or nothing.
    pub reason: Cow<'static, str>,
    pub count: u64,
}

/// The members of `body`, a request whose translation has this ledger.
pub fn list_members(pair: ProtocolPair, body: &JsonDocument, ledger: &Ledger) -> MemberList {
    let table = table(TableSubject::Request(pair.caller));
    let mut walk = MemberWalk {
        table,
        column: table.column(pair.channel),
        kind: String::new(),
        lines: Vec::new(),
        left_out: ledger.unnamed(),
    };
    walk.list_object(body.root(), 0);
    for entry in ledger.entries() {
        walk.add_loss(entry);
    }
    MemberList {
        members: walk.lines.into_iter().map(|line| line.member).collect(),
        left_out: walk.left_out,
    }
}

/// The walk over one request.
struct MemberWalk {
    table: &'static FieldTable,
    column: usize,
    /// The path of the present value, without indexes.
    kind: String,
    lines: Vec<MemberLine>,
    left_out: u64,
}

struct MemberLine {
    /// The path without indexes.
    kind: String,
    member: ListedMember,
    /// By the table the member is not carried, and the entry of the ledger has not been found yet.
    awaits_entry: bool,
}

impl MemberWalk {
    fn list_object(&mut self, object: DocumentNode<'_>, shape: usize) {
        match &self.table.shapes[shape].kind {
            ShapeKind::Members(members) => {
                let mut values = object.members();
                while let Some((name, value)) = values.next_raw() {
                    let name = name.decode();
                    let above = self.kind.len();
                    if above > 0 {
                        self.kind.push('.');
                    }
                    self.kind.push_str(plain_name(&name));
                    match members.row(name.as_bytes()) {
                        Some(row) => self.list_field(value, row),
                        None if value.is_null() => self.note(value, FieldSign::Formal, ""),
                        None => self.note_unknown(value),
                    }
                    self.kind.truncate(above);
                }
            }
            ShapeKind::Union(union) => self.list_variant(object, union),
        }
    }

    fn list_field(&mut self, value: DocumentNode<'_>, index: usize) {
        let table = self.table;
        let row = &table.rows[index];
        let cell = &row.cells[self.column];
        let is_lossy = matches!(cell.sign, FieldSign::Loss(_));
        let may_be_lossy = is_lossy || cell.sign == FieldSign::ByValue;
        if may_be_lossy && row.is_neutral(value) {
            return self.note(value, FieldSign::Formal, "");
        }
        let has_others = !cell.sign.carries_nothing() && self.list_below(value, row);
        if is_lossy || !has_others {
            self.note(value, cell.sign, &cell.reason);
        }
    }

    /// Lists what a value has; false if it is a member without others.
    fn list_below(&mut self, value: DocumentNode<'_>, row: &FieldRow) -> bool {
        let Some(below) = row.below else {
            return false;
        };
        match value.kind() {
            ValueKind::Object if !row.is_array => self.list_object(value, below),
            ValueKind::Array if row.is_array && !value.is_empty() => {
                let above = self.kind.len();
                self.kind.push_str("[]");
                for element in value.elements() {
                    match element.kind() {
                        ValueKind::Object => self.list_object(element, below),
                        _ => self.note(element, FieldSign::Exact, ""),
                    }
                }
                self.kind.truncate(above);
            }
            _ => return false,
        }
        true
    }

    fn list_variant(&mut self, object: DocumentNode<'_>, union: &'static Union) {
        let value = object.get(union.discriminator);
        let value = value.filter(|value| !value.is_null());
        let index = match (value, value.and_then(DocumentNode::raw_text)) {
            (None, _) => union.default_variant(object),
            (Some(_), None) => None,
            (Some(_), Some(name)) => union.variant(name.decode().as_bytes()),
        };
        let Some(index) = index else {
            return self.note_unknown(object);
        };
        let table = self.table;
        let row = &table.rows[index];
        let cell = &row.cells[self.column];
        if matches!(cell.sign, FieldSign::Loss(_)) {
            self.note(object, cell.sign, &cell.reason);
        }
        if !cell.sign.carries_nothing() {
            self.list_below(object, row);
        }
    }

    fn note_unknown(&mut self, value: DocumentNode<'_>) {
        let refused = FieldSign::Loss(FieldOutcome::Refused);
        self.note(value, refused, "is not known");
    }

    fn note(&mut self, value: DocumentNode<'_>, sign: FieldSign, reason: &'static str) {
        let awaits_entry = matches!(sign, FieldSign::Loss(_));
        let mut lines = self.lines.iter();
        let known =
            lines.position(|line| line.kind == self.kind && line.awaits_entry == awaits_entry);
        match known {
            Some(known) => self.lines[known].member.count += 1,
            None if self.lines.len() >= LINES_MAX => self.left_out += 1,
            None => self.lines.push(MemberLine {
                kind: self.kind.clone(),
                member: ListedMember {
                    path: value.path(),
                    sign: sign.written(),
                    reason: reason.into(),
                    count: 1,
                },
                awaits_entry,
            }),
        }
    }

    /// Gives an entry of the ledger its line.
    fn add_loss(&mut self, entry: &LedgerEntry) {
        let kind = path_without_indexes(&entry.path).into_owned();
        let line = MemberLine {
            member: ListedMember {
                path: entry.path.clone(),
                sign: FieldSign::Loss(entry.outcome).written(),
                reason: entry.reason.clone(),
                count: entry.count,
            },
            awaits_entry: false,
            kind,
        };
        let same = |other: &MemberLine| other.kind == line.kind;
        let waits = |other: &MemberLine| same(other) && other.awaits_entry;
        let is_carried = |other: &MemberLine| same(other) && other.member.sign == "=";
        let found = self.lines.iter().position(waits);
        let found = found.or_else(|| self.lines.iter().position(is_carried));
        match found {
            Some(index)
                if waits(&self.lines[index]) || self.lines[index].member.count <= entry.count =>
            {
                self.lines[index] = line;
            }
            Some(index) => {
                self.lines[index].member.count -= entry.count;
                self.lines.insert(index + 1, line);
            }
            None => {
                self.remove_below(&line);
                let is_near = |other: &MemberLine| {
                    other.kind.starts_with(&line.kind) || line.kind.starts_with(&other.kind)
                };
                let near = self.lines.iter().rposition(is_near);
                let index = near.map_or(self.lines.len(), |near| near + 1);
                self.lines.insert(index, line);
            }
        }
    }

    /// Removes what stands below a member that its writer has left out.
    fn remove_below(&mut self, lost: &MemberLine) {
        let is_left_out = lost.member.sign != FieldSign::Loss(FieldOutcome::Approximated).written();
        // Other elements of an array may be carried.
        if is_left_out && !lost.kind.ends_with(']') {
            let below = format!("{}.", lost.kind);
            self.lines.retain(|line| {
                !line.kind.starts_with(&below) || line.member.count > lost.member.count
            });
        }
    }
}

impl FieldSign {
    /// As the pages of fields explain it.
    pub fn written(self) -> &'static str {
        match self {
            Self::Exact | Self::ByValue => "=",
            Self::Formal => "·",
            Self::Loss(FieldOutcome::Approximated) => "~",
            Self::Loss(FieldOutcome::Dropped) => "×",
            Self::Loss(FieldOutcome::Refused) => "!",
            Self::Loss(FieldOutcome::AlwaysRefused) => "!!",
        }
    }
}

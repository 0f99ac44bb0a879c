//! What the tables say is what readers and writers do.
//!
//! Each field of a fixture is left out in turn. Where the table says that it is carried, the translation must differ;
//! where it says that nothing of it is carried, it must not, and a loss must be in the ledger.

mod places;
mod requests;
mod responses;

use super::pages::own_shapes;
use crate::Ledger;
use crate::fields::table::{FieldRow, FieldSign, FieldTable};
use headgate_protocol::conversation::ProviderFormat;
use places::{Place, places, without};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// What a translation makes of a document: what the caller or provider gets, and the ledger.
type Translation = (Value, Ledger);

/// Checks the cells of a table for one other protocol; what is not as they say.
///
/// A place may say nothing new, so that of fields that are carried one place must show that they are.
fn untrue_cells(
    table: &'static FieldTable,
    other: ProviderFormat,
    documents: &[Value],
    translate: impl Fn(&Value) -> Translation,
) -> Vec<String> {
    let column = table.column(other);
    let (mut untrue, mut carried, mut own) = (Vec::new(), BTreeMap::new(), own_shapes(table));
    own.push(0);
    for document in documents {
        let (whole, ledger) = translate(document);
        for place in places(table, Some(column), document) {
            let row = &table.rows[place.row];
            let sign = row.cells[column].sign;
            let (rest, rest_ledger) = translate(&without(document, &place));
            // Some members must be there for a document to be read at all.
            let is_readable = !rest.is_string() || whole.is_string();
            let differs = whole != rest;
            let is_noted = ledger.entries() != rest_ledger.entries();
            let is_true = match sign {
                FieldSign::Exact => differs,
                FieldSign::ByValue => differs || is_noted,
                FieldSign::Formal => !differs && !is_noted,
                FieldSign::Loss(_) => {
                    is_noted && !(differs && is_readable && sign.carries_nothing())
                }
            };
            let report = || report(table, other, &place, differs, is_noted);
            match sign {
                FieldSign::Exact | FieldSign::ByValue if own.contains(&row.shape) => {
                    let entry = carried.entry(place.row).or_insert_with(|| Some(report()));
                    *entry = entry.take().filter(|_| !is_true);
                }
                FieldSign::Exact | FieldSign::ByValue => {}
                FieldSign::Formal | FieldSign::Loss(_) if is_true => {}
                FieldSign::Formal | FieldSign::Loss(_) => untrue.push(report()),
            }
        }
    }
    untrue.extend(carried.into_values().flatten());
    untrue
}

/// The rows of a table that no document has.
fn absent_rows(table: &'static FieldTable, documents: &[Value]) -> Vec<String> {
    let places = documents
        .iter()
        .flat_map(|document| places(table, None, document));
    let present: HashSet<usize> = places.map(|place| place.row).collect();
    let rows = table.rows.iter().enumerate();
    let own = own_shapes(table);
    let is_own = |row: &FieldRow| !row.field.is_empty() && own.contains(&row.shape);
    let absent = rows.filter(|(index, row)| is_own(row) && !present.contains(index));
    let absent =
        absent.map(|(_, row)| format!("{:?} {}: no fixture has it", table.subject, row.field));
    absent.collect()
}

fn report(
    table: &FieldTable,
    other: ProviderFormat,
    place: &Place,
    differs: bool,
    is_noted: bool,
) -> String {
    let row = &table.rows[place.row];
    let cell = &row.cells[table.column(other)];
    let outcome = match (differs, is_noted) {
        (true, true) => "changes the output and the ledger",
        (true, false) => "changes the output",
        (false, true) => "changes the ledger",
        (false, false) => "changes nothing",
    };
    format!(
        "{:?} -> {}: {} at {}: {:?}, {outcome}",
        table.subject,
        other.name(),
        row.field,
        place.pointer,
        cell.sign,
    )
}

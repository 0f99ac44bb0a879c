//! Where a document has the fields of a table.

use crate::fields::table::{FieldTable, ShapeKind};
use serde_json::Value;

/// A field in a document.
pub(super) struct Place {
    /// The row of the field.
    pub row: usize,
    /// Where it is, as an RFC 6901 pointer.
    pub pointer: String,
}

/// The fields of a document; with a column, only those of which it has anything, and those that are lost as a whole.
pub(super) fn places(table: &FieldTable, column: Option<usize>, document: &Value) -> Vec<Place> {
    let mut search = PlaceSearch {
        table,
        column,
        places: Vec::new(),
    };
    match document {
        // A stream: its events.
        Value::Array(events) => {
            for (at, event) in events.iter().enumerate() {
                search.add_object(event, 0, &format!("/{at}"));
            }
        }
        document => search.add_object(document, 0, ""),
    }
    search.places
}

struct PlaceSearch<'t> {
    table: &'t FieldTable,
    column: Option<usize>,
    places: Vec<Place>,
}

impl PlaceSearch<'_> {
    fn add_object(&mut self, object: &Value, shape: usize, pointer: &str) {
        match &self.table.shapes[shape].kind {
            ShapeKind::Members(members) => {
                for (name, value) in object.as_object().into_iter().flatten() {
                    let pointer = format!("{pointer}/{name}");
                    let row = members.row(name.as_bytes());
                    let row = row.unwrap_or_else(|| panic!("{pointer}: no row"));
                    self.add_value(value, row, &pointer);
                }
            }
            ShapeKind::Union(union) => {
                let has =
                    |(member, _): &&(&str, &str)| member.is_empty() || object.get(member).is_some();
                let default = union.defaults.iter().find(has).map(|(_, variant)| *variant);
                let name = object[union.discriminator].as_str().or(default);
                let row = name.and_then(|name| union.variant(name.as_bytes()));
                let row = row.unwrap_or_else(|| panic!("{pointer}: no variant"));
                self.add_value(object, row, pointer);
            }
        }
    }

    fn add_value(&mut self, value: &Value, index: usize, pointer: &str) {
        let row = &self.table.rows[index];
        // The discriminator of a variant cannot be left out.
        let is_neutral = value.is_null() || row.neutral.contains(&value.to_string().as_str());
        if row.field.is_empty() || is_neutral {
            return;
        }
        self.places.push(Place {
            row: index,
            pointer: pointer.to_owned(),
        });
        let is_lost = |column: usize| row.cells[column].sign.carries_nothing();
        let Some(below) = row.below.filter(|_| !self.column.is_some_and(is_lost)) else {
            return;
        };
        if !row.is_array {
            self.add_object(value, below, pointer);
            return;
        }
        let elements = value.as_array().into_iter().flatten().enumerate();
        for (at, object) in elements.filter(|(_, element)| element.is_object()) {
            self.add_object(object, below, &format!("{pointer}/{at}"));
        }
    }
}

/// A document without a field.
pub(super) fn without(document: &Value, place: &Place) -> Value {
    let mut document = document.clone();
    let (around, name) = place.pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(around).unwrap() {
        Value::Object(members) => drop(members.remove(name).unwrap()),
        Value::Array(elements) => drop(elements.remove(name.parse().unwrap())),
        _ => panic!("{around} has no members"),
    }
    document
}

//! Each field of the gateway's schemas has a row.

use crate::fields::table::{FieldTable, ObjectShape, ShapeKind, Union};
use crate::fields::{TableSubject, table};
use headgate_protocol::conversation::ConversationFormat::{self, Chat, Messages, Responses};
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};

/// A member that a schema knows.
struct SchemaMember<'s> {
    /// The variants that have it; those that a condition does not name, if it is empty.
    variants: Vec<&'s str>,
    name: &'s str,
    schema: &'s Value,
}

/// Looks for the fields of a schema in a table.
struct SchemaSearch<'s> {
    table: &'static FieldTable,
    root: &'s Value,
    seen: HashSet<(*const Value, usize)>,
    missing: BTreeSet<String>,
}

impl<'s> SchemaSearch<'s> {
    /// The members of objects of a schema, and the schemas of elements.
    fn collect(
        &self,
        schema: &'s Value,
        variants: &[&'s str],
        members: &mut Vec<SchemaMember<'s>>,
        elements: &mut Vec<&'s Value>,
    ) {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self
                .root
                .pointer(reference.trim_start_matches('#'))
                .unwrap();
            self.collect(target, variants, members, elements);
        }
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let variants = variants.to_vec();
            members.push(SchemaMember {
                variants,
                name,
                schema,
            });
        }
        elements.extend(schema.get("items"));
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.collect(part, variants, members, elements);
        }
        if let Some(condition) = schema.get("if") {
            let named = named_variants(condition);
            let named = if named.is_empty() {
                variants.to_vec()
            } else {
                named
            };
            self.collect(&schema["then"], &named, members, elements);
            self.collect(&schema["else"], variants, members, elements);
        }
    }

    fn check(&mut self, schema: &'s Value, row: usize, place: &str) {
        let row = &self.table.rows[row];
        let Some(below) = row.below else {
            return;
        };
        let (mut members, mut elements) = (Vec::new(), Vec::new());
        self.collect(schema, &[], &mut members, &mut elements);
        if row.is_array {
            members.clear();
            for schema in &elements {
                self.collect(schema, &[], &mut members, &mut Vec::new());
            }
        }
        if self.seen.insert((schema, below)) {
            self.check_members(members, below, place);
        }
    }

    fn check_members(&mut self, members: Vec<SchemaMember<'s>>, shape: usize, place: &str) {
        for member in members {
            let place = format!("{place}.{}", member.name);
            let shapes = match &self.table.shapes[shape].kind {
                ShapeKind::Members(_) => vec![shape],
                ShapeKind::Union(_) if member.name == "type" => continue,
                ShapeKind::Union(union) => self.variant_shapes(union, &member, &place),
            };
            let rows = shapes
                .iter()
                .map(|shape| row(&self.table.shapes[*shape], member.name));
            let rows: Vec<usize> = rows.flatten().collect();
            // A schema has members for all variants that only some of them have.
            let expected = if member.variants.is_empty() {
                1
            } else {
                shapes.len()
            };
            if rows.len() < expected.min(shapes.len()) {
                self.missing.insert(place.clone());
            }
            for row in rows {
                self.check(member.schema, row, &place);
            }
        }
    }

    /// The shapes of the variants that may have a member, as far as something of them is carried.
    fn variant_shapes(
        &mut self,
        union: &Union,
        member: &SchemaMember<'s>,
        place: &str,
    ) -> Vec<usize> {
        if member.variants.is_empty() {
            let rows = union.variants.iter();
            return rows
                .filter_map(|(_, row)| self.table.rows[row].below)
                .collect();
        }
        let mut shapes = Vec::new();
        for variant in &member.variants {
            match union.variant(variant.as_bytes()) {
                Some(row) => shapes.extend(self.table.rows[row].below),
                None => drop(self.missing.insert(format!("{place}: <{variant}>"))),
            }
        }
        shapes
    }
}

/// The values of a discriminator for which a condition holds.
fn named_variants(condition: &Value) -> Vec<&str> {
    let mut discriminators = ["type", "role"]
        .iter()
        .map(|name| &condition["properties"][name]);
    let Some(value) = discriminators.find(|value| !value.is_null()) else {
        return Vec::new();
    };
    let listed = value["enum"].as_array().into_iter().flatten();
    let named = listed.chain(value.get("const")).filter_map(Value::as_str);
    named.collect()
}

fn row(shape: &ObjectShape, name: &str) -> Option<usize> {
    match &shape.kind {
        ShapeKind::Members(members) => members.row(name.as_bytes()),
        ShapeKind::Union(_) => panic!("{name}: a union of unions"),
    }
}

const SCHEMAS: &[(ConversationFormat, &str)] = &[
    (
        Chat,
        include_str!("../../../../../schemas/chat.schema.json"),
    ),
    (
        Messages,
        include_str!("../../../../../schemas/messages.schema.json"),
    ),
    (
        Responses,
        include_str!("../../../../../schemas/responses.schema.json"),
    ),
];

#[test]
fn each_field_of_the_schemas_has_a_row() {
    let mut missing = Vec::new();
    for (format, schema) in SCHEMAS {
        let root: Value = serde_json::from_str(schema).unwrap();
        let mut search = SchemaSearch {
            table: table(TableSubject::Request(*format)),
            root: &root,
            seen: HashSet::new(),
            missing: BTreeSet::new(),
        };
        let (mut members, mut elements) = (Vec::new(), Vec::new());
        search.collect(&root, &[], &mut members, &mut elements);
        search.check_members(members, 0, format.name());
        assert!(search.seen.len() > 10, "{format:?}");
        missing.extend(search.missing);
    }
    assert!(missing.is_empty(), "without a row:\n{}", missing.join("\n"));
}

//! Each field of the clients' types and of the schemas has a row.
//!
//! The lists in tests/fields are made from the Python clients by tests/fields/extract.py.

use crate::fields::table::{FieldTable, ShapeKind};
use crate::fields::{TableSubject, table};
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Objects of a client by name.
struct ClientTypes {
    root: Vec<TypeUse>,
    objects: BTreeMap<&'static str, ClientObject>,
}

#[derive(Default)]
struct ClientObject {
    /// The values of members that tell it apart from others.
    tags: Vec<(&'static str, Vec<&'static str>)>,
    members: Vec<(&'static str, Vec<TypeUse>)>,
}

/// An object as a value, or as the element of an array.
#[derive(Clone, Copy)]
struct TypeUse {
    name: &'static str,
    is_array: bool,
}

impl ClientTypes {
    fn parse(text: &'static str) -> Self {
        let uses = |words: std::str::SplitWhitespace<'static>| words.map(TypeUse::parse).collect();
        let (mut root, mut objects) = (Vec::new(), BTreeMap::<_, ClientObject>::new());
        let mut current = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let first = words.next().unwrap();
            if line.starts_with(' ') {
                let object = objects.entry(current).or_default();
                object.members.push((first, uses(words)));
            } else if first == "root" {
                root = uses(words);
            } else {
                current = first;
                let tags = words.map(|tag| {
                    let (member, values) = tag.split_once('=').unwrap();
                    (member, values.split(',').collect())
                });
                objects.entry(first).or_default().tags = tags.collect();
            }
        }
        Self { root, objects }
    }
}

impl TypeUse {
    fn parse(name: &'static str) -> Self {
        Self {
            name: name.trim_end_matches("[]"),
            is_array: name.ends_with("[]"),
        }
    }
}

/// Looks for the fields of a client's types in a table.
struct TypeSearch {
    table: &'static FieldTable,
    types: ClientTypes,
    seen: HashSet<(&'static str, usize)>,
    missing: BTreeSet<String>,
}

impl TypeSearch {
    fn check_object(&mut self, name: &'static str, shape: usize) {
        if !self.seen.insert((name, shape)) {
            return;
        }
        match &self.table.shapes[shape].kind {
            ShapeKind::Members(_) => self.check_members(name, shape),
            ShapeKind::Union(union) => {
                let tags = &self.types.objects[name].tags;
                let tag = tags.iter().find(|(tag, _)| *tag == union.discriminator);
                for variant in tag.map_or(vec![""], |(_, values)| values.clone()) {
                    let row = match variant {
                        "" => union
                            .defaults
                            .first()
                            .and_then(|(_, name)| union.variant(name.as_bytes())),
                        variant => union.variant(variant.as_bytes()),
                    };
                    match row {
                        Some(row) => self.check_value(name, false, row, name),
                        None => {
                            self.missing.insert(format!("{name}: <{variant}>"));
                        }
                    }
                }
            }
        }
    }

    fn check_members(&mut self, name: &'static str, shape: usize) {
        let ShapeKind::Members(members) = &self.table.shapes[shape].kind else {
            panic!("{name}: a union of unions")
        };
        for at in 0..self.types.objects[name].members.len() {
            let (member, uses) = self.types.objects[name].members[at].clone();
            let place = format!("{name}.{member}");
            match members.row(member.as_bytes()) {
                None => drop(self.missing.insert(place)),
                Some(row) => {
                    for value in uses {
                        self.check_value(value.name, value.is_array, row, &place);
                    }
                }
            }
        }
    }

    fn check_value(&mut self, name: &'static str, is_array: bool, row: usize, place: &str) {
        let row = &self.table.rows[row];
        // Without rows below it, a value is carried whole.
        let Some(below) = row.below else {
            return;
        };
        if is_array == row.is_array {
            self.check_object(name, below);
        } else {
            let kind = if is_array { "an array" } else { "an object" };
            self.missing.insert(format!("{place}: it is {kind}"));
        }
    }
}

macro_rules! types {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fields/", $name, ".types"))
    };
}

const TYPES: &[(TableSubject, &str)] = &[
    (
        TableSubject::Request(ConversationFormat::Chat),
        types!("chat_request"),
    ),
    (
        TableSubject::Request(ConversationFormat::Messages),
        types!("messages_request"),
    ),
    (
        TableSubject::Request(ConversationFormat::Responses),
        types!("responses_request"),
    ),
    (
        TableSubject::Response(ProviderFormat::Chat),
        types!("chat_response"),
    ),
    (
        TableSubject::Response(ProviderFormat::Messages),
        types!("messages_response"),
    ),
    (
        TableSubject::Response(ProviderFormat::Responses),
        types!("responses_response"),
    ),
    (
        TableSubject::Response(ProviderFormat::Gemini),
        types!("gemini_response"),
    ),
    (
        TableSubject::Event(ProviderFormat::Gemini),
        types!("gemini_response"),
    ),
    (
        TableSubject::Response(ProviderFormat::Converse),
        types!("converse_response"),
    ),
    (
        TableSubject::Event(ProviderFormat::Converse),
        types!("converse_events"),
    ),
    (
        TableSubject::Event(ProviderFormat::Chat),
        types!("chat_events"),
    ),
    (
        TableSubject::Event(ProviderFormat::Messages),
        types!("messages_events"),
    ),
    (
        TableSubject::Event(ProviderFormat::Responses),
        types!("responses_events"),
    ),
];

#[test]
fn each_field_of_the_clients_types_has_a_row() {
    let mut missing = Vec::new();
    for (subject, text) in TYPES {
        let types = ClientTypes::parse(text);
        assert!(!types.root.is_empty() && types.objects.len() > 10);
        let mut search = TypeSearch {
            table: table(*subject),
            seen: HashSet::new(),
            missing: BTreeSet::new(),
            types,
        };
        for root in search.types.root.clone() {
            search.check_object(root.name, 0);
        }
        missing.extend(
            search
                .missing
                .iter()
                .map(|place| format!("{subject:?} {place}")),
        );
    }
    assert!(missing.is_empty(), "without a row:\n{}", missing.join("\n"));
}

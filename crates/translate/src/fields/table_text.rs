//! Reads a table of fields from its text, whose form the text of chat requests explains.

use super::TableSubject;
use super::audit::WAY_OUT;
use super::further_columns::{FurtherColumns, heading, split_row, table_lines};
use super::member_index::MemberIndex;
use super::table::{FieldCell, FieldRow, FieldSign, FieldTable, ObjectShape, ShapeKind, Union};
use crate::ledger::FieldOutcome;
use headgate_protocol::conversation::ProviderFormat;
use std::borrow::Cow;

impl FieldTable {
    /// The table of these texts, the first of which has the shape of the whole body. Each of `further` has the same fields,
    /// with columns of other protocols.
    ///
    /// # Panics
    /// A text is not of the form; a test reads all tables.
    pub(super) fn read(
        subject: TableSubject,
        texts: &[&'static str],
        further: &[&'static str],
    ) -> Self {
        let mut reader = TableReader::new(subject);
        reader.further = further
            .iter()
            .map(|text| FurtherColumns::read(text))
            .collect();
        for text in texts {
            reader.read(text);
        }
        reader.table()
    }
}

/// A shape that is not complete.
#[derive(Debug, Default)]
struct OpenShape {
    name: &'static str,
    /// Empty for an object of one kind.
    discriminator: &'static str,
    defaults: Vec<(&'static str, &'static str)>,
    /// Members, or variants.
    rows: Vec<(&'static str, usize)>,
    is_defined: bool,
}

struct TableReader {
    subject: TableSubject,
    columns: Vec<ProviderFormat>,
    further: Vec<FurtherColumns>,
    shapes: Vec<OpenShape>,
    rows: Vec<FieldRow>,
    /// The shape under whose heading rows are read.
    heading: usize,
}

impl TableReader {
    fn new(subject: TableSubject) -> Self {
        Self {
            subject,
            columns: Vec::new(),
            further: Vec::new(),
            shapes: Vec::new(),
            rows: Vec::new(),
            heading: 0,
        }
    }

    fn read(&mut self, text: &'static str) {
        for line in table_lines(text) {
            match heading(line) {
                Some(heading) => self.read_heading(heading),
                None => self.read_row(line),
            }
        }
    }

    /// `name`, or `name by discriminator`, or `name by discriminator; member: variant; else variant`.
    fn read_heading(&mut self, heading: &'static str) {
        let mut parts = heading.split("; ");
        let (name, discriminator) = match parts.next().expect("a heading has a name") {
            name if name.contains(" by ") => name.split_once(" by ").expect("checked"),
            name => (name, ""),
        };
        let defaults = parts.map(|part| match part.split_once(": ") {
            Some(default) => default,
            None => ("", part.strip_prefix("else ").expect("`else` or a member")),
        });
        self.heading = self.shape(name);
        let shape = &mut self.shapes[self.heading];
        assert!(!shape.is_defined, "{heading}: a second time");
        shape.discriminator = discriminator;
        shape.defaults = defaults.collect();
        shape.is_defined = true;
    }

    /// `field | cell | cell`
    fn read_row(&mut self, line: &'static str) {
        let (field, mut cells) = split_row(line);
        if let Some(format) = field.strip_prefix("field of ") {
            assert_eq!(format, self.subject.format().name(), "{line}");
            let further = self.further.iter().flat_map(|further| &further.columns);
            let names = cells.iter().chain(further);
            self.columns = names.map(|name| format_named(name)).collect();
            return;
        }
        let (field, neutral) = match field.split_once(" (") {
            None => (field, ""),
            Some((field, neutral)) => (field, neutral.strip_suffix(')').expect("`)`")),
        };
        let (field, below) = match field.split_once(" @") {
            None => (field, None),
            Some((field, shape)) => (field, Some(self.shape(shape))),
        };
        let heading = self.shapes[self.heading].name;
        for further in &mut self.further {
            let found = further.cells.remove(&(heading, field));
            cells.extend(found.unwrap_or_else(|| panic!("{line}: no cells in a further text")));
        }
        assert_eq!(
            cells.len(),
            self.columns.len(),
            "{line}: one cell for each column"
        );
        let columns = cells.iter().zip(&self.columns);
        let row = FieldRow {
            field,
            shape: self.heading,
            neutral: neutral
                .split(", ")
                .filter(|json| !json.is_empty())
                .collect(),
            below,
            is_array: field.ends_with("[]"),
            cells: columns
                .map(|(cell, other)| self.cell(line, cell, *other))
                .collect(),
        };
        self.insert(line, row);
    }

    /// A sign, and after it the reason if it is not that of the sign.
    fn cell(&self, line: &str, cell: &'static str, other: ProviderFormat) -> FieldCell {
        let (sign, reason) = cell.split_once(' ').unwrap_or((cell, ""));
        let sign = match sign {
            "=" => FieldSign::Exact,
            "." => FieldSign::Formal,
            "=~" => FieldSign::ByValue,
            "~" => FieldSign::Loss(FieldOutcome::Approximated),
            "-" => FieldSign::Loss(FieldOutcome::Dropped),
            "!" => FieldSign::Loss(FieldOutcome::Refused),
            "!!" => FieldSign::Loss(FieldOutcome::AlwaysRefused),
            _ => panic!("{line}: an unknown sign"),
        };
        assert!(
            matches!(self.subject, TableSubject::Request(_))
                || sign <= FieldSign::Loss(FieldOutcome::Dropped),
            "{line}: nothing that a provider sent is refused"
        );
        let reason = match sign {
            FieldSign::Exact | FieldSign::Formal => Cow::Borrowed(reason),
            FieldSign::ByValue | FieldSign::Loss(FieldOutcome::Approximated) => {
                assert!(!reason.is_empty(), "{line}: what is approximate");
                Cow::Borrowed(reason)
            }
            FieldSign::Loss(outcome) => loss_reason(reason, outcome, other),
        };
        FieldCell { sign, reason }
    }

    /// Adds a row to the shapes that its path names.
    fn insert(&mut self, line: &str, row: FieldRow) {
        let field = row.field;
        let (variants, path) = match field.strip_prefix('<') {
            None => ("", field),
            Some(field) => field.split_once('>').expect("`<` has its `>`"),
        };
        let index = self.rows.len();
        self.rows.push(row);
        let shape = self.heading;
        let is_union = !self.shapes[shape].discriminator.is_empty();
        assert!(
            is_union != variants.is_empty(),
            "{line}: variants of unions"
        );
        let known: Vec<_> = self.shapes[shape]
            .rows
            .iter()
            .map(|(name, _)| *name)
            .collect();
        let variants = match variants {
            "" => vec![],
            "*" => known,
            variants => variants.split(", ").collect(),
        };
        match path.strip_prefix('.') {
            None if !is_union => self.insert_member(line, shape, path, index),
            None => self.insert_variants(shape, &variants, index),
            Some(path) => {
                for shape in self.variant_shapes(line, shape, &variants) {
                    self.insert_member(line, shape, path, index);
                }
            }
        }
    }

    /// Adds variants to a union, and the discriminator to their members.
    fn insert_variants(&mut self, union: usize, names: &[&'static str], row: usize) {
        let shape = &mut self.shapes[union];
        shape.rows.extend(names.iter().map(|name| (*name, row)));
        let discriminator = shape.discriminator;
        if self.carries_nothing(row) || self.rows[row].below.is_some() {
            return;
        }
        let member = self.rows.len();
        self.rows.push(FieldRow {
            field: "",
            shape: union,
            neutral: Vec::new(),
            below: None,
            is_array: false,
            cells: self.columns.iter().map(|_| FieldCell::EXACT).collect(),
        });
        let below = self.below(row);
        self.shapes[below].rows.push((discriminator, member));
    }

    /// The shapes of variants that have rows, without repetition.
    fn variant_shapes(&mut self, line: &str, union: usize, variants: &[&str]) -> Vec<usize> {
        let mut shapes = Vec::new();
        for variant in variants {
            let rows = &self.shapes[union].rows;
            let row = rows.iter().find(|(name, _)| name == variant);
            let (_, row) = *row.unwrap_or_else(|| panic!("{line}: no row of {variant}"));
            if self.carries_nothing(row) {
                continue;
            }
            let shape = self.below(row);
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        shapes
    }

    fn insert_member(&mut self, line: &str, mut shape: usize, path: &'static str, row: usize) {
        let mut names = path.split('.').peekable();
        while let Some(name) = names.next() {
            let name = name.trim_end_matches("[]");
            let rows = &self.shapes[shape].rows;
            let known = rows.iter().find(|(known, _)| *known == name);
            match (known, names.peek()) {
                (Some((_, known)), Some(_)) => shape = self.below(*known),
                (None, None) => self.shapes[shape].rows.push((name, row)),
                // Variants share what has a row for all of them.
                (Some((_, known)), None) if *known == row => {}
                (Some(_), None) => panic!("{line}: a second time"),
                (None, Some(_)) => panic!("{line}: no row of {name}"),
            }
        }
    }

    /// The shape of a field's value.
    fn below(&mut self, row: usize) -> usize {
        let new = self.shapes.len();
        let below = *self.rows[row].below.get_or_insert(new);
        if below == new {
            self.shapes.push(OpenShape {
                is_defined: true,
                ..OpenShape::default()
            });
        }
        below
    }

    /// Whether no protocol gets anything of a field.
    fn carries_nothing(&self, row: usize) -> bool {
        let mut cells = self.rows[row].cells.iter();
        cells.all(|cell| cell.sign.carries_nothing())
    }

    /// The index of a shape with a name.
    fn shape(&mut self, name: &'static str) -> usize {
        let known = self.shapes.iter().position(|shape| shape.name == name);
        known.unwrap_or_else(|| {
            self.shapes.push(OpenShape {
                name,
                ..OpenShape::default()
            });
            self.shapes.len() - 1
        })
    }

    fn table(self) -> FieldTable {
        let mut left = self.further.iter().flat_map(|further| further.cells.keys());
        assert_eq!(left.next(), None, "a further text has other fields");
        let shapes = self.shapes.into_iter().map(OpenShape::complete);
        FieldTable {
            subject: self.subject,
            columns: self.columns.into(),
            shapes: shapes.collect(),
            rows: self.rows,
        }
    }
}

impl OpenShape {
    fn complete(self) -> ObjectShape {
        assert!(self.is_defined, "[{}] is missing", self.name);
        let kind = match self.discriminator {
            "" => ShapeKind::Members(MemberIndex::new(self.rows)),
            discriminator => {
                let begins = |(name, _): &(&str, usize)| name.ends_with('*');
                let (beginnings, variants): (Vec<_>, _) = self.rows.into_iter().partition(begins);
                let beginnings = beginnings.into_iter();
                ShapeKind::Union(Union {
                    discriminator,
                    defaults: self.defaults,
                    variants: MemberIndex::new(variants),
                    beginnings: beginnings
                        .map(|(name, row)| (name.trim_end_matches('*'), row))
                        .collect(),
                })
            }
        };
        ObjectShape {
            name: self.name,
            kind,
        }
    }
}

/// The clause that follows the path of a field that is left out or refused.
fn loss_reason(
    reason: &'static str,
    outcome: FieldOutcome,
    other: ProviderFormat,
) -> Cow<'static, str> {
    let way_out = match outcome {
        _ if reason.contains(';') => "",
        FieldOutcome::Refused => WAY_OUT,
        FieldOutcome::AlwaysRefused => "; remove it",
        FieldOutcome::Approximated | FieldOutcome::Dropped => "",
    };
    match (reason, way_out) {
        ("", _) => format!(
            "has no counterpart in the {} protocol{way_out}",
            other.name()
        )
        .into(),
        (reason, "") => reason.into(),
        (reason, way_out) => format!("{reason}{way_out}").into(),
    }
}

fn format_named(name: &str) -> ProviderFormat {
    let formats = ProviderFormat::ALL.into_iter();
    let mut named = formats.filter(|format| format.name() == name);
    named
        .next()
        .unwrap_or_else(|| panic!("{name}: no protocol"))
}

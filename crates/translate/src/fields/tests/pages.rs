//! The documentation has the tables of fields.

use crate::FieldOutcome;
use crate::fields::audit::WAY_OUT;
use crate::fields::table::{FieldCell, FieldRow, FieldSign, FieldTable, ShapeKind};
use crate::fields::{TableSubject, table};
use headgate_protocol::conversation::ProviderFormat;
use std::fmt::Write;
use std::path::Path;

fn page(format: ProviderFormat) -> String {
    let protocol = match format {
        ProviderFormat::Chat => "chat completions",
        ProviderFormat::Messages => "messages",
        ProviderFormat::Responses => "responses",
        ProviderFormat::Gemini => "gemini",
        ProviderFormat::Converse => "converse",
    };
    let mut page = format!(
        "# Fields of {protocol}\n\n\
         <!-- generated from crates/translate/src/fields; HEADGATE_BLESS=1 cargo test -p headgate-translate fields -->\n\n\
         [Fields by protocol](../translation-fields.md) explains the signs.\n"
    );
    let request = format.caller_format().map(TableSubject::Request);
    let request = request.map(|request| (request, "Request"));
    let others = [
        (TableSubject::Response(format), "Response"),
        (TableSubject::Event(format), "Event"),
    ];
    for (subject, title) in request.into_iter().chain(others) {
        let _ = write!(page, "\n## {title}s\n");
        write_table(&mut page, title, table(subject));
    }
    page
}

/// The shapes that a table has, without those of responses in that of events.
pub(super) fn own_shapes(fields: &'static FieldTable) -> Vec<usize> {
    let is_of_response = |name: &str| {
        let response = table(TableSubject::Response(fields.subject.format()));
        let is_event = matches!(fields.subject, TableSubject::Event(_));
        is_event && response.shapes.iter().any(|shape| shape.name == name)
    };
    let shapes = fields.shapes.iter().enumerate();
    let named = shapes.filter(|(_, shape)| !shape.name.is_empty() && !is_of_response(shape.name));
    named.map(|(index, _)| index).collect()
}

fn write_table(page: &mut String, title: &str, fields: &'static FieldTable) {
    let own = own_shapes(fields);
    for shape in &own {
        let by = match &fields.shapes[*shape].kind {
            ShapeKind::Members(_) => String::new(),
            ShapeKind::Union(union) => format!("\nBy `{}`.\n", union.discriminator),
        };
        let names: Vec<_> = fields.columns.iter().map(|other| other.name()).collect();
        let _ = write!(
            page,
            "\n### {}\n{by}\n| field | {} |\n|---{}|\n",
            heading(title, fields, *shape),
            names.join(" | "),
            "|---".repeat(names.len())
        );
        let rows = fields
            .rows
            .iter()
            .filter(|row| row.shape == *shape && !row.field.is_empty());
        for row in rows {
            let field = field(title, fields, row);
            let cells = row.cells.iter().zip(fields.columns.iter());
            let cells: Vec<_> = cells.map(|(sign, other)| cell(sign, *other)).collect();
            let _ = writeln!(page, "| {field} | {} |", cells.join(" | "));
        }
    }
}

fn heading(title: &str, fields: &FieldTable, shape: usize) -> String {
    match shape {
        0 => title.to_owned() + " object",
        shape => format!("{title} object {}", fields.shapes[shape].name),
    }
}

fn field(title: &str, fields: &FieldTable, row: &FieldRow) -> String {
    let name = row.field.split(" @").next().unwrap_or_default();
    let mut field = format!("`{name}`");
    let below = row.below.map(|below| (below, fields.shapes[below].name));
    if let Some((below, name)) = below.filter(|(_, name)| !name.is_empty()) {
        // Those of responses have their heading there.
        let is_own = own_shapes_contain(fields, below);
        let heading = match (is_own, name) {
            (true, _) => heading(title, fields, below),
            (false, "response") => "Response object".to_owned(),
            (false, name) => format!("Response object {name}"),
        };
        let anchor = heading.to_lowercase().replace(' ', "-");
        let _ = write!(field, " → [{name}](#{anchor})");
    }
    if !row.neutral.is_empty() {
        let _ = write!(field, ", unless `{}`", row.neutral.join("`, `"));
    }
    field
}

fn own_shapes_contain(fields: &FieldTable, shape: usize) -> bool {
    own_shapes(table(fields.subject)).contains(&shape)
}

fn cell(cell: &FieldCell, other: ProviderFormat) -> String {
    let sign = match cell.sign {
        FieldSign::Exact => "=",
        FieldSign::Formal => "·",
        FieldSign::ByValue => "= or ~",
        FieldSign::Loss(FieldOutcome::Approximated) => "~",
        FieldSign::Loss(FieldOutcome::Dropped) => "×",
        FieldSign::Loss(FieldOutcome::Refused) => "!",
        FieldSign::Loss(FieldOutcome::AlwaysRefused) => "!!",
    };
    let reason = cell
        .reason
        .trim_end_matches(WAY_OUT)
        .trim_end_matches("; remove it");
    let usual = format!("has no counterpart in the {} protocol", other.name());
    match reason == usual || reason.is_empty() {
        true => sign.to_owned(),
        false => format!("{sign} {reason}"),
    }
}

#[test]
fn the_pages_have_the_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/translation-fields");
    for format in ProviderFormat::ALL {
        let path = folder.join(format!("{}.md", format.name()));
        let page = page(format);
        if std::env::var_os("HEADGATE_BLESS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(
            written == page,
            "{} differs: run HEADGATE_BLESS=1 cargo test -p headgate-translate fields",
            path.display()
        );
    }
}

//! Columns of a table that stand in a text of their own, and the lines of such texts.

use std::collections::HashMap;

/// Columns of a text that repeats the fields of another one.
pub(super) struct FurtherColumns {
    /// Names of protocols.
    pub columns: Vec<&'static str>,
    /// The cells of a field, by the heading and the field.
    pub cells: HashMap<(&'static str, &'static str), Vec<&'static str>>,
}

impl FurtherColumns {
    pub fn read(text: &'static str) -> Self {
        let (mut columns, mut cells, mut shape) = (Vec::new(), HashMap::new(), "");
        for line in table_lines(text) {
            if let Some(heading) = heading(line) {
                shape = heading;
                continue;
            }
            let (field, row) = split_row(line);
            if field.starts_with("field of ") {
                columns = row;
            } else {
                let known = cells.insert((shape, field), row);
                assert!(known.is_none(), "{line}: a second time");
            }
        }
        Self { columns, cells }
    }
}

/// The lines of a text without comments.
pub(super) fn table_lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

pub(super) fn heading(line: &'static str) -> Option<&'static str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

/// The field and the cells of a line.
pub(super) fn split_row(line: &'static str) -> (&'static str, Vec<&'static str>) {
    let mut parts = line.split(" | ").map(str::trim);
    let field = parts.next().unwrap_or_default();
    (field, parts.collect())
}

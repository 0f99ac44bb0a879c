//! Tables of text that fit into a width: long names are shortened, and the last columns left out if they have no room.

use super::amount::{shortened, width};
use super::palette::TopPalette;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

const GAP: usize = 2;
/// The width that a column of text has at most.
const TEXT_MAX: usize = 40;

/// What a view shows: lines that stay, and lines that scroll.
#[derive(Default)]
pub(super) struct TopViewLines {
    pub head: Vec<Line<'static>>,
    pub body: Vec<Line<'static>>,
}

/// A column: its title, and how narrow it may become.
pub(super) struct TextColumn {
    title: &'static str,
    /// Only texts are shortened.
    least: Option<usize>,
}

pub(super) struct TextCell {
    text: String,
    style: Style,
}

/// A table whose most important columns come first.
pub(super) struct TextTable<const COLUMNS: usize> {
    pub columns: [TextColumn; COLUMNS],
    pub rows: Vec<[TextCell; COLUMNS]>,
}

impl TextColumn {
    /// A column of texts, which are shortened to `least` columns if room is scarce.
    pub const fn text(title: &'static str, least: usize) -> Self {
        Self {
            title,
            least: Some(least),
        }
    }

    /// A column that is shown as a whole or not at all, its cells at its right edge.
    pub const fn number(title: &'static str) -> Self {
        Self { title, least: None }
    }
}

impl TextCell {
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: text.into(),
            style,
        }
    }
}

impl From<String> for TextCell {
    fn from(text: String) -> Self {
        Self::styled(text, Style::new())
    }
}

impl<const COLUMNS: usize> TextTable<COLUMNS> {
    pub fn page(&self, room: usize, palette: TopPalette) -> TopViewLines {
        let widths = self.widths(room);
        let titles = self
            .columns
            .iter()
            .map(|column| (column.title, palette.quiet()));
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter().map(|cell| (cell.text.as_str(), cell.style));
            self.line(cells, &widths)
        });
        TopViewLines {
            head: vec![self.line(titles, &widths)],
            body: rows.collect(),
        }
    }

    fn line<'a>(
        &self,
        cells: impl Iterator<Item = (&'a str, Style)>,
        widths: &[usize],
    ) -> Line<'static> {
        let mut spans = Vec::new();
        for ((column, (text, style)), columns) in self.columns.iter().zip(cells).zip(widths) {
            if !spans.is_empty() {
                spans.push(Span::raw(" ".repeat(GAP)));
            }
            let text = shortened(text, *columns);
            let space = Span::raw(" ".repeat(columns.saturating_sub(width(&text))));
            let text = Span::styled(text, style);
            match column.least {
                Some(_) => spans.extend([text, space]),
                None => spans.extend([space, text]),
            }
        }
        Line::from(spans)
    }

    /// The widths of the columns that are shown.
    fn widths(&self, room: usize) -> Vec<usize> {
        let of_column = |(at, column): (usize, &TextColumn)| {
            let cells = self.rows.iter().map(|row| width(&row[at].text));
            let widest = cells.max().unwrap_or_default().min(TEXT_MAX);
            widest.max(column.title.len())
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(of_column).collect();
        let least: Vec<usize> = self
            .columns
            .iter()
            .zip(&widths)
            .map(|(column, width)| column.least.unwrap_or(*width).min(*width))
            .collect();
        let mut shown = (1..=COLUMNS).rev();
        widths.truncate(
            shown
                .find(|shown| taken(&least[..*shown]) <= room)
                .unwrap_or(1),
        );
        while taken(&widths) > room {
            let wide = (0..widths.len()).filter(|at| widths[*at] > least[*at]);
            match wide.max_by_key(|at| widths[*at]) {
                Some(widest) => widths[widest] -= 1,
                None => break,
            }
        }
        widths
    }
}

fn taken(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shortens_names_before_it_leaves_out_columns() {
        let table = TextTable {
            columns: [
                TextColumn::text("Name", 6),
                TextColumn::number("Age"),
                TextColumn::number("Weight"),
            ],
            rows: vec![["a-long-name", "1 s", "10"].map(|cell| cell.to_owned().into())],
        };
        for (room, head, row) in [
            (40, "Name         Age  Weight", "a-long-name  1 s      10"),
            (20, "Name     Age  Weight", "a-long…  1 s      10"),
            (18, "Name         Age", "a-long-name  1 s"),
            (11, "Name    Age", "a-lon…  1 s"),
            (3, "Name  ", "a-lon…"),
        ] {
            let page = table.page(room, TopPalette::Plain);
            assert_eq!(page.head[0].to_string(), head, "{room}");
            assert_eq!(page.body[0].to_string(), row, "{room}");
        }
    }
}

//! One frame: the header, the view and the keys, as lines that fit into the terminal.

use super::amount::{clock, harmless, name, shortened};
use super::overview_page::overview;
use super::state::{TopState, TopView};
use super::table::TopViewLines;
use super::table_pages::{channels, in_flight, recent};
use headgate_core::page_value::{list, text};
use ratatui::buffer::Buffer;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};

const HELP: [(&str, &str); 9] = [
    ("q, Esc, Ctrl-C", "quit"),
    ("Tab, Shift-Tab", "next view, previous view"),
    (
        "1",
        "overview: findings, last minute, last hour, all else in short",
    ),
    ("2", "channels, with errors and times of the last minute"),
    (
        "3",
        "requests in flight, those that have waited longest first",
    ),
    ("4", "recent requests, the newest first"),
    ("Up, Down, PageUp, PageDown", "scroll"),
    ("Home, End", "scroll to the beginning, to the end"),
    ("?", "this help; Esc leaves it"),
];

/// Draws the state, and limits its scrolling to the lines that there are.
pub(super) fn draw(buffer: &mut Buffer, state: &mut TopState) {
    let area = *buffer.area();
    let lines = screen_lines(state, area.width.into(), area.height.into());
    Paragraph::new(lines).render(area, buffer);
}

/// The header and the whole overview, however many lines they take.
pub(super) fn whole(state: &TopState, columns: u16) -> Vec<Line<'static>> {
    let columns = usize::from(columns);
    let mut lines = header(state, columns);
    lines.push(Line::default());
    lines.extend(overview(state, columns).body);
    lines
}

fn screen_lines(state: &mut TopState, columns: usize, height: usize) -> Vec<Line<'static>> {
    let page = match state.shows_help {
        true => help(),
        false => page(state, columns),
    };
    let mut lines = header(state, columns);
    lines.push(tabs(state));
    lines.extend(page.head);
    let rows = height.saturating_sub(lines.len() + 1);
    let total = page.body.len();
    state.scroll = state.scroll.min(total.saturating_sub(rows));
    lines.extend(page.body.into_iter().skip(state.scroll).take(rows));
    lines.resize(height.saturating_sub(1), Line::default());
    lines.push(footer(state, rows, total));
    lines
}

fn page(state: &TopState, columns: usize) -> TopViewLines {
    let (page, none) = match state.view {
        TopView::Overview => return overview(state, columns),
        TopView::Channels => (channels(state, columns), "There are no channels."),
        TopView::InFlight => (in_flight(state, columns), "No requests are in flight."),
        TopView::Recent => (recent(state, columns), "There were no requests yet."),
    };
    match page.body.is_empty() {
        true => TopViewLines {
            head: Vec::new(),
            body: vec![Line::styled(none, state.palette.quiet())],
        },
        false => page,
    }
}

fn header(state: &TopState, columns: usize) -> Vec<Line<'static>> {
    let overview = &state.overview;
    let (condition, style) = condition(state);
    let time = format!("{} UTC", clock(&overview["time"]));
    let mut first = Line::from(vec![
        Span::styled(condition, style),
        Span::raw(format!("  {}", state.url)),
    ]);
    let space = columns.saturating_sub(first.width() + time.len()).max(1);
    first.push_span(format!("{}{time}", " ".repeat(space)));
    let up = match overview["store"]["up"] == false {
        true => "unreachable",
        false => "up",
    };
    let facts = format!(
        "revision {}, loaded {}; version {}; state {}, {up}",
        name(&overview["revision"]),
        clock(&overview["loaded_at"]),
        name(&overview["version"]),
        name(&overview["store"]["kind"]),
    );
    let mut lines = vec![first, Line::styled(facts, state.palette.quiet())];
    if let Some(message) = &state.disconnected {
        let first = message.lines().next().unwrap_or_default();
        // The address is in the line above.
        let of_address = first.split_once(&format!("{}: ", state.url));
        let reason = harmless(of_address.map_or(first, |(_, reason)| reason));
        let time = clock(&overview["time"]);
        let reason = format!("state of {time}; tries again every second: {reason}");
        lines.push(Line::styled(
            shortened(&reason, columns),
            state.palette.bad(),
        ));
    }
    lines
}

/// The worst that is known, as text.
fn condition(state: &TopState) -> (&'static str, Style) {
    let palette = state.palette;
    let worst = list(&state.overview["findings"]).next();
    let worst = worst.map_or("", |finding| text(&finding["severity"]));
    match worst {
        _ if state.disconnected.is_some() => ("disconnected", palette.bad()),
        _ if state.overview["ready"] == false => ("draining", palette.severity("warning")),
        "critical" => ("requests fail", palette.bad()),
        "warning" => ("needs attention", palette.severity("warning")),
        _ => ("healthy", palette.good()),
    }
}

fn tabs(state: &TopState) -> Line<'static> {
    let tabs = TopView::ALL.into_iter().enumerate().flat_map(|(at, view)| {
        let style = match view == state.view && !state.shows_help {
            true => state.palette.reversed(),
            false => Style::new(),
        };
        let tab = format!(" {} {} ", at + 1, view.title());
        [Span::styled(tab, style), Span::raw(" ")]
    });
    Line::from_iter(tabs)
}

fn footer(state: &TopState, rows: usize, total: usize) -> Line<'static> {
    let keys = "q quit   Tab 1-4 view   ? help";
    let scrolling = match total > rows {
        true => format!(
            "   arrows scroll: lines {}-{} of {total}",
            state.scroll + 1,
            (state.scroll + rows).min(total)
        ),
        false => String::new(),
    };
    Line::styled(format!("{keys}{scrolling}"), state.palette.quiet())
}

fn help() -> TopViewLines {
    let lines = HELP.map(|(keys, what)| Line::from(format!("{keys:28}{what}")));
    TopViewLines {
        head: vec![Line::default()],
        body: lines.to_vec(),
    }
}

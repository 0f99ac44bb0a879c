//! The first view: what is wrong, the last minute and hour, and the beginnings of the other views.

use super::amount::{clock, count, harmless, milliseconds, name, wrapped};
use super::state::TopState;
use super::table::TopViewLines;
use super::table_pages::{channels, in_flight, recent};
use chrono::{DateTime, Utc};
use headgate_core::page_value::{list, text};
use ratatui::text::{Line, Span};
use serde_json::Value;

/// Rows of other views that are shown here.
const IN_FLIGHT_MAX: usize = 5;
const RECENT_MAX: usize = 10;
const INDENT: usize = 2;
const BETWEEN_TILES: usize = 3;
const SIDES: [&str; 3] = ["upstream", "gateway", "caller"];

pub(super) fn overview(state: &TopState, room: usize) -> TopViewLines {
    let mut body = findings(state, room);
    body.extend(section(state, "Last minute", tiles(state, room)));
    let now = text(&state.overview["time"]).parse::<DateTime<Utc>>();
    let now = now.map_or(0, |now| now.timestamp().unsigned_abs());
    let hour = state.history.lines(now, room, state.palette);
    let title = "Last hour, with the highest number per minute";
    body.extend(section(state, title, hour));
    let titled = [
        ("Channels", channels(state, room), usize::MAX),
        ("In flight", in_flight(state, room), IN_FLIGHT_MAX),
        ("Recent requests", recent(state, room), RECENT_MAX),
    ];
    for (title, page, most) in titled {
        if !page.body.is_empty() {
            let rows = page.body.into_iter().take(most);
            body.extend(section(state, title, page.head.into_iter().chain(rows)));
        }
    }
    body.extend(rejection(state));
    let head = Vec::new();
    TopViewLines { head, body }
}

/// The findings with their advice. They come first, without a title.
fn findings(state: &TopState, room: usize) -> Vec<Line<'static>> {
    let palette = state.palette;
    let mut lines = Vec::new();
    for finding in list(&state.overview["findings"]) {
        let severity = name(&finding["severity"]);
        let cause = harmless(text(&finding["cause"]));
        let cause = wrapped(&format!("{severity} {cause}"), room);
        for (at, line) in cause.into_iter().enumerate() {
            let rest = match at {
                0 => line.strip_prefix(severity.as_str()).map(str::to_owned),
                _ => None,
            };
            lines.push(match rest {
                Some(rest) => Line::from(vec![
                    Span::styled(severity.clone(), palette.severity(&severity)),
                    Span::raw(rest),
                ]),
                None => Line::from(line),
            });
        }
        let advice = harmless(text(&finding["advice"]));
        for line in wrapped(&advice, room.saturating_sub(INDENT)) {
            let line = format!("{:INDENT$}{line}", "");
            lines.push(Line::styled(line, palette.quiet()));
        }
    }
    if lines.is_empty() {
        let fine = "Nothing is wrong as far as the gateway can see.";
        lines.push(Line::styled(fine, palette.good()));
    }
    lines
}

fn section(
    state: &TopState,
    title: &'static str,
    lines: impl IntoIterator<Item = Line<'static>>,
) -> impl Iterator<Item = Line<'static>> {
    let title = Line::styled(title, state.palette.strong());
    [Line::default(), title].into_iter().chain(lines)
}

/// Numbers of the last minute, as many on a line as fit.
fn tiles(state: &TopState, room: usize) -> Vec<Line<'static>> {
    let overview = &state.overview;
    let minute = &overview["minute"];
    let errors = |side: &str| minute["errors"][side].as_u64().unwrap_or_default();
    let sum: u64 = SIDES.into_iter().map(errors).sum();
    let sides = SIDES.map(|side| format!("{} {side}", errors(side)));
    let rate = minute["requests"].as_f64().unwrap_or_default() / 60.0;
    let of = |times: &Value| {
        let [half, most] = ["p50", "p99"].map(|name| milliseconds(&times[name]));
        format!("p50 {half}, p99 {most}")
    };
    let tiles = [
        ("requests", format!("{rate:.1}/s")),
        ("errors", format!("{sum} ({})", sides.join(", "))),
        ("first byte", of(&minute["first_byte_ms"])),
        ("total", of(&minute["total_ms"])),
        (
            "tokens",
            format!(
                "{} in, {} out",
                count(&minute["input_tokens"]),
                count(&minute["output_tokens"])
            ),
        ),
        ("in flight", count(&overview["in_flight"])),
        ("connections", count(&overview["connections"])),
        ("callbacks", callbacks(&overview["callbacks"])),
        ("tasks", tasks(&overview["tasks"])),
    ];
    let mut lines = vec![Line::default()];
    // Most gateways have no video tasks.
    let is_shown = |(label, value): &(&str, String)| *label != "tasks" || !value.is_empty();
    for (label, value) in tiles.into_iter().filter(is_shown) {
        let tile = [
            Span::styled(format!("{label} "), state.palette.quiet()),
            Span::raw(value),
        ];
        let columns: usize = tile.iter().map(Span::width).sum();
        let line = lines.last_mut().expect("there is always a line");
        if line.spans.is_empty() {
            line.spans.extend(tile);
        } else if line.width() + BETWEEN_TILES + columns <= room {
            line.push_span(" ".repeat(BETWEEN_TILES));
            line.spans.extend(tile);
        } else {
            lines.push(Line::from(tile.to_vec()));
        }
    }
    lines
}

/// The states that video tasks are in; empty if there are no tasks.
fn tasks(tasks: &Value) -> String {
    const STATES: [(&str, &str); 7] = [
        ("queued", "queued"),
        ("running", "running"),
        ("succeeded", "succeeded"),
        ("failed", "failed"),
        ("cancelled", "cancelled"),
        ("expired", "expired"),
        ("outcome_unknown", "of unknown outcome"),
    ];
    let present = STATES.into_iter().filter_map(|(state, words)| {
        let number = &tasks[state];
        (number.as_u64()? > 0).then(|| format!("{} {words}", count(number)))
    });
    present.collect::<Vec<_>>().join(", ")
}

fn callbacks(totals: &Value) -> String {
    let [pending, dead] = ["pending", "dead"].map(|name| count(&totals[name]));
    format!("{pending} waiting, {dead} dead")
}

/// The report of the configuration that was refused last, as `headgate check` prints it.
fn rejection(state: &TopState) -> Vec<Line<'static>> {
    let rejection = &state.overview["last_rejection"];
    if !rejection.is_object() {
        return Vec::new();
    }
    let title = format!("Configuration refused at {}", clock(&rejection["at"]));
    let report = text(&rejection["report"]).lines();
    let report = report.map(|line| Line::from(harmless(line)));
    let mut lines = vec![Line::default(), Line::styled(title, state.palette.strong())];
    lines.extend(report);
    lines
}

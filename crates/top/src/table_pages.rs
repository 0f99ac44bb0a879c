//! The views that are tables: channels, requests in flight, recent requests.

use super::amount::{clock, count, milliseconds, name, seconds_between};
use super::palette::TopPalette;
use super::state::TopState;
use super::table::{TextCell, TextColumn, TextTable, TopViewLines};
use headgate_core::page_value::{list, text};
use ratatui::style::Style;
use serde_json::Value;

/// A request in flight that waits so long for one side stands out.
const SILENT_MS: u64 = 5_000;
const STATUS_OF_ERRORS: u64 = 400;

/// The channels; errors and times are those of the last minute.
pub(super) fn channels(state: &TopState, room: usize) -> TopViewLines {
    let channels = list(&state.overview["channels"]);
    let rows = channels.map(|channel| {
        let minute = &channel["minute"];
        [
            name(&channel["name"]).into(),
            health(channel, &state.overview["time"], state.palette),
            count(&channel["in_flight"]).into(),
            count(&minute["requests"]).into(),
            count(&minute["upstream_errors"]).into(),
            milliseconds(&minute["first_byte_ms"]).into(),
            name(&channel["tier"]).into(),
            name(&channel["weight"]).into(),
            last_error(&channel["last_error"]).into(),
        ]
    });
    let table = TextTable {
        columns: [
            TextColumn::text("Channel", 10),
            TextColumn::text("Health", 30),
            TextColumn::number("Open"),
            TextColumn::number("Req/min"),
            TextColumn::number("Errors"),
            TextColumn::number("1st byte"),
            TextColumn::number("Tier"),
            TextColumn::number("Weight"),
            TextColumn::text("Last error", 20),
        ],
        rows: rows.collect(),
    };
    table.page(room, state.palette)
}

/// The requests in flight, those that have waited longest first.
pub(super) fn in_flight(state: &TopState, room: usize) -> TopViewLines {
    let requests = list(&state.overview["open_requests"]);
    let rows = requests.map(|open| {
        let waits_for = text(&open["waits_for"]);
        let is_silent =
            waits_for != "gateway" && open["waiting_ms"].as_u64().unwrap_or_default() >= SILENT_MS;
        let style = match is_silent {
            true => state.palette.warning(),
            false => Style::new(),
        };
        let kind = match &open["streamed"] {
            Value::Bool(true) => "stream",
            _ => "-",
        };
        [
            TextCell::styled(name(&open["waits_for"]), style),
            TextCell::styled(milliseconds(&open["waiting_ms"]), style),
            milliseconds(&open["age_ms"]).into(),
            name(&open["caller"]).into(),
            name(&open["model"]).into(),
            name(&open["channel"]).into(),
            kind.to_owned().into(),
            name(&open["route"]).into(),
            name(&open["id"]).into(),
        ]
    });
    let table = TextTable {
        columns: [
            TextColumn::text("Waits for", 9),
            TextColumn::number("For"),
            TextColumn::number("Age"),
            TextColumn::text("Caller", 8),
            TextColumn::text("Model", 10),
            TextColumn::text("Channel", 8),
            TextColumn::text("Kind", 6),
            TextColumn::text("Route", 6),
            TextColumn::number("Request"),
        ],
        rows: rows.collect(),
    };
    table.page(room, state.palette)
}

/// The recent requests, the newest first.
pub(super) fn recent(state: &TopState, room: usize) -> TopViewLines {
    let rows = state.recent.iter().map(|line| {
        let style = match line["status"].as_u64() {
            Some(status) if status >= STATUS_OF_ERRORS => state.palette.bad(),
            _ => state.palette.good(),
        };
        [
            clock(&line["time"]).into(),
            TextCell::styled(name(&line["status"]), style),
            name(&line["caller"]).into(),
            name(&line["model"]).into(),
            name(&line["channel"]).into(),
            milliseconds(&line["total_ms"]).into(),
            name(&line["error_code"]).into(),
            milliseconds(&line["first_byte_ms"]).into(),
            name(&line["settlement"]).into(),
            tokens(line).into(),
            name(&line["id"]).into(),
        ]
    });
    let table = TextTable {
        columns: [
            TextColumn::number("Time"),
            TextColumn::number("Status"),
            TextColumn::text("Caller", 6),
            TextColumn::text("Model", 10),
            TextColumn::text("Channel", 7),
            TextColumn::number("Total"),
            TextColumn::text("Error", 12),
            TextColumn::number("1st byte"),
            TextColumn::text("Settlement", 8),
            TextColumn::number("Tokens"),
            TextColumn::number("Request"),
        ],
        rows: rows.collect(),
    };
    table.page(room, state.palette)
}

fn health(channel: &Value, now: &Value, palette: TopPalette) -> TextCell {
    let parts: Vec<String> = list(&channel["unhealthy"])
        .map(|part| format!("{} {}", name(&part["name"]), unhealthy(part, now)))
        .collect();
    let limits: Vec<&str> = list(&channel["limits_reached"]).map(text).collect();
    let status = text(&channel["status"]);
    let state = match status {
        _ if channel["drained"] == true => "drained".to_owned(),
        _ if channel["retired"] == true => "retired".to_owned(),
        "healthy" if !parts.is_empty() => parts.join("; "),
        "healthy" if !limits.is_empty() => format!("at limit {}", limits.join(", ")),
        "healthy" if channel["usable"] == false => "not usable".to_owned(),
        "healthy" => return TextCell::styled("healthy", palette.good()),
        _ => unhealthy(channel, now),
    };
    TextCell::styled(state, palette.bad())
}

/// The status of a channel, a model or a credential that is not healthy.
fn unhealthy(entry: &Value, now: &Value) -> String {
    let left = seconds_between(now, &entry["until"]);
    let left = left.map_or(String::new(), |seconds| format!(" {seconds} s"));
    let reason = name(&entry["reason"]);
    match text(&entry["status"]) {
        "cooling_down" => format!("cool-down{left}: {reason}"),
        "half_open" => format!("half open: {reason}"),
        _ => format!("{}{left}: {reason}", name(&entry["status"])),
    }
}

fn last_error(last: &Value) -> String {
    if !last.is_object() {
        return "-".to_owned();
    }
    let status = last["status"].as_u64();
    let status = status.map_or(String::new(), |status| format!(" {status}"));
    format!("{} {}{status}", clock(&last["at"]), name(&last["outcome"]))
}

fn tokens(line: &Value) -> String {
    match line["input_tokens"].is_null() {
        true => "-".to_owned(),
        false => format!(
            "{} / {}",
            count(&line["input_tokens"]),
            count(&line["output_tokens"])
        ),
    }
}

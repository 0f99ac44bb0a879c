//! Amounts, times and names as short texts for a terminal.

use chrono::{DateTime, Utc};
use headgate_core::page_value::text;
use ratatui::text::Span;
use serde_json::Value;

const NOTHING: &str = "-";

/// A number such as 12, 3.4k or 5.6M.
pub(super) fn count(value: &Value) -> String {
    let number = value.as_f64().unwrap_or_default();
    let steps = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match steps.into_iter().find(|(step, _)| number >= *step) {
        Some((step, suffix)) => format!("{:.1}{suffix}", number / step),
        None => format!("{number:.0}"),
    }
}

/// A time in milliseconds as `3.1 ms`, `250 ms`, `2.5 s` or `4 min`.
pub(super) fn milliseconds(value: &Value) -> String {
    match value.as_f64() {
        None => NOTHING.to_owned(),
        Some(time) if time < 10.0 => format!("{time:.1} ms"),
        Some(time) if time < 1_000.0 => format!("{time:.0} ms"),
        Some(time) if time < 90_000.0 => format!("{:.1} s", time / 1_000.0),
        Some(time) => format!("{:.0} min", time / 60_000.0),
    }
}

/// The time of day of an RFC 3339 time, in UTC.
pub(super) fn clock(value: &Value) -> String {
    let time = text(value).parse::<DateTime<Utc>>();
    time.map_or_else(
        |_| NOTHING.to_owned(),
        |time| time.format("%H:%M:%S").to_string(),
    )
}

/// The whole seconds from one RFC 3339 time to another; `None` if they have passed.
pub(super) fn seconds_between(from: &Value, to: &Value) -> Option<i64> {
    let time = |value| text(value).parse::<DateTime<Utc>>().ok();
    let seconds = (time(to)? - time(from)?).num_seconds();
    Some(seconds).filter(|seconds| *seconds > 0)
}

/// A name from outside, or `-`. Callers choose the names of models: what could control the terminal or reorder
/// a line is replaced.
pub(super) fn name(value: &Value) -> String {
    match value {
        Value::String(name) if !name.is_empty() => harmless(name),
        Value::Number(number) => number.to_string(),
        _ => NOTHING.to_owned(),
    }
}

/// A text without characters that control terminals or reorder a line.
pub(super) fn harmless(text: &str) -> String {
    let is_mark = |letter| matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let letters = text.chars();
    letters
        .map(|letter| match letter {
            '\n' | '\t' => ' ',
            letter if letter.is_control() || is_mark(letter) => '?',
            letter => letter,
        })
        .collect()
}

/// The columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// The beginning of a text that takes at most `columns`, with a mark if something is missing.
pub(super) fn shortened(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    for letter in text.chars() {
        short.push(letter);
        if width(&short) >= columns {
            short.pop();
            break;
        }
    }
    short.push('…');
    short
}

/// A text in lines of at most `columns`, broken between words.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        let room = columns.saturating_sub(width(line));
        match line.is_empty() {
            true => line.push_str(&shortened(word, columns)),
            false if width(word) < room => line.extend([" ", word]),
            false => lines.push(shortened(word, columns)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_have_at_most_four_digits() {
        for (value, expected) in [
            (json!(0), "0"),
            (json!(999), "999"),
            (json!(1_234), "1.2k"),
            (json!(5_600_000), "5.6M"),
            (Value::Null, "0"),
        ] {
            assert_eq!(count(&value), expected);
        }
        for (value, expected) in [
            (json!(3.06), "3.1 ms"),
            (json!(250.2), "250 ms"),
            (json!(2_500), "2.5 s"),
            (json!(240_000), "4 min"),
            (Value::Null, "-"),
        ] {
            assert_eq!(milliseconds(&value), expected);
        }
        assert_eq!(clock(&json!("2026-11-22T03:40:01.120Z")), "03:40:01");
    }

    #[test]
    fn a_name_cannot_control_the_terminal() {
        let name = name(&json!("gpt\u{1b}[2J\u{202e}\u{9b}\r\nx"));
        assert_eq!(name, "gpt?[2J??? x");
    }

    #[test]
    fn texts_are_cut_and_wrapped_by_their_columns() {
        assert_eq!(shortened("channel", 7), "channel");
        assert_eq!(shortened("channels", 7), "channe…");
        assert_eq!(shortened("日本語", 4), "日…");
        assert_eq!(
            wrapped("one two three incomprehensible", 8),
            ["one two", "three", "incompr…"]
        );
    }
}

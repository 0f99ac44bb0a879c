//! The requests and errors of the last hour as two lines of bars.

use super::amount::count;
use super::palette::TopPalette;
use ratatui::text::{Line, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const HOUR_SECONDS: u64 = 3600;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const NO_BAR: char = '·';
/// The columns beside the bars: the name before them, and the highest number after them.
const BESIDE_COLUMNS: usize = 19;
/// Numbers of bars in an hour of intervals of ten seconds.
const BAR_COUNTS: [u64; 4] = [120, 60, 30, 20];

/// The requests and errors of each interval, by the second at which it starts.
#[derive(Default)]
pub(super) struct TopTrafficHistory {
    intervals: BTreeMap<u64, [u64; 2]>,
}

impl TopTrafficHistory {
    /// Adds an interval of `/traffic`, or replaces it by its newer state.
    pub fn add(&mut self, interval: &Value) {
        let Some(start) = interval["start"].as_u64() else {
            return;
        };
        let requests = interval["requests"].as_u64().unwrap_or_default();
        let errors = interval["errors"].as_object().into_iter();
        let errors = errors.flat_map(|sides| sides.values().filter_map(Value::as_u64));
        self.intervals.insert(start, [requests, errors.sum()]);
        let oldest = start.saturating_sub(2 * HOUR_SECONDS);
        self.intervals = self.intervals.split_off(&oldest);
    }

    /// The bars of the hour that ends at `now`, in seconds since the epoch.
    pub fn lines(&self, now: u64, columns: usize, palette: TopPalette) -> Vec<Line<'static>> {
        let room = columns.saturating_sub(BESIDE_COLUMNS) as u64;
        let fitting = BAR_COUNTS.into_iter().find(|bars| *bars <= room);
        let bars = fitting.unwrap_or(BAR_COUNTS[BAR_COUNTS.len() - 1]);
        let seconds = HOUR_SECONDS / bars;
        let sums = self.sums(now, bars, seconds);
        let rows = [
            ("requests", 0, palette.good()),
            ("errors", 1, palette.bad()),
        ];
        let rows = rows.into_iter().map(|(name, kind, style)| {
            let values: Vec<u64> = sums.iter().map(|sum: &[u64; 2]| sum[kind]).collect();
            let highest = values.iter().max().copied().unwrap_or_default();
            let of_minute = json!(highest as f64 * 60.0 / seconds as f64);
            Line::from(vec![
                Span::raw(format!("{name:9}")),
                Span::styled(text_of_bars(&values, highest), style),
                Span::raw(format!(" {}/min", count(&of_minute))),
            ])
        });
        rows.collect()
    }

    /// The sums of `bars` spans of so many seconds, of which the last one contains `now`.
    fn sums(&self, now: u64, bars: u64, seconds: u64) -> Vec<[u64; 2]> {
        let last = now / seconds;
        let first = (last + 1).saturating_sub(bars);
        let mut sums = vec![[0; 2]; bars as usize];
        for (start, [requests, errors]) in self.intervals.range(first * seconds..) {
            if let Some(sum) = sums.get_mut((start / seconds - first) as usize) {
                sum[0] += requests;
                sum[1] += errors;
            }
        }
        sums
    }
}

fn text_of_bars(values: &[u64], highest: u64) -> String {
    let steps = BARS.len() as u64;
    let bar = |value: &u64| match value {
        0 => NO_BAR,
        value => BARS[(value * steps).div_ceil(highest) as usize - 1],
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_of_intervals_is_a_line_of_bars() {
        let mut history = TopTrafficHistory::default();
        for (start, requests, failed) in [(0, 9, 0), (7_200, 1, 0), (7_210, 3, 0), (7_260, 8, 2)] {
            let errors = json!({"caller": 0, "gateway": failed, "upstream": failed});
            history.add(&json!({"start": start, "requests": requests, "errors": errors}));
        }
        let lines = history.lines(7_270, 80, TopPalette::Plain);
        let lines: Vec<String> = lines.iter().map(Line::to_string).collect();
        let quiet = "·".repeat(58);
        assert_eq!(
            lines,
            [
                format!("requests {quiet}▄█ 8/min"),
                format!("errors   {quiet}·█ 4/min")
            ]
        );
        let narrow = history.lines(7_270, 20, TopPalette::Plain);
        assert_eq!(narrow[0].width(), 9 + 20 + 6);
    }
}

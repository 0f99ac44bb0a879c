//! The usage in the events of a stream.

use super::{TokenUsage, UsageShape, read_at};
use crate::json::skim;

/// How much of the end of an oversize event is searched for its usage, in bytes.
pub(super) const TAIL_BYTES: usize = 4096;

/// Tracks the usage in a stream.
///
/// Counts replace earlier ones and are never added: providers repeat them, and those of the messages protocol are
/// cumulative.
#[derive(Debug)]
pub struct StreamUsageMeter {
    shape: &'static UsageShape,
    /// The counts in the first event, in which the output is not yet final.
    at_start: Option<TokenUsage>,
    latest: Option<TokenUsage>,
    /// Events since the last one with usage.
    events_after: u64,
    /// The end of an event that is too large to be parsed, as far as it has arrived.
    tail: Vec<u8>,
}

impl StreamUsageMeter {
    pub fn new(shape: &'static UsageShape) -> Self {
        Self {
            shape,
            at_start: None,
            latest: None,
            events_after: 0,
            tail: Vec::new(),
        }
    }

    /// Records an event. An event without usage costs one search through its data.
    pub fn event(&mut self, _name: Option<&[u8]>, data: &[u8]) {
        self.events_after += 1;
        if self.shape.key().find(data).is_none() {
            return;
        }
        if let Some(path) = self.shape.in_first_event {
            self.note_start(data, path);
        }
        self.note_latest(data, self.shape.in_event);
    }

    /// The usage so far.
    pub fn usage(&self) -> Option<TokenUsage> {
        match (self.latest, self.at_start) {
            (Some(latest), Some(at_start)) => Some(latest.over(at_start)),
            (latest, at_start) => latest.or(at_start),
        }
    }

    /// How many events came after the last one with usage. Those that have the start of the usage alone count, too.
    pub fn events_after_usage(&self) -> u64 {
        self.events_after
    }

    fn note_latest(&mut self, data: &[u8], path: &[&str]) {
        let found = skim::find(data, path).and_then(|range| read_at(self.shape, data, range));
        if let Some(usage) = found {
            self.set_latest(usage);
        }
    }

    fn set_latest(&mut self, usage: TokenUsage) {
        self.latest = Some(usage.over(self.latest.unwrap_or_default()));
        self.events_after = 0;
    }

    /// Records a piece of an event that is too large to be parsed, by the usage near its end: providers send it last.
    pub fn oversize_piece(&mut self, raw: &[u8]) {
        let mut tail = std::mem::take(&mut self.tail);
        if raw.len() >= TAIL_BYTES {
            tail.clear();
        }
        tail.extend_from_slice(&raw[raw.len().saturating_sub(TAIL_BYTES)..]);
        tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
        let finder = self.shape.key();
        if let Some(key) = finder.find_iter(&tail).last() {
            let after = key + finder.needle().len();
            let start = tail[after..].iter().position(|byte| *byte == b'{');
            let usage =
                start.and_then(|start| read_at(self.shape, &tail, after + start..tail.len()));
            if let Some(usage) = usage {
                self.set_latest(usage);
            }
        }
        self.tail = tail;
    }

    /// Only the first start counts: a stream may repeat it after later counts.
    fn note_start(&mut self, data: &[u8], path: &[&str]) {
        if self.at_start.is_none() {
            let found = skim::find(data, path);
            self.at_start = found.and_then(|range| read_at(self.shape, data, range));
        }
    }
}

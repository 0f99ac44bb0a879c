//! What all instances of a plugin share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::host_services::{PluginHostServices, PluginLogLevel};
use crate::log_budget::LogBudget;
use crate::metric_table::MetricTable;
use crate::settings::PluginSettings;
use crate::shared_store::SharedStore;
use crate::trap_breaker::TrapBreaker;

/// Bytes of a line of the log.
pub(crate) const LOG_LINE_MAX: usize = 4 << 10;

/// What all instances of a plugin share.
pub(crate) struct SharedInstanceResources {
    pub settings: PluginSettings,
    pub environment: Arc<dyn PluginHostServices>,
    pub store: SharedStore,
    pub metrics: MetricTable,
    pub started: Instant,
    pub counts: PluginCounts,
    log: Mutex<LogBudget>,
    breaker: Mutex<TrapBreaker>,
}

#[derive(Default)]
pub(crate) struct PluginCounts {
    pub streams: AtomicUsize,
    pub memory: AtomicUsize,
    pub http_calls: AtomicUsize,
    pub traps: AtomicU64,
    pub recycled: AtomicU64,
    pub dropped_log_lines: AtomicU64,
}

/// One of the HTTP calls that a plugin may make at a time.
pub(crate) struct HttpCallPermit(Arc<SharedInstanceResources>);

impl SharedInstanceResources {
    pub fn new(settings: PluginSettings, environment: Arc<dyn PluginHostServices>) -> Self {
        let started = Instant::now();
        Self {
            environment,
            store: SharedStore::new(settings.limits.shared),
            metrics: MetricTable::new(settings.limits.metrics),
            started,
            counts: PluginCounts::default(),
            log: Mutex::new(LogBudget::new(settings.limits.log, started)),
            breaker: Mutex::default(),
            settings,
        }
    }

    /// Logs a line of the plugin, within its limits. What is longer than a line of the log continues in further lines, so
    /// that the end of a long line, which often has the reason, is there, too.
    pub fn log(&self, level: PluginLogLevel, line: &[u8]) {
        if level < self.settings.log_level {
            return;
        }
        let mut rest = line.trim_ascii_end();
        loop {
            let part;
            (part, rest) = rest.split_at(log_line_length(rest));
            if !self.log_text(level, &printable_text(part)) {
                let parts = 1 + rest.len().div_ceil(LOG_LINE_MAX);
                let dropped = &self.counts.dropped_log_lines;
                dropped.fetch_add(parts as u64, Ordering::Relaxed);
                return;
            }
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Whether the limit has room for the text. It may be longer than a line, since a byte that cannot be printed takes three
    /// in its place.
    fn log_text(&self, level: PluginLogLevel, text: &str) -> bool {
        let mut rest = text;
        loop {
            let line;
            (line, rest) = rest.split_at(log_line_length(rest.as_bytes()));
            if !self.log_line(level, line) {
                return false;
            }
            if rest.is_empty() {
                return true;
            }
        }
    }

    /// Whether the limit has room for the line.
    fn log_line(&self, level: PluginLogLevel, line: &str) -> bool {
        let admitted = lock(&self.log).admit(line.len(), Instant::now());
        let Some(dropped) = admitted else {
            return false;
        };
        let name = &self.settings.name;
        if dropped > 0 {
            let report = format!("{dropped} lines over the plugin's limit were dropped");
            self.environment.log(name, PluginLogLevel::Warn, &report);
        }
        self.environment.log(name, level, line);
        true
    }

    /// `None` if as many calls as allowed wait for their response.
    pub fn permit_http_call(self: &Arc<Self>) -> Option<HttpCallPermit> {
        let max = self.settings.limits.http_calls;
        let running = &self.counts.http_calls;
        let admitted = running.fetch_update(Ordering::AcqRel, Ordering::Acquire, |calls| {
            (calls < max).then_some(calls + 1)
        });
        admitted.is_ok().then(|| HttpCallPermit(Arc::clone(self)))
    }

    pub fn breaker(&self) -> MutexGuard<'_, TrapBreaker> {
        lock(&self.breaker)
    }
}

/// A line break as a space, and a replacement character for whatever else cannot be printed.
fn printable_text(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let printable = text.chars().map(|character| match character {
        '\t' => character,
        '\n' | '\r' => ' ',
        control if control.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    });
    printable.collect()
}

/// How much of a text is one line of the log: all of it, or at most [`LOG_LINE_MAX`] bytes that end with a whole
/// character.
pub(crate) fn log_line_length(text: &[u8]) -> usize {
    if text.len() <= LOG_LINE_MAX {
        return text.len();
    }
    let is_start = |at: &usize| text[*at] & 0xC0 != 0x80;
    // A character has at most four bytes; text without one is cut anywhere.
    let mut places = (LOG_LINE_MAX - 3..=LOG_LINE_MAX).rev();
    places.find(is_start).unwrap_or(LOG_LINE_MAX)
}

impl Drop for HttpCallPermit {
    fn drop(&mut self) {
        self.0.counts.http_calls.fetch_sub(1, Ordering::AcqRel);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

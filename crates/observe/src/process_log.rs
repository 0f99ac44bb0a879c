//! The process log: JSON lines on standard error, filtered by `RUST_LOG` until an operator changes the filter.
//!
//! Events of libraries are logged at `error` only, regardless of `RUST_LOG`: below that level Pingora, h2 and rustls
//! log raw heads and frames, which contain keys.

use super::bounded::{FIELD_BYTES_MAX, cleaned};
use super::line_writer::{BackgroundLineWriter, LogSink};
use super::log_filter::LogFilterControl;
use crate::log_target::{OWN_TARGET, displayed_target, with_crate_targets};
use headgate_core::timestamp::rfc3339;
use serde_json::Value;
use std::fmt::{self, Debug};
use std::time::SystemTime;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{EnvFilter, LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

/// Maximum level for libraries. Their errors concern connections, files and TLS alerts, and quote no request data.
const LIBRARIES_MAX: LevelFilter = LevelFilter::ERROR;
/// Logged whatever `RUST_LOG` is: who did what on the admin pages.
const AUDIT_DIRECTIVE: &str = "headgate::audit=info";
/// Used if `RUST_LOG` is not set or invalid.
const DEFAULT_DIRECTIVES: &str = "error,headgate=info";
/// Maximum length of a message in bytes: a message may contain a report about the configuration.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Maximum length of a line of a plugin, in bytes: plugins log longer ones in several lines.
const PLUGIN_LINE_BYTES_MAX: usize = 4 << 10;

/// The process log, and what changes its filter.
pub struct ProcessLog {
    pub lines: BackgroundLineWriter,
    pub filter: LogFilterControl,
}

/// Starts logging. Call once per process.
pub fn start() -> ProcessLog {
    let log = BackgroundLineWriter::start(LogSink::Stderr);
    let writer = log.clone();
    let wanted = std::env::var(EnvFilter::DEFAULT_ENV).ok();
    let filter = wanted.as_deref().map(EnvFilter::try_new);
    let is_readable = !matches!(filter, Some(Err(_)));
    let filter = filter.and_then(Result::ok);
    let is_used = filter.is_some();
    let usual = wanted.as_deref().filter(|_| is_used);
    let usual = usual.unwrap_or(DEFAULT_DIRECTIVES).to_owned();
    let (filter, cap) = filters(&usual);
    let (filter, reload_filter) = reload::Layer::new(filter);
    let (cap, reload_cap) = reload::Layer::new(cap);
    let lines = tracing_subscriber::fmt::layer()
        .event_format(JsonEventFormat)
        .with_writer(move || writer.clone())
        .log_internal_errors(false);
    tracing_subscriber::registry()
        .with(filter)
        .with(cap)
        .with(lines)
        .init();
    let apply = move |directives: &str| {
        let (filter, cap) = filters(directives);
        // Fails only without a subscriber, which lasts as long as the process.
        let _ = reload_filter.reload(filter);
        let _ = reload_cap.reload(cap);
    };
    if !is_readable {
        tracing::warn!("invalid RUST_LOG; using `{DEFAULT_DIRECTIVES}`");
    } else if wanted.as_deref().is_some_and(asks_too_much) {
        tracing::warn!(
            "RUST_LOG asks for library events that contain credentials; libraries are logged at level `error` only"
        );
    }
    ProcessLog {
        lines: log,
        filter: LogFilterControl::new(usual, Box::new(apply)),
    }
}

/// The filters for these directives: what is selected, and what libraries may log.
fn filters(directives: &str) -> (EnvFilter, Targets) {
    let audit = AUDIT_DIRECTIVE
        .parse()
        .expect("the directive is a constant");
    let filter = EnvFilter::new(with_crate_targets(directives)).add_directive(audit);
    let cap = cap_of_libraries(&filter);
    (filter, cap)
}

/// Caps library events at [`LIBRARIES_MAX`], and own events at the level that the filter passes anyway. The higher of
/// the two levels applies to the `log` crate, and decides whether Pingora builds an event for each piece of a body
/// before the filter can reject it.
fn cap_of_libraries(filter: &EnvFilter) -> Targets {
    let own_max = filter.max_level_hint().unwrap_or(LevelFilter::TRACE);
    Targets::new()
        .with_target(OWN_TARGET, own_max)
        .with_default(LIBRARIES_MAX)
}

/// Whether a directive asks for library events below [`LIBRARIES_MAX`].
fn asks_too_much(directives: &str) -> bool {
    directives.split(',').any(|directive| {
        let (target, level) = match directive.trim().rsplit_once('=') {
            Some((target, level)) => (target, level),
            None => ("", directive.trim()),
        };
        let is_verbose = level
            .parse::<Level>()
            .is_ok_and(|level| level > Level::INFO);
        is_verbose && !target.starts_with(OWN_TARGET)
    })
}

/// Formats an event as one line: `time`, `level`, its fields, `target`.
struct JsonEventFormat;

impl<S, N> FormatEvent<S, N> for JsonEventFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let level = metadata.level().as_str();
        write!(
            writer,
            r#"{{"time":"{}","level":"{level}""#,
            rfc3339(SystemTime::now())
        )?;
        for (name, value) in &fields.values {
            write!(writer, r#","{name}":{value}"#)?;
        }
        let target = fields.logged_by.as_deref().unwrap_or(metadata.target());
        writeln!(
            writer,
            r#","target":{}}}"#,
            Value::from(displayed_target(target))
        )
    }
}

#[derive(Default)]
struct EventFields {
    /// Names are identifiers, which need no JSON escaping.
    values: Vec<(&'static str, Value)>,
    /// The target of an event that came through the `log` crate.
    logged_by: Option<String>,
}

impl EventFields {
    fn text(&mut self, field: &Field, text: &str) {
        let most = match field.name() {
            "message" => MESSAGE_BYTES_MAX,
            "line" => PLUGIN_LINE_BYTES_MAX,
            _ => FIELD_BYTES_MAX,
        };
        self.add(field, cleaned(text.as_bytes(), most).into());
    }

    fn add(&mut self, field: &Field, value: Value) {
        self.values.push((field.name(), value));
    }
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "log.target" => self.logged_by = Some(value.into()),
            name if name.starts_with("log.") => {}
            _ => self.text(field, value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if !field.name().starts_with("log.") {
            self.text(field, &format!("{value:?}"));
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if !field.name().starts_with("log.") {
            self.add(field, value.into());
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_is_prepared_that_the_filter_refuses() {
        for (directives, expected) in [
            (DEFAULT_DIRECTIVES, LevelFilter::INFO),
            ("error", LevelFilter::ERROR),
            ("headgate=debug", LevelFilter::DEBUG),
            ("trace", LevelFilter::TRACE),
        ] {
            let filter = EnvFilter::new(with_crate_targets(directives));
            let cap = cap_of_libraries(&filter);
            let subscriber = tracing_subscriber::registry().with(filter).with(cap);
            let level = subscriber.max_level_hint();
            assert_eq!(level, Some(expected), "{directives}");
        }
    }

    #[test]
    fn directives_that_lower_the_level_of_libraries_are_reported() {
        for (directives, expected) in [
            ("", false),
            ("info", false),
            ("headgate=trace", false),
            ("warn, headgate::gateway=debug", false),
            ("headgate[span]=trace", false),
            ("trace", true),
            ("DEBUG", true),
            ("headgate=info,h2=debug", true),
            ("[{}]=trace", true),
            ("pingora_core::protocols=TRACE", true),
            ("h2=off", false),
        ] {
            assert_eq!(asks_too_much(directives), expected, "{directives}");
        }
    }
}

//! Metrics of callers: what each of them takes of the gateway.

use foldhash::fast::RandomState;
use headgate_core::feature::metrics::registered;
use headgate_protocol::usage::TokenUsage;
use prometheus::{Counter, CounterVec, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Requests, their time and their tokens, by caller.
pub struct CallerMetrics {
    requests: IntCounterVec,
    seconds: CounterVec,
    tokens: IntCounterVec,
    in_flight: IntGaugeVec,
    /// Caches series, because a lookup by labels costs more than counting.
    series: RwLock<HashMap<Box<str>, Arc<CallerSeries>, RandomState>>,
}

/// The series of one caller.
struct CallerSeries {
    requests: IntCounter,
    seconds: Counter,
    input: IntCounter,
    output: IntCounter,
}

impl CallerMetrics {
    pub fn new(registry: &Registry) -> Self {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        Self {
            requests: counter(
                "headgate_caller_requests_total",
                "Finished requests of a caller.",
                &["caller"],
            ),
            seconds: registered(
                registry,
                CounterVec::new(
                    Opts::new(
                        "headgate_caller_request_seconds_total",
                        "Time that requests of a caller took together, in seconds; its rate is the mean number of requests in flight.",
                    ),
                    &["caller"],
                ),
            ),
            tokens: counter(
                "headgate_caller_tokens_total",
                "Tokens of a caller as reported by providers; input includes those of the provider's cache.",
                &["caller", "kind"],
            ),
            in_flight: registered(
                registry,
                IntGaugeVec::new(
                    Opts::new(
                        "headgate_caller_in_flight",
                        "Requests of a caller in flight.",
                    ),
                    &["caller"],
                ),
            ),
            series: RwLock::default(),
        }
    }

    /// Sets the requests in flight of `all` callers; `callers` has the caller of each request.
    pub fn set_in_flight<'a>(
        &self,
        all: impl Iterator<Item = &'a str>,
        callers: impl Iterator<Item = &'a str>,
    ) {
        self.in_flight.reset();
        for caller in all {
            self.in_flight.with_label_values(&[caller]).set(0);
        }
        for caller in callers {
            self.in_flight.with_label_values(&[caller]).inc();
        }
    }

    /// Counts a finished exchange of `caller`, a name from the configuration.
    pub fn count(&self, caller: &str, total: Duration, usage: Option<&TokenUsage>) {
        let series = self.caller_series(caller);
        series.requests.inc();
        series.seconds.inc_by(total.as_secs_f64());
        if let Some(usage) = usage {
            let input = usage.input_with_cache();
            series.input.inc_by(input.unwrap_or(0));
            series.output.inc_by(usage.output_tokens.unwrap_or(0));
        }
    }

    fn caller_series(&self, caller: &str) -> Arc<CallerSeries> {
        let known = self.series.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.get(caller) {
            return series.clone();
        }
        drop(known);
        let tokens = |kind: &str| self.tokens.with_label_values(&[caller, kind]);
        let series = Arc::new(CallerSeries {
            requests: self.requests.with_label_values(&[caller]),
            seconds: self.seconds.with_label_values(&[caller]),
            input: tokens("input"),
            output: tokens("output"),
        });
        self.series
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(caller.into(), series.clone());
        series
    }
}

//! Metrics of callers: what each of them takes of the gateway.

use foldhash::fast::RandomState;
use headgate_core::feature::metrics::registered;
use headgate_core::state::lock::lock;
use headgate_core::thread_shards::ThreadShards;
use headgate_protocol::usage::TokenUsage;
use prometheus::local::{LocalCounter, LocalIntCounter};
use prometheus::{CounterVec, IntCounterVec, IntGaugeVec, Opts, Registry};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

/// Requests, their time and their tokens, by caller.
pub struct CallerMetrics {
    requests: IntCounterVec,
    seconds: CounterVec,
    tokens: IntCounterVec,
    in_flight: IntGaugeVec,
    /// What each thread has counted since the metrics were read.
    series: ThreadShards<Mutex<HashMap<Box<str>, CallerSeries, RandomState>>>,
}

/// The series of one caller, which one thread raises.
struct CallerSeries {
    requests: LocalIntCounter,
    seconds: LocalCounter,
    input: LocalIntCounter,
    output: LocalIntCounter,
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
            series: ThreadShards::default(),
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
        let mut known = lock(self.series.own());
        if !known.contains_key(caller) {
            known.insert(caller.into(), self.new_series(caller));
        }
        let series = &known[caller];
        series.requests.inc();
        series.seconds.inc_by(total.as_secs_f64());
        if let Some(usage) = usage {
            let input = usage.input_with_cache();
            series.input.inc_by(input.unwrap_or(0));
            series.output.inc_by(usage.output_tokens.unwrap_or(0));
        }
    }

    /// Adds what all threads have counted to the metrics.
    pub(super) fn flush(&self) {
        for series in self.series.iter() {
            for series in lock(series).values() {
                for counter in [&series.requests, &series.input, &series.output] {
                    counter.flush();
                }
                series.seconds.flush();
            }
        }
    }

    fn new_series(&self, caller: &str) -> CallerSeries {
        let tokens = |kind: &str| self.tokens.with_label_values(&[caller, kind]).local();
        CallerSeries {
            requests: self.requests.with_label_values(&[caller]).local(),
            seconds: self.seconds.with_label_values(&[caller]).local(),
            input: tokens("input"),
            output: tokens("output"),
        }
    }
}

//! The series of finished exchanges, in which each thread counts for itself until the metrics are read.

use crate::exchange_labels::{ExchangeLabels, ExchangeSeriesKey};
use crate::finished_exchange::FinishedExchange;
use crate::token_metrics::TokenSeries;
use crate::wait_times::WaitTimeSeries;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use headgate_core::state::lock::lock;
use headgate_core::thread_shards::ThreadShards;
use prometheus::local::{LocalHistogram, LocalIntCounter};
use std::sync::Mutex;

/// The series that threads have counted in, by their labels: a lookup in the metrics costs more than counting.
#[derive(Default)]
pub(super) struct ThreadExchangeSeries(ThreadShards<Mutex<ExchangeSeriesMap>>);

type ExchangeSeriesMap = HashMap<ExchangeSeriesKey, ExchangeSeries, RandomState>;

/// The series of exchanges with one set of labels, which one thread raises.
pub(super) struct ExchangeSeries {
    pub requests: LocalIntCounter,
    pub settlements: LocalIntCounter,
    pub duration: LocalHistogram,
    pub first_byte: LocalHistogram,
    pub time: WaitTimeSeries,
    pub tokens: TokenSeries,
}

impl ThreadExchangeSeries {
    /// Counts an exchange in the series of `labels`, which `first` makes if the thread has none.
    pub fn count(
        &self,
        exchange: &FinishedExchange<'_>,
        labels: ExchangeLabels<&str>,
        first: impl FnOnce() -> ExchangeSeries,
    ) {
        let mut all = lock(self.0.own());
        if let Some(series) = all.get(&labels) {
            series.count(exchange);
            return;
        }
        let series = first();
        series.count(exchange);
        all.insert(labels.to_key(), series);
    }

    /// Adds what all threads have counted to the metrics.
    pub fn flush(&self) {
        for all in self.0.iter() {
            lock(all).values().for_each(ExchangeSeries::flush);
        }
    }
}

impl ExchangeSeries {
    fn count(&self, exchange: &FinishedExchange<'_>) {
        self.requests.inc();
        self.settlements.inc();
        self.duration.observe(exchange.total.as_secs_f64());
        self.time.observe(&exchange.wait_times);
        if let Some(first_byte) = exchange.first_byte {
            self.first_byte.observe(first_byte.as_secs_f64());
        }
        if let Some(usage) = exchange.usage_of_model() {
            self.tokens.count(usage);
        }
    }

    fn flush(&self) {
        self.requests.flush();
        self.settlements.flush();
        self.duration.flush();
        self.first_byte.flush();
        self.time.flush();
        self.tokens.flush();
    }
}

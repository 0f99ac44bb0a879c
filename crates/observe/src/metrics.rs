//! Prometheus metrics. Label values come from the configuration or from fixed sets; everything else is `other`.

mod batches;
mod duration_buckets;
mod exchange_series;
pub mod fault_counters;

use super::admin_metrics::AdminMetrics;
use super::caller_metrics::CallerMetrics;
use super::captures::ExchangeCaptures;
use super::certificate_metrics::CertificateMetrics;
use super::channel_metrics::ChannelMetrics;
use super::cost_metrics::CostMetrics;
use super::create_metrics::PaidCreateMetrics;
use super::credential_metrics::CredentialMetrics;
use super::exchange_labels::ExchangeLabels;
use super::fallback_metrics::FallbackMetrics;
use super::finished_exchange::FinishedExchange;
use super::open_requests::OpenRequests;
use super::process_metrics::ProcessMetrics;
use super::prompt_cache_metrics::PromptCacheMetrics;
use super::response_cache_metrics::ResponseCacheMetrics;
use super::service_metrics::ServiceCallMetrics;
use super::spool_metrics::SpoolMetrics;
use super::state_metrics::StateStoreMetrics;
use super::thread_counters::ThreadCounterVec;
use super::token_metrics::TokenMetrics;
use super::trace_metrics::TraceExportMetrics;
use super::traffic::TrafficHistory;
use super::translation_metrics::TranslationMetrics;
use super::wait_times::WaitTimeMetrics;
use super::websocket_metrics::WebSocketMetrics;
use duration_buckets::DURATION_BUCKETS;
use exchange_series::{ExchangeSeries, ThreadExchangeSeries};
use headgate_core::feature::exchange_recorder::ExchangeRecorder;
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use headgate_core::feature::{FeatureList, FeatureTypeMap};
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::QuotaDecision;
use headgate_core::state::health::StoreHealthReport;
use headgate_core::thread_shards::ThreadGauge;
use prometheus::{
    Encoder, Gauge, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    Opts, Registry, TextEncoder,
};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Label value for requests without a route, channel or model.
const OTHER: &str = "other";

/// All metrics of the process.
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    first_bytes: HistogramVec,
    tokens: TokenMetrics,
    attempts: ThreadCounterVec,
    settlements: IntCounterVec,
    validation_failures: IntCounterVec,
    dns_lookups: IntCounterVec,
    rate_limited: IntCounterVec,
    limits_unchecked: IntCounterVec,
    in_flight: ThreadGauge,
    in_flight_shown: IntGauge,
    connections: IntGauge,
    streams_moved: IntCounter,
    reloads: IntCounterVec,
    reload_succeeded: IntGauge,
    reload_time: Gauge,
    revision: GaugeVec,
    log_dropped: IntCounter,
    pub traffic: TrafficHistory,
    pub open_requests: OpenRequests,
    pub captures: ExchangeCaptures,
    pub admin: AdminMetrics,
    pub callers: CallerMetrics,
    pub certificates: CertificateMetrics,
    pub credentials: CredentialMetrics,
    pub channels: ChannelMetrics,
    pub costs: CostMetrics,
    pub creates: PaidCreateMetrics,
    pub fallbacks: FallbackMetrics,
    pub prompt_cache: PromptCacheMetrics,
    pub response_cache: ResponseCacheMetrics,
    pub spool: SpoolMetrics,
    pub traces: TraceExportMetrics,
    pub translations: TranslationMetrics,
    pub services: Arc<ServiceCallMetrics>,
    pub websockets: WebSocketMetrics,
    time: WaitTimeMetrics,
    state: StateStoreMetrics,
    process: ProcessMetrics,
    features: Vec<Box<dyn FeatureMetrics>>,
    recorders: Vec<Arc<dyn ExchangeRecorder>>,
    series: ThreadExchangeSeries,
}

impl Metrics {
    /// All metrics, with those of the features, which find what they measure in `shared`.
    pub fn new(features: FeatureList, shared: &FeatureTypeMap) -> Self {
        let registry = Registry::new();
        let labelled = ["route", "channel", "model"];
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(&registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        let histogram = |name: &str, help: &str, labels: &[&str]| {
            let opts = HistogramOpts::new(name, help).buckets(DURATION_BUCKETS.to_vec());
            registered(&registry, HistogramVec::new(opts, labels))
        };
        let gauge = |name: &str, help: &str| registered(&registry, IntGauge::new(name, help));
        Self {
            requests: counter(
                "headgate_requests_total",
                "Finished requests, by status class.",
                &["route", "channel", "model", "status_class"],
            ),
            durations: histogram(
                "headgate_request_duration_seconds",
                "Time from the request header to the end of the response, in seconds.",
                &labelled,
            ),
            first_bytes: histogram(
                "headgate_first_byte_seconds",
                "Time from the request header to the first byte of the response body, in seconds.",
                &labelled,
            ),
            tokens: TokenMetrics::new(&registry),
            attempts: ThreadCounterVec::new(
                &registry,
                "headgate_attempts_total",
                "Attempts on channels, by outcome.",
                &["channel", "outcome"],
            ),
            settlements: counter(
                "headgate_settlements_total",
                "Finished requests by how they ended; the sum equals headgate_requests_total.",
                &["route", "settlement"],
            ),
            validation_failures: counter(
                "headgate_validation_failures_total",
                "Requests that failed schema validation.",
                &["route"],
            ),
            dns_lookups: counter(
                "headgate_dns_lookups_total",
                "DNS lookups of provider hosts, by result.",
                &["host", "result"],
            ),
            rate_limited: counter(
                "headgate_rate_limited_total",
                "Requests refused by a limit of their caller.",
                &["caller", "limit"],
            ),
            limits_unchecked: counter(
                "headgate_limits_unchecked_total",
                "Requests whose limits were not checked because the state store was unreachable.",
                &["caller"],
            ),
            in_flight: ThreadGauge::default(),
            in_flight_shown: gauge("headgate_in_flight", "Requests in flight."),
            connections: gauge("headgate_connections", "Open client connections."),
            streams_moved: registered(
                &registry,
                IntCounter::new(
                    "headgate_streams_moved_total",
                    "HTTP/2 streams that ran on another worker than their connection.",
                ),
            ),
            reloads: counter(
                "headgate_config_reloads_total",
                "Configuration loads, by result.",
                &["result"],
            ),
            reload_succeeded: gauge(
                "headgate_config_last_reload_successful",
                "1 if the last configuration load succeeded, else 0.",
            ),
            reload_time: registered(
                &registry,
                Gauge::new(
                    "headgate_config_last_reload_timestamp_seconds",
                    "Unix time of the last successful configuration load, in seconds.",
                ),
            ),
            revision: registered(
                &registry,
                GaugeVec::new(
                    Opts::new(
                        "headgate_config_info",
                        "1 for the configuration revision in use.",
                    ),
                    &["revision"],
                ),
            ),
            log_dropped: registered(
                &registry,
                IntCounter::new(
                    "headgate_access_log_dropped_total",
                    "Dropped access log lines.",
                ),
            ),
            traffic: TrafficHistory::default(),
            open_requests: OpenRequests::default(),
            captures: ExchangeCaptures::default(),
            admin: AdminMetrics::new(&registry),
            callers: CallerMetrics::new(&registry),
            certificates: CertificateMetrics::new(&registry),
            credentials: CredentialMetrics::new(&registry),
            channels: ChannelMetrics::new(&registry),
            time: WaitTimeMetrics::new(&registry),
            costs: CostMetrics::new(&registry),
            creates: PaidCreateMetrics::new(&registry),
            fallbacks: FallbackMetrics::new(&registry),
            prompt_cache: PromptCacheMetrics::new(&registry),
            response_cache: ResponseCacheMetrics::new(&registry),
            spool: SpoolMetrics::new(&registry),
            websockets: WebSocketMetrics::new(&registry),
            traces: TraceExportMetrics::new(&registry),
            translations: TranslationMetrics::new(&registry),
            services: Arc::new(ServiceCallMetrics::new(&registry)),
            state: StateStoreMetrics::new(&registry),
            process: ProcessMetrics::new(&registry),
            features: features.register_metrics(&registry, shared),
            recorders: features.exchange_recorders(shared),
            series: ThreadExchangeSeries::default(),
            registry,
        }
    }

    /// Counts a finished exchange.
    pub fn count_exchange(&self, exchange: &FinishedExchange<'_>) {
        let labels = ExchangeLabels {
            route: exchange.route,
            channel: exchange.channel.unwrap_or(OTHER),
            model: exchange.model.unwrap_or(OTHER),
            protocol: exchange.protocol,
            class: exchange.status / 100,
            settlement: exchange.settlement,
        };
        let first = || self.new_series(labels);
        self.series.count(exchange, labels, first);
        self.traffic.count(exchange);
        self.record_use(|| exchange.recorded_use());
    }

    /// Counts a request that matched no route.
    pub fn count_unrouted(&self, status: u16) {
        let class = format!("{}xx", status / 100);
        self.requests
            .with_label_values(&[OTHER, OTHER, OTHER, &class])
            .inc();
        self.settlements
            .with_label_values(&[OTHER, ExchangeSettlement::GatewayReply.name()])
            .inc();
    }

    /// Counts an attempt. `channel` is a configured name, `outcome` one of the gateway's fixed values.
    pub fn attempt(&self, channel: &str, outcome: &str) {
        self.attempts.inc(&[channel, outcome]);
    }

    pub fn validation_failure(&self, route: &str) {
        self.validation_failures.with_label_values(&[route]).inc();
    }

    /// Counts a DNS lookup of `host`, a name from the configuration.
    pub fn count_dns_lookup(&self, host: &str, found: bool) {
        let result = if found { "found" } else { "failed" };
        self.dns_lookups.with_label_values(&[host, result]).inc();
    }

    /// Counts requests that the caller's limits refused or that were not checked.
    pub fn quota(&self, caller: &str, decision: QuotaDecision) {
        if let Some(limit) = decision.refusing_limit() {
            self.rate_limited(caller, limit);
        } else if decision == QuotaDecision::Unchecked {
            self.limits_unchecked.with_label_values(&[caller]).inc();
        }
    }

    /// Counts a request that `limit` refused.
    pub fn rate_limited(&self, caller: &str, limit: &str) {
        self.rate_limited.with_label_values(&[caller, limit]).inc();
    }

    /// Number of exchanges in progress.
    pub fn in_flight(&self) -> &ThreadGauge {
        &self.in_flight
    }

    /// Number of open client connections.
    pub fn connections(&self) -> &IntGauge {
        &self.connections
    }

    /// Number of HTTP/2 streams that ran on another worker than their connection.
    pub fn streams_moved(&self) -> &IntCounter {
        &self.streams_moved
    }

    /// Records that the configuration was loaded, and that `revision` is in use.
    pub fn reloaded(&self, revision: &str) {
        self.reloads.with_label_values(&["success"]).inc();
        self.reload_succeeded.set(1);
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        self.reload_time.set(now.as_secs_f64());
        self.revision.reset();
        self.revision.with_label_values(&[revision]).set(1.0);
    }

    /// Records that the configuration could not be loaded and the previous one stays in use.
    pub fn reload_refused(&self) {
        self.reloads.with_label_values(&["refused"]).inc();
        self.reload_succeeded.set(0);
    }

    /// All metrics in Prometheus' text format, updated with the counts of features, of the access log and of the state store.
    pub fn render(&self, log_dropped: u64, state: &StoreHealthReport) -> Vec<u8> {
        raise(&self.log_dropped, log_dropped);
        self.in_flight_shown.set(self.in_flight.sum());
        self.flush();
        self.state.update(state);
        self.process.update();
        self.update_features();
        let mut text = Vec::new();
        TextEncoder::new()
            .encode(&self.registry.gather(), &mut text)
            .expect("writing to memory does not fail");
        for feature in &self.features {
            text.extend_from_slice(feature.text().as_bytes());
        }
        text
    }

    /// Adds what threads have counted to what is read.
    fn flush(&self) {
        self.series.flush();
        self.attempts.flush();
        self.callers.flush();
    }

    fn new_series(&self, labels: ExchangeLabels<&str>) -> ExchangeSeries {
        let ExchangeLabels {
            route,
            channel,
            model,
            protocol,
            class,
            settlement,
        } = labels;
        let class = format!("{class}xx");
        let labels = [route, channel, model];
        ExchangeSeries {
            requests: self
                .requests
                .with_label_values(&[route, channel, model, &class])
                .local(),
            settlements: self
                .settlements
                .with_label_values(&[route, settlement.name()])
                .local(),
            duration: self.durations.with_label_values(&labels).local(),
            first_byte: self.first_bytes.with_label_values(&labels).local(),
            time: self.time.series(channel),
            tokens: self.tokens.series(channel, model, protocol),
        }
    }
}

/// Without features.
impl Default for Metrics {
    fn default() -> Self {
        Self::new(FeatureList::new(&[]), &FeatureTypeMap::default())
    }
}

#[cfg(test)]
mod tests;

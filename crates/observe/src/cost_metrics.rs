//! Metrics of what exchanges cost.

use headgate_core::catalog::price::{Cost, ExchangeCost};
use headgate_core::feature::metrics::{CostChange, registered};
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Counter, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{IntCounterVec, Opts, Registry};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

const COST: (&str, &str) = (
    "headgate_cost_total",
    "Cost of requests by the prices of the configuration, in the currency of the label.",
);
const REFUNDED: (&str, &str) = (
    "headgate_cost_refunded_total",
    "What video tasks cost less than was counted in headgate_cost_total when they were created, in the currency of the label.",
);
/// Billionths in a currency's unit.
const NANOS: f64 = 1e9;
/// Label value for requests without a caller.
pub(super) const OTHER: &str = "other";

/// What exchanges cost, and how many have no cost because their model has no price.
pub struct CostMetrics {
    costs: Arc<CostSums>,
    refunded: Arc<CostSums>,
    unpriced: IntCounterVec,
}

/// The labels of an exchange's cost. `caller` is `None` on routes without authentication.
#[derive(Clone, Copy)]
pub struct CostLabels<'a> {
    pub caller: Option<&'a str>,
    pub model: &'a str,
    pub channel: &'a str,
    pub currency: &'a str,
}

/// Sums in billionths, by labels. They are searched by a hash of the labels, so that adding to a sum allocates nothing.
pub(super) struct CostSums {
    sums: RwLock<HashMap<u64, Vec<CostSum>>>,
    desc: Desc,
}

struct CostSum {
    caller: Box<str>,
    model: Box<str>,
    channel: Box<str>,
    currency: Box<str>,
    nanos: AtomicU64,
}

/// What the registry collects from.
struct CostCollector(Arc<CostSums>);

impl CostMetrics {
    /// The counters that findings are made of.
    pub(super) fn fault_counters(&self) -> Vec<MetricFamily> {
        let costs = CostCollector(self.costs.clone()).collect();
        [costs, self.unpriced.collect()].concat()
    }

    pub fn new(registry: &Registry) -> Self {
        let sums = |(name, help): (&str, &str)| CostSums::new(registry, name, help);
        let unpriced = Opts::new(
            "headgate_unpriced_requests_total",
            "Requests without a cost, because what the provider reports of them has no price.",
        );
        Self {
            costs: sums(COST),
            refunded: sums(REFUNDED),
            unpriced: registered(
                registry,
                IntCounterVec::new(unpriced, &["channel", "model"]),
            ),
        }
    }

    /// Counts a finished exchange on a channel, in a configuration with prices.
    pub fn count(&self, labels: CostLabels<'_>, priced: ExchangeCost) {
        match priced {
            ExchangeCost::Unmetered => {}
            ExchangeCost::Unpriced => self.count_unpriced(labels.channel, labels.model, 1),
            ExchangeCost::Priced(cost) => self.costs.add(labels, cost),
        }
    }

    /// Counts what has no price.
    pub fn count_unpriced(&self, channel: &str, model: &str, count: u64) {
        if count > 0 {
            self.unpriced
                .with_label_values(&[channel, model])
                .inc_by(count);
        }
    }

    /// Counts by how much the costs of earlier exchanges have changed.
    pub fn change(&self, change: &CostChange) {
        let labels = CostLabels {
            caller: Some(&change.labels.caller),
            model: &change.labels.model,
            channel: &change.labels.channel,
            currency: &change.labels.currency,
        };
        for (sums, nanos) in [
            (&self.costs, change.added),
            (&self.refunded, change.refunded),
        ] {
            if nanos > 0 {
                sums.add(labels, Cost(nanos));
            }
        }
    }
}

impl CostLabels<'_> {
    /// FNV-1a with an end after each label: names of a configuration are short, and nobody attacks with them.
    fn hash(&self) -> u64 {
        const END: u8 = 0xff;
        let caller = self.caller.unwrap_or(OTHER);
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for label in [caller, self.model, self.channel, self.currency] {
            for byte in label.bytes().chain([END]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }
}

impl CostSums {
    /// Registers a counter of costs.
    pub fn new(registry: &Registry, name: &str, help: &str) -> Arc<Self> {
        let labels = ["caller", "model", "channel", "currency"].map(String::from);
        let desc = Desc::new(name.into(), help.into(), labels.to_vec(), HashMap::new());
        let sums = Arc::new(Self {
            sums: RwLock::default(),
            desc: desc.expect("names and labels are constants"),
        });
        registry
            .register(Box::new(CostCollector(sums.clone())))
            .expect("each metric is registered once");
        sums
    }

    /// Calls `read` with each sum.
    pub fn each(&self, mut read: impl FnMut(CostLabels<'_>, Cost)) {
        let sums = self.sums.read().unwrap_or_else(PoisonError::into_inner);
        for sum in sums.values().flatten() {
            let labels = CostLabels {
                caller: Some(&sum.caller),
                model: &sum.model,
                channel: &sum.channel,
                currency: &sum.currency,
            };
            read(labels, Cost(sum.nanos.load(Ordering::Relaxed)));
        }
    }

    pub fn add(&self, labels: CostLabels<'_>, Cost(nanos): Cost) {
        let hash = labels.hash();
        let sums = self.sums.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(sum) = sums.get(&hash).and_then(|sums| find_sum(sums, labels)) {
            sum.nanos.fetch_add(nanos, Ordering::Relaxed);
            return;
        }
        drop(sums);
        let mut sums = self.sums.write().unwrap_or_else(PoisonError::into_inner);
        let sums = sums.entry(hash).or_default();
        // Another thread may have been faster.
        match find_sum(sums, labels) {
            Some(sum) => {
                sum.nanos.fetch_add(nanos, Ordering::Relaxed);
            }
            None => sums.push(CostSum {
                caller: labels.caller.unwrap_or(OTHER).into(),
                model: labels.model.into(),
                channel: labels.channel.into(),
                currency: labels.currency.into(),
                nanos: AtomicU64::new(nanos),
            }),
        }
    }
}

/// The sum of these labels among those with the same hash.
fn find_sum<'s>(sums: &'s [CostSum], labels: CostLabels<'_>) -> Option<&'s CostSum> {
    sums.iter().find(|sum| {
        *sum.caller == *labels.caller.unwrap_or(OTHER)
            && *sum.model == *labels.model
            && *sum.channel == *labels.channel
            && *sum.currency == *labels.currency
    })
}

impl Collector for CostCollector {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.0.desc]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let sums = self.0.sums.read().unwrap_or_else(PoisonError::into_inner);
        let metrics = sums.values().flatten().map(metric).collect();
        let mut family = MetricFamily::default();
        family.set_name(self.0.desc.fq_name.clone());
        family.set_help(self.0.desc.help.clone());
        family.set_field_type(MetricType::COUNTER);
        family.set_metric(metrics);
        vec![family]
    }
}

fn metric(sum: &CostSum) -> Metric {
    // In the order of their names.
    let labels = [
        ("caller", &sum.caller),
        ("channel", &sum.channel),
        ("currency", &sum.currency),
        ("model", &sum.model),
    ];
    let labels = labels.map(|(name, value)| {
        let mut label = LabelPair::default();
        label.set_name(name.into());
        label.set_value(value.to_string());
        label
    });
    let mut counter = Counter::default();
    counter.set_value(sum.nanos.load(Ordering::Relaxed) as f64 / NANOS);
    let mut metric = Metric::from_label(labels.to_vec());
    metric.set_counter(counter);
    metric
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::{Encoder, TextEncoder};

    #[test]
    fn sums_are_exact_and_each_set_of_labels_has_its_own() {
        let registry = Registry::new();
        let metrics = CostMetrics::new(&registry);
        let labels = |caller, model| CostLabels {
            caller,
            model,
            channel: "main",
            currency: "USD",
        };
        for _ in 0..10 {
            let cost = ExchangeCost::Priced(Cost(100_000_000));
            metrics.count(labels(Some("ann"), "demo"), cost);
        }
        // These labels are the same text, one after the other.
        metrics.count(labels(Some("an"), "ndemo"), ExchangeCost::Priced(Cost(1)));
        // A caller may have the name that stands for none.
        metrics.count(
            labels(None, "demo"),
            ExchangeCost::Priced(Cost(1_000_000_000)),
        );
        metrics.count(
            labels(Some(OTHER), "demo"),
            ExchangeCost::Priced(Cost(1_000_000_000)),
        );
        metrics.count(labels(None, "demo"), ExchangeCost::Unpriced);
        metrics.count(labels(None, "demo"), ExchangeCost::Unmetered);
        let mut text = Vec::new();
        let encoder = TextEncoder::new();
        encoder.encode(&registry.gather(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for line in [
            "# TYPE headgate_cost_total counter",
            r#"headgate_cost_total{caller="ann",channel="main",currency="USD",model="demo"} 1"#,
            r#"headgate_cost_total{caller="other",channel="main",currency="USD",model="demo"} 2"#,
            r#"headgate_cost_total{caller="an",channel="main",currency="USD",model="ndemo"} 0.000000001"#,
            r#"headgate_unpriced_requests_total{channel="main",model="demo"} 1"#,
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
    }
}

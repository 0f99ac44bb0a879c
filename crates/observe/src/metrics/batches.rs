//! What is counted of batches, and of what features settle beside requests: tokens and costs of each model.

use super::Metrics;
use crate::cost_metrics::CostLabels;
use headgate_core::catalog::price::ExchangeCost;
use headgate_core::feature::exchange_recorder::{ExchangeRecorder, RecordedUse};
use headgate_core::feature::metrics::{BackgroundUsage, FeatureMetrics};
use headgate_core::state::calendar::unix_ms;
use headgate_protocol::ChannelProtocol;
use headgate_protocol::usage::TokenUsage;

impl Metrics {
    /// Counts what features have settled since the last call.
    pub fn update_features(&self) {
        for feature in &self.features {
            feature.update();
            self.count_cost_changes(&**feature);
            self.count_background_usages(&**feature);
        }
    }

    /// Counts what a batch has used of a model, in requests of `protocol`. `caller` is the caller's own name. A cost is
    /// `None` without a price.
    pub fn count_batch(
        &self,
        caller: Option<&str>,
        labels: CostLabels<'_>,
        protocol: Option<ChannelProtocol>,
        usage: &TokenUsage,
        cost: Option<ExchangeCost>,
    ) {
        let CostLabels { model, channel, .. } = labels;
        let tokens = self.tokens.series(channel, model, protocol);
        tokens.count(usage);
        tokens.flush();
        if let Some(cost) = cost {
            self.costs.count(labels, cost);
        }
        self.record_use(|| RecordedUse {
            time_ms: unix_ms(),
            caller,
            model: Some(model),
            channel: Some(channel),
            outcome: None,
            usage: Some(usage),
            cost: match cost {
                Some(ExchangeCost::Priced(cost)) => Some((cost, labels.currency)),
                Some(ExchangeCost::Unmetered | ExchangeCost::Unpriced) | None => None,
            },
            charges: &[],
        });
    }

    /// Gives what was used to the features that record it.
    pub(super) fn record_use<'u>(&self, used: impl Fn() -> RecordedUse<'u>) {
        for recorder in self.active_recorders() {
            recorder.record(&used());
        }
    }

    fn active_recorders(&self) -> impl Iterator<Item = &dyn ExchangeRecorder> {
        let recorders = self.recorders.iter().map(|recorder| &**recorder);
        recorders.filter(|recorder| recorder.is_on())
    }

    fn count_cost_changes(&self, feature: &dyn FeatureMetrics) {
        for change in feature.take_cost_changes() {
            self.costs.change(&change);
            for recorder in self.active_recorders() {
                recorder.change_cost(&change);
            }
        }
        for change in feature.take_charge_changes() {
            for recorder in self.active_recorders() {
                recorder.change_charge(&change);
            }
        }
    }

    /// Counts what a feature has used of models beside the requests of callers. Its costs are changes of costs.
    fn count_background_usages(&self, feature: &dyn FeatureMetrics) {
        for used in feature.take_background_usages() {
            let BackgroundUsage {
                labels,
                caller_name,
                protocol,
                usage,
                unpriced,
            } = used;
            let labels = CostLabels {
                caller: Some(&labels.caller),
                model: &labels.model,
                channel: &labels.channel,
                currency: &labels.currency,
            };
            self.count_batch(Some(&caller_name), labels, protocol, &usage, None);
            let costs = &self.costs;
            costs.count_unpriced(labels.channel, labels.model, unpriced);
        }
    }
}

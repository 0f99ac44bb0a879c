//! What metrics count of batches: the tokens of each model.

use super::{Metrics, OTHER};
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_protocol::ChannelProtocol;
use headgate_protocol::usage::TokenUsage;

impl Metrics {
    /// Counts what a feature has used of models beside the requests of callers.
    pub(super) fn count_background_usages(&self, feature: &dyn FeatureMetrics) {
        for used in feature.take_background_usages() {
            let model = Some(&*used.model);
            self.count_batch(&used.channel, model, used.protocol, &used.usage);
            let costs = &self.costs;
            costs.count_unpriced(&used.channel, &used.model, used.unpriced);
        }
    }

    /// Counts the tokens that a batch has used of a model, in requests of `protocol`.
    pub fn count_batch(
        &self,
        channel: &str,
        model: Option<&str>,
        protocol: Option<ChannelProtocol>,
        usage: &TokenUsage,
    ) {
        let model = model.unwrap_or(OTHER);
        self.tokens.series(channel, model, protocol).count(usage);
    }
}

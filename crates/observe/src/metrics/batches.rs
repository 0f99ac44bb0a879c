//! What metrics count of batches: the tokens of each model.

use super::{Metrics, OTHER};
use headgate_protocol::ChannelProtocol;
use headgate_protocol::usage::TokenUsage;

impl Metrics {
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

//! Metrics of the token usage that providers report, by kind.

use headgate_core::feature::metrics::registered;
use headgate_protocol::ChannelProtocol;
use headgate_protocol::usage::{TokenUsage, UsageDetailNames, UsageShape};
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};

/// Token counters.
pub(super) struct TokenMetrics(IntCounterVec);

/// Token counters of one model on one channel.
pub(super) struct TokenSeries {
    input: IntCounter,
    output: IntCounter,
    cached: IntCounter,
    cache_write: IntCounter,
    reasoning: IntCounter,
}

impl TokenMetrics {
    pub fn new(registry: &Registry) -> Self {
        let opts = Opts::new(
            "headgate_tokens_total",
            "Tokens reported by providers, by kind; kinds beyond input and output have the names of the protocol's usage fields.",
        );
        Self(registered(
            registry,
            IntCounterVec::new(opts, &["channel", "model", "kind"]),
        ))
    }

    pub fn series(
        &self,
        channel: &str,
        model: &str,
        protocol: Option<ChannelProtocol>,
    ) -> TokenSeries {
        let of_kind = |kind: &str| self.0.with_label_values(&[channel, model, kind]);
        let usage = protocol.map(ChannelProtocol::usage);
        let details = usage.map_or(UsageDetailNames::MOST, UsageShape::detail_names);
        TokenSeries {
            input: of_kind("input"),
            output: of_kind("output"),
            cached: of_kind(details.cached),
            cache_write: of_kind(details.cache_write),
            reasoning: of_kind(details.reasoning),
        }
    }
}

impl TokenSeries {
    pub fn count(&self, usage: &TokenUsage) {
        for (counter, count) in [
            (&self.input, usage.input_tokens),
            (&self.output, usage.output_tokens),
            (&self.cached, usage.cached_input_tokens),
            (&self.cache_write, usage.cache_write_tokens),
            (&self.reasoning, usage.reasoning_tokens),
        ] {
            if let Some(count) = count {
                counter.inc_by(count);
            }
        }
    }
}

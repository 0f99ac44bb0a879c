//! Metrics of the usage that providers report: tokens by kind, and seconds of audio.

use headgate_core::feature::metrics::registered;
use headgate_protocol::ChannelProtocol;
use headgate_protocol::usage::{TokenUsage, UsageDetailNames, UsageShape};
use prometheus::local::{LocalCounter, LocalIntCounter};
use prometheus::{CounterVec, IntCounterVec, Opts, Registry};
use std::time::Duration;

/// Counters of usage.
pub(super) struct TokenMetrics {
    tokens: IntCounterVec,
    audio_seconds: CounterVec,
}

/// Counters of one model on one channel, which one thread raises.
pub(super) struct TokenSeries {
    input: LocalIntCounter,
    output: LocalIntCounter,
    cached: LocalIntCounter,
    cache_write: LocalIntCounter,
    reasoning: LocalIntCounter,
    /// `None` for protocols that report none.
    audio_seconds: Option<LocalCounter>,
}

impl TokenMetrics {
    pub fn new(registry: &Registry) -> Self {
        let opts = Opts::new(
            "headgate_tokens_total",
            "Tokens reported by providers, by kind; kinds beyond input and output have the names of the protocol's usage fields.",
        );
        let tokens = IntCounterVec::new(opts, &["channel", "model", "kind"]);
        let opts = Opts::new(
            "headgate_audio_seconds_total",
            "Seconds of audio that providers report as billed.",
        );
        let audio_seconds = CounterVec::new(opts, &["channel", "model"]);
        Self {
            tokens: registered(registry, tokens),
            audio_seconds: registered(registry, audio_seconds),
        }
    }

    pub fn series(
        &self,
        channel: &str,
        model: &str,
        protocol: Option<ChannelProtocol>,
    ) -> TokenSeries {
        let of_kind = |kind: &str| {
            let counter = self.tokens.with_label_values(&[channel, model, kind]);
            counter.local()
        };
        let usage = protocol.map(ChannelProtocol::usage);
        let details = usage.map_or(UsageDetailNames::MOST, UsageShape::detail_names);
        TokenSeries {
            input: of_kind("input"),
            output: of_kind("output"),
            cached: of_kind(details.cached),
            cache_write: of_kind(details.cache_write),
            reasoning: of_kind(details.reasoning),
            audio_seconds: usage
                .filter(|usage| usage.counts_audio())
                .map(|_| self.audio_seconds.with_label_values(&[channel, model]))
                .map(|seconds| seconds.local()),
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
        if let (Some(seconds), Some(length)) = (&self.audio_seconds, usage.audio_ms) {
            seconds.inc_by(Duration::from_millis(length.get().into()).as_secs_f64());
        }
    }

    /// Adds what was counted to the metrics.
    pub fn flush(&self) {
        for counter in [
            &self.input,
            &self.output,
            &self.cached,
            &self.cache_write,
            &self.reasoning,
        ] {
            counter.flush();
        }
        if let Some(seconds) = &self.audio_seconds {
            seconds.flush();
        }
    }
}

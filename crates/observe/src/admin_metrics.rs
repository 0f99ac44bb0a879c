//! Metrics of what operators do and watch: drained channels, event streams.

use headgate_core::feature::metrics::registered;
use prometheus::{IntGauge, IntGaugeVec, Opts, Registry};

/// Metrics of the admin pages.
pub struct AdminMetrics {
    drained: IntGaugeVec,
    event_streams: IntGauge,
}

impl AdminMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let drained = Opts::new(
            "headgate_channel_drained",
            "1 while an operator has drained the channel, else 0.",
        );
        let event_streams = IntGauge::new(
            "headgate_admin_event_streams",
            "Open event streams of the admin pages.",
        );
        Self {
            drained: registered(registry, IntGaugeVec::new(drained, &["channel"])),
            event_streams: registered(registry, event_streams),
        }
    }

    /// Sets the gauges: whether each channel is drained, and the number of event streams.
    pub fn update<'a>(
        &self,
        channels: impl IntoIterator<Item = (&'a str, bool)>,
        event_streams: usize,
    ) {
        self.drained.reset();
        for (channel, is_drained) in channels {
            let gauge = self.drained.with_label_values(&[channel]);
            gauge.set(is_drained.into());
        }
        self.event_streams
            .set(i64::try_from(event_streams).unwrap_or(i64::MAX));
    }
}

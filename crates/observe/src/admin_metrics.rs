//! Metrics of what operators do and watch: drained channels, refused callers, event streams.

use headgate_core::feature::metrics::registered;
use prometheus::{IntGauge, IntGaugeVec, Opts, Registry};

/// Metrics of the admin pages.
pub struct AdminMetrics {
    drained: IntGaugeVec,
    refused_callers: IntGaugeVec,
    event_streams: IntGauge,
}

impl AdminMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let drained = Opts::new(
            "headgate_channel_drained",
            "1 while an operator has drained the channel, else 0.",
        );
        let refused_callers = Opts::new(
            "headgate_callers_refused",
            "Callers outside of `routes.yaml` that are not used as their source has them.",
        );
        let event_streams = IntGauge::new(
            "headgate_admin_event_streams",
            "Open event streams of the admin pages.",
        );
        Self {
            drained: registered(registry, IntGaugeVec::new(drained, &["channel"])),
            refused_callers: registered(registry, IntGaugeVec::new(refused_callers, &["source"])),
            event_streams: registered(registry, event_streams),
        }
    }

    /// Sets the gauges: whether each channel is drained, the number of callers that each source has in vain, and of event
    /// streams.
    pub fn update<'a>(
        &self,
        channels: impl IntoIterator<Item = (&'a str, bool)>,
        refused_callers: impl IntoIterator<Item = (&'a str, usize)>,
        event_streams: usize,
    ) {
        self.drained.reset();
        for (channel, is_drained) in channels {
            let gauge = self.drained.with_label_values(&[channel]);
            gauge.set(is_drained.into());
        }
        for (source, count) in refused_callers {
            let gauge = self.refused_callers.with_label_values(&[source]);
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.event_streams
            .set(i64::try_from(event_streams).unwrap_or(i64::MAX));
    }
}

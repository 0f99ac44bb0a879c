//! Metrics of the certificates that the gateway presents.

use headgate_core::feature::metrics::registered;
use prometheus::core::Collector;
use prometheus::{IntGaugeVec, Opts, Registry};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// When certificates expire, by the setting that names their files.
pub struct CertificateMetrics {
    expiries: IntGaugeVec,
    /// The settings of channels that are exported now.
    of_channels: Mutex<BTreeSet<String>>,
}

impl CertificateMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let opts = Opts::new(
            "headgate_certificate_expiry_timestamp_seconds",
            "Unix time at which the first certificate of a chain that the gateway presents expires, by the setting that names its file.",
        );
        Self {
            expiries: registered(registry, IntGaugeVec::new(opts, &["setting"])),
            of_channels: Mutex::default(),
        }
    }

    /// Sets the expiry of a listener's certificate, which is read once, when the process starts.
    pub fn set_listener(&self, setting: &str, unix_seconds: i64) {
        self.expiries
            .with_label_values(&[setting])
            .set(unix_seconds);
    }

    /// The expiries in Unix seconds, each with its setting.
    pub fn expiries(&self) -> Vec<(String, i64)> {
        let families = self.expiries.collect();
        let series = families.iter().flat_map(|family| family.get_metric());
        let expiries = series.filter_map(|series| {
            let setting = series.get_label().first()?.value().to_owned();
            Some((setting, series.get_gauge().get_value() as i64))
        });
        expiries.collect()
    }

    /// Sets the expiries of the certificates of all channels; other channels have none then.
    pub fn set_channels(&self, expiries: impl IntoIterator<Item = (String, i64)>) {
        let shown = self.of_channels.lock();
        let mut shown = shown.unwrap_or_else(PoisonError::into_inner);
        let mut gone = std::mem::take(&mut *shown);
        for (setting, unix_seconds) in expiries {
            self.expiries
                .with_label_values(&[&setting])
                .set(unix_seconds);
            gone.remove(&setting);
            shown.insert(setting);
        }
        for setting in gone {
            // Never fails, because the gauge exists.
            let _ = self.expiries.remove_label_values(&[&setting]);
        }
    }
}

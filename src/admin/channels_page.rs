//! `/channels`: the health of each channel, its models and its credentials, and the channels of each model.

use crate::catalog::channel::Channel;
use crate::catalog::model::{Candidate, Model};
use crate::channel::clock::MonotonicTime;
use crate::channel::health::HealthStatus;
use crate::channel::live::{LiveChannels, ReachedLimit};
use crate::channel::select::UnusableReason;
use crate::snapshot::Snapshot;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The page as JSON. It contains no secret: a credential is identified by its index.
pub fn page(snapshot: &Snapshot, channels: &LiveChannels, now: MonotonicTime) -> Value {
    let page = ChannelsPage {
        snapshot,
        channels,
        usable: channels.usable_channels(&snapshot.catalog, now),
        now,
    };
    let catalog = &snapshot.catalog;
    json!({
        "revision": &*snapshot.revision,
        "channels": catalog.channels().map(|channel| page.channel(channel)).collect::<Vec<_>>(),
        "models": catalog.models().map(|model| page.model(model)).collect::<Vec<_>>(),
    })
}

struct ChannelsPage<'p> {
    snapshot: &'p Snapshot,
    channels: &'p LiveChannels,
    usable: BTreeMap<Arc<str>, bool>,
    now: MonotonicTime,
}

impl ChannelsPage<'_> {
    fn channel(&self, channel: &Channel) -> Value {
        let load = self.channels.load(channel);
        let reached = load.reached_limits(&channel.limits, self.now);
        let about = json!({
            "name": &*channel.name,
            "tier": channel.tier,
            "retired": channel.retired,
            "weight": channel.weight,
            "usable": self.usable.get(&channel.name),
            "in_flight": load.in_flight(),
            "limits_reached": reached.map(ReachedLimit::name).collect::<Vec<_>>(),
            "models": self.models_of(channel),
            "credentials": self.credentials_of(channel),
        });
        self.with_health(about, channel.fingerprint)
    }

    fn models_of(&self, channel: &Channel) -> Vec<Value> {
        let models = self.snapshot.catalog.models().flat_map(|model| {
            let candidates = model.all_candidates.iter();
            candidates.map(|candidate| (&model.name, candidate))
        });
        models
            .filter(|(_, candidate)| candidate.channel.name == channel.name)
            .filter_map(|(name, candidate)| {
                let there = candidate.model.as_ref()?;
                let about = json!({"name": &**name, "channel_model": &*there.name});
                Some(self.with_health(about, there.fingerprint))
            })
            .collect()
    }

    fn credentials_of(&self, channel: &Channel) -> Vec<Value> {
        let credentials = channel.credentials.iter().enumerate();
        credentials
            .map(|(index, credential)| {
                self.with_health(json!({"place": index + 1}), credential.fingerprint)
            })
            .collect()
    }

    fn model(&self, model: &Model) -> Value {
        let candidates = model.all_candidates.iter();
        json!({
            "name": &*model.name,
            "candidates": candidates.map(|candidate| self.candidate(candidate)).collect::<Vec<_>>(),
        })
    }

    fn candidate(&self, candidate: &Candidate) -> Value {
        let reason = self.channels.unusable_reason(candidate, &[], self.now);
        let mut about = Map::from_iter([
            ("channel".into(), json!(&*candidate.channel.name)),
            ("usable".into(), json!(reason.is_none())),
        ]);
        if let Some(model) = &candidate.model {
            about.insert("channel_model".into(), json!(&*model.name));
        }
        if let Some(reason) = reason {
            about.insert("reason".into(), json!(reason.to_string()));
            if let UnusableReason::CoolingDown { left, .. } = reason {
                about.insert("seconds_left".into(), seconds(left));
            }
        }
        about.into()
    }

    /// `about` with the health of the item with this fingerprint.
    fn with_health(&self, mut about: Value, fingerprint: u64) -> Value {
        match self.channels.status(fingerprint, self.now) {
            HealthStatus::Healthy => about["standing"] = "well".into(),
            HealthStatus::HalfOpen { reason } => {
                about["standing"] = "on_probation".into();
                about["why"] = reason.name().into();
            }
            HealthStatus::CoolingDown { until, reason, .. } => {
                about["standing"] = "cooling".into();
                about["why"] = reason.name().into();
                about["seconds_left"] = seconds(self.now.until(until));
            }
        }
        about
    }
}

/// Seconds, with a precision of one millisecond.
fn seconds(span: Duration) -> Value {
    json!(span.as_millis() as f64 / 1000.0)
}

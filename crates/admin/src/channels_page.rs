//! `/channels`: the health of each channel, its models and its credentials, and which channels each model can use now.

use super::AdminApp;
use headgate_channel::attempt_statistics::AttemptStatisticsSummary;
use headgate_channel::clock::MonotonicTime;
use headgate_channel::health_status::{HealthReport, HealthStatus, LastError};
use headgate_channel::live::{ChannelStates, ReachedLimit};
use headgate_channel::unusable::UnusableReason;
use headgate_config::snapshot::Snapshot;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::{Candidate, ChannelModel, Model};
use headgate_core::serve::AppResponse;
use headgate_core::state::clock::steady_ms;
use headgate_core::timestamp::rfc3339;
use http::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn page(app: &AdminApp) -> AppResponse {
    let snapshot = app.reloader.current();
    let page = content(&snapshot, &app.channels, MonotonicTime::now());
    AppResponse::json(StatusCode::OK, &page)
}

/// The channels with those of their models and credentials that are not healthy.
pub(super) fn summaries(app: &AdminApp) -> Vec<Map<String, Value>> {
    let snapshot = app.reloader.current();
    let page = ChannelsPage::new(&snapshot, &app.channels, MonotonicTime::now());
    let channels = snapshot.catalog.channels();
    let summaries = channels.map(|channel| {
        let mut entry = page.summary(channel);
        page.add_unhealthy_parts(&mut entry, channel);
        entry
    });
    summaries.collect()
}

/// The page as JSON. It contains no secret: a credential is identified by its index.
fn content(snapshot: &Snapshot, channels: &ChannelStates, now: MonotonicTime) -> Value {
    let page = ChannelsPage::new(snapshot, channels, now);
    let catalog = &snapshot.catalog;
    json!({
        "revision": &*snapshot.revision,
        "channels": catalog.channels().map(|channel| page.channel(channel)).collect::<Vec<_>>(),
        "models": catalog.models_with_health().map(|model| page.model(&model)).collect::<Vec<_>>(),
    })
}

struct ChannelsPage<'p> {
    snapshot: &'p Snapshot,
    channels: &'p ChannelStates,
    usable: BTreeMap<Arc<str>, bool>,
    now: MonotonicTime,
}

impl<'p> ChannelsPage<'p> {
    fn new(snapshot: &'p Snapshot, channels: &'p ChannelStates, now: MonotonicTime) -> Self {
        Self {
            snapshot,
            channels,
            usable: channels.usable_channels(&snapshot.catalog, now),
            now,
        }
    }

    fn channel(&self, channel: &Channel) -> Value {
        let mut entry = self.summary(channel);
        entry.insert("models".into(), self.channel_models(channel));
        entry.insert("sole_channel_of".into(), self.exclusive_models(channel));
        entry.insert("credentials".into(), self.channel_credentials(channel));
        entry.into()
    }

    fn summary(&self, channel: &Channel) -> Map<String, Value> {
        let load = self.channels.load(channel);
        let reached = load.reached_limits(&channel.limits, self.now);
        let mut entry = entry([
            ("name", json!(&*channel.name)),
            ("tier", json!(channel.tier)),
            ("weight", json!(channel.weight)),
            ("retired", json!(channel.retired)),
            ("usable", json!(self.usable.get(&channel.name))),
            ("drained", json!(self.channels.is_drained(channel))),
            ("in_flight", json!(load.in_flight())),
            (
                "limits_reached",
                json!(reached.map(ReachedLimit::name).collect::<Vec<_>>()),
            ),
        ]);
        self.add_health(&mut entry, channel.fingerprint);
        entry
    }

    /// Adds the models and credentials that are not healthy, and the newest of the last errors.
    fn add_unhealthy_parts(&self, summary: &mut Map<String, Value>, channel: &Channel) {
        let models = self
            .snapshot
            .catalog
            .models_with_health()
            .flat_map(|model| {
                let candidates = model.all_candidates.iter();
                let candidates = candidates.filter(|one| one.channel.name == channel.name);
                let models = candidates.filter_map(|one| one.model_fingerprint());
                let models = models.map(|there| (format!("model {}", model.name), there));
                models.collect::<Vec<_>>()
            });
        let credentials = channel.credentials.iter().enumerate();
        let credentials =
            credentials.map(|(index, one)| (format!("credential {}", index + 1), one.fingerprint));
        let mut unhealthy = Vec::new();
        for (name, fingerprint) in models.chain(credentials) {
            let report = self.channels.health_report(fingerprint, self.now);
            if report.status != HealthStatus::Healthy {
                let mut part = entry([("name", json!(name))]);
                add_status(&mut part, &report);
                unhealthy.push(part);
            }
            let at = |error: &Value| error["at"].as_str().unwrap_or_default().to_owned();
            let newest = summary.get("last_error").map(at).unwrap_or_default();
            let last = report.last_error.as_ref().map(last_error);
            if let Some(last) = last.filter(|last| at(last) > newest) {
                summary.insert("last_error".into(), last);
            }
        }
        summary.insert("unhealthy".into(), json!(unhealthy));
    }

    fn channel_models(&self, channel: &Channel) -> Value {
        let mut entries = Vec::new();
        for model in self.snapshot.catalog.models_with_health() {
            let candidates = model.all_candidates.iter();
            let there = candidates
                .filter(|candidate| candidate.channel.name == channel.name)
                .filter_map(|candidate| candidate.model.as_ref());
            entries.extend(there.map(|there| self.channel_model(&model.name, there)));
        }
        entries.into()
    }

    fn channel_model(&self, name: &str, there: &ChannelModel) -> Map<String, Value> {
        let mut entry = entry([
            ("name", json!(name)),
            ("channel_model", json!(&*there.name)),
        ]);
        if let Some(fingerprint) = there.fingerprint() {
            self.add_health(&mut entry, fingerprint);
            let summary = self.channels.attempt_summary(fingerprint, self.now);
            add_statistics(&mut entry, &summary);
        }
        entry
    }

    /// The models with the protocols that no other channel can serve now, so that they are unavailable without this one.
    fn exclusive_models(&self, channel: &Channel) -> Value {
        let is_usable =
            |one: &Candidate| self.channels.unusable_reason(one, &[], self.now).is_none();
        let is_sole = |candidates: &[Candidate]| {
            let mut usable = candidates.iter().filter(|one| is_usable(one)).peekable();
            usable.peek().is_some() && usable.all(|one| one.channel.name == channel.name)
        };
        let models = self
            .snapshot
            .catalog
            .models_with_health()
            .filter_map(|model| {
                let mut candidates = model.all_candidates.iter();
                if !candidates.any(|one| one.channel.name == channel.name) {
                    return None;
                }
                let protocols = model.protocols();
                let protocols = protocols.filter(|protocol| is_sole(&model.candidates(*protocol)));
                let names: Vec<&str> = protocols.map(|protocol| protocol.name()).collect();
                (!names.is_empty()).then(|| json!({"model": &*model.name, "protocols": names}))
            });
        models.collect()
    }

    fn channel_credentials(&self, channel: &Channel) -> Value {
        let credentials = channel.credentials.iter().enumerate();
        credentials
            .map(|(index, credential)| {
                let mut entry = entry([("index", json!(index + 1))]);
                self.add_health(&mut entry, credential.fingerprint);
                if let Some(state) = credential.refresh_state() {
                    let report = state.report(steady_ms());
                    let issued = json!({
                        "valid_seconds": report.valid_for.map(|left| left.as_secs()),
                        "error": report.error.as_deref(),
                    });
                    entry.insert("issued".into(), issued);
                }
                entry
            })
            .collect()
    }

    fn model(&self, model: &Model) -> Value {
        let candidates = model.all_candidates.iter();
        let candidates: Vec<_> = candidates
            .map(|candidate| self.candidate(candidate))
            .collect();
        json!({
            "name": &*model.name,
            "available": candidates.iter().any(|candidate| candidate["usable"] == true),
            "candidates": candidates,
        })
    }

    fn candidate(&self, candidate: &Candidate) -> Map<String, Value> {
        let unusable = self.channels.unusable_reason(candidate, &[], self.now);
        let mut entry = entry([
            ("channel", json!(&*candidate.channel.name)),
            ("usable", json!(unusable.is_none())),
        ]);
        if let Some(model) = &candidate.model {
            entry.insert("channel_model".into(), json!(&*model.name));
        }
        let report = match unusable {
            Some(UnusableReason::CoolingDown { fingerprint, .. }) => {
                self.channels.health_report(fingerprint, self.now)
            }
            _ => self.tested_health(candidate),
        };
        add_status(&mut entry, &report);
        if let Some(unusable) = unusable {
            entry.insert("detail".into(), json!(unusable.to_string()));
            let reason = match unusable {
                UnusableReason::CoolingDown { .. } => return entry,
                UnusableReason::Drained => "drained",
                UnusableReason::AtLimit(_) | UnusableReason::AlreadyTried => "at_limit",
            };
            entry.insert("reason".into(), json!(reason));
        }
        entry
    }

    /// The health of a candidate that is not in cool-down: half-open if its next request is a trial.
    fn tested_health(&self, candidate: &Candidate) -> HealthReport {
        let channel = &candidate.channel;
        let model = candidate.model_fingerprint();
        let report = |fingerprint| self.channels.health_report(fingerprint, self.now);
        let mut parts = [Some(channel.fingerprint), model].into_iter().flatten();
        let half_open = |report: &HealthReport| report.status != HealthStatus::Healthy;
        let mut credentials = channel.credentials.iter().peekable();
        let only_half_open = credentials
            .peek()
            .copied()
            .filter(|_| credentials.all(|credential| half_open(&report(credential.fingerprint))));
        parts
            .find_map(|fingerprint| Some(report(fingerprint)).filter(half_open))
            .or_else(|| only_half_open.map(|credential| report(credential.fingerprint)))
            .unwrap_or_else(HealthReport::healthy)
    }

    fn add_health(&self, entry: &mut Map<String, Value>, fingerprint: u64) {
        let report = self.channels.health_report(fingerprint, self.now);
        add_status(entry, &report);
        if let Some(last) = &report.last_error {
            entry.insert("last_error".into(), last_error(last));
        }
    }
}

fn entry<const COUNT: usize>(fields: [(&str, Value); COUNT]) -> Map<String, Value> {
    let fields = fields.into_iter();
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Adds `status`, and unless it is `healthy`, the reason and times.
fn add_status(entry: &mut Map<String, Value>, report: &HealthReport) {
    entry.insert("status".into(), json!(report.status.name()));
    if let Some(reason) = report.status.reason() {
        entry.insert("reason".into(), json!(reason.name()));
    }
    for (name, time) in [("since", report.since), ("until", report.until)] {
        if let Some(time) = time {
            entry.insert(name.into(), json!(rfc3339(time)));
        }
    }
}

fn last_error(last: &LastError) -> Value {
    let mut entry = entry([
        ("at", json!(rfc3339(last.at))),
        ("outcome", json!(last.reason.name())),
        ("id", json!(last.request_id)),
    ]);
    if let Some(status) = last.status {
        entry.insert("status".into(), json!(status.as_u16()));
    }
    entry.into()
}

fn add_statistics(entry: &mut Map<String, Value>, summary: &AttemptStatisticsSummary) {
    entry.insert("attempts".into(), json!(summary.attempts));
    if let Some(rate) = summary.success_rate {
        let rounded = (rate * 10_000.0).round() / 10_000.0;
        entry.insert("success_rate".into(), json!(rounded));
    }
    if let Some(latency) = summary.latency {
        let latency = json!({"p50": latency.p50, "p95": latency.p95});
        entry.insert("latency_ms".into(), latency);
    }
}

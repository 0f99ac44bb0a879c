//! Findings about channels, their credentials, and models that no channel can serve.

use super::failure_words::{advice_about, failure_in_words};
use super::requests::most_frequent_caller;
use headgate_channel::attempt_statistics::AttemptStatisticsSummary;
use headgate_channel::clock::MonotonicTime;
use headgate_channel::health_status::{HealthReport, HealthStatus};
use headgate_channel::live::ChannelStates;
use headgate_channel::outcome::FailureReason;
use headgate_config::snapshot::Snapshot;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_core::finding::{FindingSeverity, LiveFinding};
use headgate_observe::open_requests::OpenRequestState;
use headgate_observe::traffic::{ModelRefusals, TrafficInterval};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// Fewer refused requests for a model than this say nothing about the model.
const REFUSALS_MIN: u64 = 5;

/// Channels and credentials that are not healthy, and models that cannot be used.
pub(super) fn findings(
    snapshot: &Snapshot,
    channels: &ChannelStates,
    open: &[OpenRequestState],
    traffic: &TrafficInterval,
    now: MonotonicTime,
) -> Vec<LiveFinding> {
    let catalog = &snapshot.catalog;
    let mut findings = Vec::new();
    for model in catalog.models_with_health() {
        findings.extend(unavailable(&model, channels, now));
    }
    for channel in catalog.channels() {
        add_channel_findings(channel, channels, now, &mut findings);
        findings.extend(limit_findings(channel, channels, open, now));
    }
    for model in catalog.models_with_health() {
        let is_served = is_served(&model, channels, now);
        for candidate in model.all_candidates.iter() {
            let Some(fingerprint) = candidate.model_fingerprint() else {
                continue;
            };
            let report = channels.health_report(fingerprint, now);
            let name = model_on_channel(&model.name, &candidate.channel.name);
            findings.extend(health_finding(name, &report));
            let summary = channels.attempt_summary(fingerprint, now);
            let refusals = traffic.refusals(&candidate.channel.name, &model.name);
            let named = (&*model.name, &*candidate.channel.name);
            let credentials = candidate.channel.credentials.iter();
            let reports = credentials
                .map(|credential| channels.health_report(credential.fingerprint, now))
                .chain([report]);
            let confirmation = ModelRefusalEvidence::find(reports, refusals, is_served);
            findings.extend(confirmation.and_then(|by| refused(named, &summary, by)));
        }
    }
    findings
}

/// Whether any channel has served the model within the span of the statistics.
fn is_served(model: &Model, channels: &ChannelStates, now: MonotonicTime) -> bool {
    let candidates = model.all_candidates.iter();
    let mut there = candidates.filter_map(|candidate| candidate.model_fingerprint());
    there.any(|fingerprint| {
        let summary = channels.attempt_summary(fingerprint, now);
        summary.latency.is_some()
    })
}

/// The subject of findings about a model on a channel.
pub(super) fn model_on_channel(model: &str, channel: &str) -> String {
    format!("model {model} on channel {channel}")
}

/// The finding about a model that no channel can serve now, in all or in some of its protocols.
fn unavailable(model: &Model, channels: &ChannelStates, now: MonotonicTime) -> Option<LiveFinding> {
    // `None` if a candidate is usable.
    let reasons = |candidates: &[Candidate]| {
        let reasons = candidates.iter().map(|candidate| {
            let reason = channels.unusable_reason(candidate, &[], now)?;
            Some(format!("{}: {reason}", candidate.channel.name))
        });
        reasons.collect::<Option<BTreeSet<String>>>()
    };
    let all = reasons(&model.all_candidates).filter(|reasons| !reasons.is_empty());
    let (within, reasons) = match all {
        Some(reasons) => (String::new(), reasons),
        None => {
            let of_protocols = model.protocols().filter_map(|protocol| {
                let reasons = reasons(&model.candidates(protocol))?;
                Some((format!("`{}`", protocol.name()), reasons))
            });
            let (names, reasons): (Vec<_>, Vec<_>) = of_protocols.unzip();
            if names.is_empty() {
                return None;
            }
            let within = format!(" with protocol {}", names.join(" or "));
            (within, reasons.into_iter().flatten().collect())
        }
    };
    let reasons: Vec<String> = reasons.into_iter().collect();
    Some(LiveFinding {
        severity: FindingSeverity::Critical,
        code: "model_unavailable",
        subject: format!("model {}", model.name),
        cause: format!(
            "No channel can serve model `{}`{within} now ({}).",
            model.name,
            reasons.join(", ")
        ),
        advice: "Requests for it fail with 502 or 503 until a channel recovers; add a channel, or mend the cause below.".into(),
    })
}

fn add_channel_findings(
    channel: &Channel,
    channels: &ChannelStates,
    now: MonotonicTime,
    findings: &mut Vec<LiveFinding>,
) {
    let report = channels.health_report(channel.fingerprint, now);
    findings.extend(health_finding(format!("channel {}", channel.name), &report));
    for (index, credential) in channel.credentials.iter().enumerate() {
        let report = channels.health_report(credential.fingerprint, now);
        let name = format!("credential {} of channel {}", index + 1, channel.name);
        findings.extend(health_finding(name, &report));
    }
    findings.extend(other_endpoint_findings(channel, channels, now));
    if channels.is_drained(channel) {
        findings.push(LiveFinding {
            severity: FindingSeverity::Notice,
            code: "channel_drained",
            subject: format!("channel {}", channel.name),
            cause: format!(
                "An operator has drained channel `{}`; {} requests are in flight on it.",
                channel.name,
                channels.load(channel).in_flight()
            ),
            advice: format!(
                "It gets no new requests until `POST /channels/undrain?channel={}` or a restart.",
                channel.name
            ),
        });
    }
}

/// Cool-downs of a channel and its credentials for requests that generate nothing.
fn other_endpoint_findings(
    channel: &Channel,
    channels: &ChannelStates,
    now: MonotonicTime,
) -> Vec<LiveFinding> {
    let name = |requests: &str| format!("channel {} for {requests}", channel.name);
    let classes = ProviderOperationClass::ALL
        .into_iter()
        .filter_map(|class| Some((class, requests_in_words(class)?)));
    let found = classes.flat_map(|(class, requests)| {
        let credentials = channel.credentials.iter().map(|one| one.fingerprint);
        let parts = std::iter::once(channel.fingerprint).chain(credentials);
        parts.filter_map(move |part| {
            let report = channels.health_report(class.health_fingerprint(part), now);
            let is_cooling = matches!(report.status, HealthStatus::CoolingDown { .. });
            is_cooling.then(|| health_finding(name(requests), &report))?
        })
    });
    found.collect()
}

/// The requests of a class other than the generating one.
fn requests_in_words(class: ProviderOperationClass) -> Option<&'static str> {
    match class {
        ProviderOperationClass::Generation => None,
        ProviderOperationClass::TaskQuery => Some("queries of tasks"),
        ProviderOperationClass::Retrieval => Some("retrievals"),
        ProviderOperationClass::Change => Some("changes of stored objects"),
        ProviderOperationClass::TokenCount => Some("token counts"),
        ProviderOperationClass::ModelList => Some("lists of models"),
    }
}

/// The limits of a channel that are reached, and who has most of the requests in flight on it.
fn limit_findings(
    channel: &Channel,
    channels: &ChannelStates,
    open: &[OpenRequestState],
    now: MonotonicTime,
) -> Vec<LiveFinding> {
    let load = channels.load(channel);
    let reached = load.reached_limits(&channel.limits, now);
    let findings = reached.map(|reached| {
        let is_of_channel =
            |state: &&OpenRequestState| state.details.channel.as_ref() == Some(&channel.name);
        let most = most_frequent_caller(open.iter().filter(is_of_channel));
        let most = most.map_or(String::new(), |(caller, count)| {
            format!(", {count} of them of caller `{caller}`")
        });
        LiveFinding {
            severity: FindingSeverity::Warning,
            code: "channel_at_limit",
            subject: format!("channel {}", channel.name),
            cause: format!(
                "Channel `{}` has reached its limit `{}`, with {} requests in flight{most}.",
                channel.name,
                reached.name(),
                load.in_flight()
            ),
            advice: "Further requests go to other channels or wait; raise `limits` of the channel if the provider allows more, or lower those of the caller.".into(),
        }
    });
    findings.collect()
}

/// What shows that a provider's refusals of all requests for a model are not due to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelRefusalEvidence {
    /// Several callers got them.
    SeveralCallers,
    /// They repeat nothing of the requests, of which another channel then served this number.
    ServedElsewhere(FailureReason, u64),
    /// They repeat nothing of the requests, and no channel serves the model.
    Unserved(FailureReason),
}

impl ModelRefusalEvidence {
    /// `reports` are those of the model and of the channel's credentials.
    fn find(
        mut reports: impl Iterator<Item = HealthReport>,
        refusals: Option<&ModelRefusals>,
        is_served: bool,
    ) -> Option<Self> {
        let refusals = refusals.copied().unwrap_or_default();
        if refusals.has_several_callers {
            return Some(Self::SeveralCallers);
        }
        let reason = reports.find_map(|report| {
            let failures = report.unconfirmed?;
            (u64::from(failures.unquoted) >= REFUSALS_MIN).then_some(failures.reason)
        })?;
        match refusals.served_elsewhere {
            0 => (!is_served).then_some(Self::Unserved(reason)),
            served => Some(Self::ServedElsewhere(reason, served)),
        }
    }
}

/// All requests for a model were refused because of what they requested: probably the provider does not serve the model,
/// or not in this form.
fn refused(
    (model, channel): (&str, &str),
    summary: &AttemptStatisticsSummary,
    confirmation: ModelRefusalEvidence,
) -> Option<LiveFinding> {
    let is_refused = summary.attempts >= REFUSALS_MIN && summary.client_errors == summary.attempts;
    let count = summary.attempts;
    let (of_whom, addition) = match confirmation {
        ModelRefusalEvidence::SeveralCallers => (" of several callers", String::new()),
        ModelRefusalEvidence::ServedElsewhere(reason, served) => (
            "",
            format!(
                ": {}; other channels served {served} of them",
                failure_in_words(reason, None)
            ),
        ),
        ModelRefusalEvidence::Unserved(reason) => (
            "",
            format!(
                ": {}; no channel served one",
                failure_in_words(reason, None)
            ),
        ),
    };
    is_refused.then(|| LiveFinding {
        severity: FindingSeverity::Warning,
        code: "model_refused",
        subject: model_on_channel(model, channel),
        cause: format!(
            "The provider of channel `{channel}` refused all {count} requests{of_whom} for model `{model}` within the last five minutes{addition}."
        ),
        advice: format!("Look at the bodies of the errors (`headgate capture`, or the callers' logs), and check the account, and whether the provider still has the model that the channel's `models` names for `{model}`."),
    })
}

/// The finding about an unhealthy channel, model or credential.
fn health_finding(name: String, report: &HealthReport) -> Option<LiveFinding> {
    let reason = report.status.reason()?;
    let state = match report.status {
        HealthStatus::Healthy => return None,
        HealthStatus::HalfOpen { .. } => {
            "is tested by its next request after a cool-down".to_owned()
        }
        HealthStatus::CoolingDown { .. } => match report.until.and_then(left_until) {
            Some(left) => format!("gets no requests for another {} s", left.as_secs() + 1),
            None => "gets no requests until a test succeeds".to_owned(),
        },
    };
    let status = report
        .last_error
        .as_ref()
        .and_then(|last| last.status)
        .map_or(String::new(), |status| {
            format!(", last status {}", status.as_u16())
        });
    let connect = report.last_error.as_ref().and_then(|last| last.connect);
    Some(LiveFinding {
        // After a cool-down without traffic, nobody knows whether the fault is over; a credential recovers by an operator.
        severity: match report.status {
            HealthStatus::HalfOpen { reason } if !reason.concerns_credential() => {
                FindingSeverity::Notice
            }
            _ => FindingSeverity::Warning,
        },
        code: "unhealthy",
        cause: format!(
            "{} {state}: {}{status}.",
            capitalized(&name),
            failure_in_words(reason, connect)
        ),
        subject: name,
        advice: advice_about(reason, connect).into(),
    })
}

fn left_until(until: SystemTime) -> Option<Duration> {
    until.duration_since(SystemTime::now()).ok()
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

//! What differs between the plans of two configurations for one request.

use super::comparable_plan::{
    ComparableRequestPlan, ComparedRefusal, PlannedAttempt, PlannedOutcome,
};
use super::step_changes::{StepChange, step_changes};
use super::value_changes::value_changes;
use headgate_gateway::preview::UpstreamRequestPreview;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Changes of one body that are printed.
const BODY_CHANGES_MAX: usize = 6;

/// One thing that a configuration does differently: its name, and both ways.
pub struct RequestPlanChange {
    pub aspect: &'static str,
    pub text: String,
}

/// What differs, in the order in which a gateway decides.
pub fn plan_changes(
    old: &ComparableRequestPlan,
    new: &ComparableRequestPlan,
) -> Vec<RequestPlanChange> {
    let mut changes = RequestPlanChanges(Vec::new());
    let name = |plan: &ComparableRequestPlan| plan.route.as_deref().unwrap_or("none").to_owned();
    changes.compare("route", &name(old), &name(new));
    if old.route.is_some() && new.route.is_some() {
        changes.filters(&old.filters, &new.filters);
    }
    match (&old.outcome, &new.outcome) {
        (PlannedOutcome::Attempts(old), PlannedOutcome::Attempts(new)) => {
            changes.attempts(old, new)
        }
        (
            PlannedOutcome::LocalReply { status, body },
            PlannedOutcome::LocalReply {
                status: new_status,
                body: new_body,
            },
        ) if status == new_status => changes.body("local reply", body, new_body),
        (old, new) => changes.compare("verdict", &verdict(old), &verdict(new)),
    }
    changes.0
}

/// An outcome as text.
pub fn verdict(outcome: &PlannedOutcome) -> String {
    match outcome {
        PlannedOutcome::Refusal(refusal) => refused(refusal),
        PlannedOutcome::Attempts(attempts) => format!("accepted, for {}", channels(attempts)),
        other => other.class(),
    }
}

/// Channels in the order in which they are tried.
pub fn channels(attempts: &[PlannedAttempt]) -> String {
    let shown = attempts.iter().map(|attempt| {
        let PlannedAttempt {
            channel,
            tier,
            weight,
            ..
        } = attempt;
        format!("{channel} (tier {tier}, weight {weight})")
    });
    let shown: Vec<String> = shown.collect();
    match shown.is_empty() {
        true => "no channel".into(),
        false => shown.join(", "),
    }
}

struct RequestPlanChanges(Vec<RequestPlanChange>);

impl RequestPlanChanges {
    fn add(&mut self, aspect: &'static str, text: String) {
        self.0.push(RequestPlanChange { aspect, text });
    }

    fn compare(&mut self, aspect: &'static str, old: &str, new: &str) {
        if old != new {
            self.add(aspect, format!("{old} → {new}"));
        }
    }

    fn filters(&mut self, old: &[&str], new: &[&str]) {
        let steps = |names: &[&str]| names.iter().map(|name| json!(name)).collect::<Vec<_>>();
        let changes = step_changes(&steps(old), &steps(new));
        let texts: Vec<String> = changes.iter().filter_map(StepChange::text).collect();
        if !texts.is_empty() {
            self.add("filters", texts.join("; "));
        }
    }

    fn attempts(&mut self, old: &[PlannedAttempt], new: &[PlannedAttempt]) {
        self.compare("channels", &channels(old), &channels(new));
        let mut earlier: Vec<&PlannedAttempt> = old.iter().collect();
        for attempt in new {
            let same = earlier
                .iter()
                .position(|earlier| earlier.channel == attempt.channel);
            if let Some(same) = same {
                self.attempt(earlier.remove(same), attempt);
            }
        }
    }

    fn attempt(&mut self, old: &PlannedAttempt, new: &PlannedAttempt) {
        let channel = &new.channel;
        let name = |attempt: &PlannedAttempt| {
            let name = attempt.model.as_deref().unwrap_or("none");
            format!("{channel}: {name}")
        };
        if old.model != new.model {
            let model = new.model.as_deref().unwrap_or("none");
            self.add("model", format!("{} → {model}", name(old)));
        }
        match (&old.request, &new.request) {
            (Some(Ok(old)), Some(Ok(new))) => self.request(channel, old, new),
            (Some(Err(old)), Some(Err(new))) => {
                self.compare("attempt", &refused(old), &refused(new));
            }
            (Some(Ok(_)), Some(Err(refusal))) => {
                self.add("attempt", format!("{channel}: sent → {}", refused(refusal)));
            }
            (Some(Err(refusal)), Some(Ok(_))) => {
                self.add("attempt", format!("{channel}: {} → sent", refused(refusal)));
            }
            (None, _) | (_, None) => {}
        }
    }

    fn request(
        &mut self,
        channel: &str,
        old: &UpstreamRequestPreview,
        new: &UpstreamRequestPreview,
    ) {
        let line = |sent: &UpstreamRequestPreview| format!("{} {}", sent.method, sent.url);
        if line(old) != line(new) {
            self.add("url", format!("{channel}: {} → {}", line(old), line(new)));
        }
        let (before, after) = (headers(old), headers(new));
        for (name, value) in &after {
            match before.get(name) {
                None => self.add("headers", format!("{channel}: {name} added")),
                Some(old) if old != value => {
                    self.add("headers", format!("{channel}: {name} changed"));
                }
                Some(_) => {}
            }
        }
        for name in before.keys().filter(|name| !after.contains_key(*name)) {
            self.add("headers", format!("{channel}: {name} removed"));
        }
        self.body(channel, &old.body, &new.body);
    }

    fn body(&mut self, subject: &str, old: &[u8], new: &[u8]) {
        if old == new {
            return;
        }
        let json = |body: &[u8]| serde_json::from_slice::<Value>(body).ok();
        let changes = match (json(old), json(new)) {
            (Some(old), Some(new)) => value_changes(&old, &new),
            _ => Vec::new(),
        };
        if changes.is_empty() {
            let (old, new) = (old.len(), new.len());
            self.add(
                "body",
                format!("{subject}: {old} bytes → {new} other bytes"),
            );
        }
        for change in changes.iter().take(BODY_CHANGES_MAX) {
            self.add(
                "body",
                format!("{subject}: {} {}", change.path, change.text),
            );
        }
        let more = changes.len().saturating_sub(BODY_CHANGES_MAX);
        if more > 0 {
            self.add("body", format!("{subject}: {more} further changes"));
        }
    }
}

fn refused(refusal: &ComparedRefusal) -> String {
    let ComparedRefusal {
        status,
        code,
        message,
    } = refusal;
    format!("refused with {status} {code}: {message}")
}

/// The headers that follow from nothing else that is compared.
fn headers(sent: &UpstreamRequestPreview) -> BTreeMap<&str, Vec<&str>> {
    let mut headers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in &sent.headers {
        if name != "host" && name != "content-length" {
            headers.entry(name).or_default().push(value);
        }
    }
    headers
}

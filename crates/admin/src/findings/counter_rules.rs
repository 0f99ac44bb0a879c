//! Faults that the gateway's own counters show. Features bring their own rules.

use headgate_core::feature::FeatureList;
use headgate_core::finding::FindingArea::{Requests, Services, Usage};
use headgate_core::finding::FindingSeverity::{Notice, Warning};
use headgate_core::finding::counter_rule::{
    CounterFindingRule, HOUR, MINUTE, MINUTES_5, MINUTES_15, all, except, only, share,
};

/// The rules of the gateway and of its features, by their areas.
pub fn all_rules(features: FeatureList) -> Vec<&'static CounterFindingRule> {
    let others = features.iter().flat_map(|one| one.findings().rules);
    let mut rules: Vec<_> = RULES.iter().chain(others).collect();
    rules.sort_by_key(|rule| rule.area);
    rules
}

static RULES: &[CounterFindingRule] = &[
    CounterFindingRule {
        alert: "HeadgateServiceFailing",
        area: Services,
        code: "service_failing",
        severity: Warning,
        labels: &["service"],
        faults: &[except(
            "headgate_callouts_total",
            "outcome",
            &["continued", "denied"],
        )],
        of: share(10.0, all("headgate_callouts_total", "outcome")),
        least: 3.0,
        window: MINUTE,
        subject: "service {0}",
        cause: "{n} of {of} calls of service `{0}` failed within the last {within}, most of them with `{most}`.",
        advice: "Check the service at its `url`; the lines `callout failed` of the process log have the error. `on_failure` of the filter decides whether requests continue or are refused meanwhile.",
    },
    CounterFindingRule {
        alert: "HeadgateDnsFailing",
        area: Requests,
        code: "dns_failing",
        severity: Warning,
        labels: &["host"],
        faults: &[only("headgate_dns_lookups_total", "result", &["failed"])],
        of: None,
        least: 1.0,
        window: MINUTE,
        subject: "host {0}",
        cause: "The name `{0}` of a provider could not be resolved ({n} failed lookups within the last {within}).",
        advice: "Query the name servers of `server.dns` for the name, and check `base_url`; addresses of the last successful lookup stay in use meanwhile.",
    },
    CounterFindingRule {
        alert: "HeadgateStreamsCut",
        area: Requests,
        code: "streams_cut",
        severity: Warning,
        labels: &["route"],
        faults: &[only(
            "headgate_settlements_total",
            "settlement",
            &["upstream_cut"],
        )],
        of: share(2.0, all("headgate_settlements_total", "settlement")),
        least: 3.0,
        window: MINUTES_5,
        subject: "route {0}",
        cause: "{n} of {of} responses on route `{0}` broke off at the provider within the last {within}.",
        advice: "Group the recent requests by `channel`; look at the provider's status page, and at proxies between here and the provider that limit the length of responses.",
    },
    CounterFindingRule {
        alert: "HeadgateProviderRateLimits",
        area: Requests,
        code: "provider_rate_limits",
        severity: Warning,
        labels: &["channel"],
        faults: &[only(
            "headgate_attempts_total",
            "outcome",
            &["rate_limited"],
        )],
        of: share(20.0, all("headgate_attempts_total", "outcome")),
        least: 5.0,
        window: MINUTES_5,
        subject: "channel {0}",
        cause: "The provider of channel `{0}` refused {n} of {of} attempts by its rate limit within the last {within}.",
        advice: "Set `limits` of the channel below those of the account, so that requests go to other channels first; add a credential or a channel if all are at their limits.",
    },
    CounterFindingRule {
        alert: "HeadgateRetriesDenied",
        area: Requests,
        code: "retries_denied",
        severity: Warning,
        labels: &[],
        faults: &[all("headgate_retries_denied_total", "")],
        of: None,
        least: 10.0,
        window: MINUTES_5,
        subject: "retry budget",
        cause: "The retry budget denied {n} retries within the last {within}, because many attempts fail at the same time.",
        advice: "Look for the failing channel below; the budget keeps retries from making an outage worse.",
    },
    CounterFindingRule {
        alert: "HeadgateUsageMissing",
        area: Usage,
        code: "usage_missing",
        severity: Notice,
        labels: &["route"],
        faults: &[only(
            "headgate_settlements_total",
            "settlement",
            &["usage_missing"],
        )],
        of: share(10.0, all("headgate_settlements_total", "settlement")),
        least: 5.0,
        window: MINUTES_15,
        subject: "route {0}",
        cause: "{n} of {of} responses on route `{0}` reported no usage within the last {within}, so that their tokens and costs are not counted.",
        advice: "Have chat routes force the usage (a filter); otherwise ask the provider why its responses end without usage.",
    },
    CounterFindingRule {
        alert: "HeadgateCostPerHour",
        area: Usage,
        code: "cost_per_hour",
        severity: Warning,
        labels: &["caller", "currency"],
        faults: &[all("headgate_cost_total", "model")],
        of: None,
        least: 100.0,
        window: HOUR,
        subject: "caller {0}",
        cause: "Requests of caller `{0}` cost {n} {1} within the last {within}, most of it for model `{most}`.",
        advice: "Set `tokens_per_day`, or limits by model, of the caller if this is not meant.",
    },
    CounterFindingRule {
        alert: "HeadgateUnpriced",
        area: Usage,
        code: "unpriced",
        severity: Notice,
        labels: &["channel", "model"],
        faults: &[all("headgate_unpriced_requests_total", "")],
        of: None,
        least: 1.0,
        window: HOUR,
        subject: "model {1}",
        cause: "{n} requests for model `{1}` on channel `{0}` within the last {within} have no price, so that the sums of costs are too low.",
        advice: "Add the model to `prices.models`, or the price that is missing in its entry.",
    },
];

//! Faults that counters show: which counters, how high they must rise, and the sentence about it.
//!
//! Each rule belongs to an alert of `deploy/prometheus`, whose thresholds suit those who are woken by it. The rules here are
//! met earlier, for those who look.

use super::FindingSeverity::{Critical, Notice, Warning};
use super::counter_rule::{
    CounterRule, HOUR, MINUTE, MINUTES_5, MINUTES_15, all, except, only, share,
};

pub(super) static RULES: &[CounterRule] = &[
    CounterRule {
        alert: "HeadgateServiceFailing",
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
    CounterRule {
        alert: "HeadgatePluginFailing",
        code: "plugin_failing",
        severity: Warning,
        labels: &["plugin"],
        faults: &[all("headgate_plugin_failures_total", "reason")],
        of: None,
        least: 1.0,
        window: MINUTE,
        subject: "plugin {0}",
        cause: "Plugin `{0}` failed within the last {within} (failures: {n}), mostly with `{most}`.",
        advice: "The lines `plugin failed` of the process log have the error. `on_failure` of the filter decides whether requests continue or are refused; go back to the previous module if it is new.",
    },
    CounterRule {
        alert: "HeadgateCopiesFailing",
        code: "copies_failing",
        severity: Notice,
        labels: &["route"],
        faults: &[except(
            "headgate_mirrored_requests_total",
            "outcome",
            &["completed"],
        )],
        of: share(10.0, all("headgate_mirrored_requests_total", "outcome")),
        least: 3.0,
        window: MINUTE,
        subject: "route {0}",
        cause: "{n} of {of} copies of requests on route `{0}` were `{most}` within the last {within}; callers are not affected.",
        advice: "Failed copies have their error at the channel that gets them; dropped ones are above its bounds `concurrent` or wait for a channel in cool-down.",
    },
    CounterRule {
        alert: "HeadgateDnsFailing",
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
    CounterRule {
        alert: "HeadgateStreamsCut",
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
    CounterRule {
        alert: "HeadgateProviderRateLimits",
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
    CounterRule {
        alert: "HeadgateRetriesDenied",
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
    CounterRule {
        alert: "HeadgateLimitsUnchecked",
        code: "limits_unchecked",
        severity: Warning,
        labels: &["caller"],
        faults: &[all("headgate_limits_unchecked_total", "")],
        of: None,
        least: 1.0,
        window: MINUTE,
        subject: "caller {0}",
        cause: "{n} requests of caller `{0}` were not checked against its limits within the last {within}, because the state store was unreachable.",
        advice: "Repair the state store; set `on_store_failure: deny` if limits must hold in any case.",
    },
    CounterRule {
        alert: "HeadgateMediaStoreFailing",
        code: "media_store_failing",
        severity: Critical,
        labels: &[],
        faults: &[
            only("headgate_media_writes_total", "outcome", &["failed"]),
            all("headgate_media_read_failures_total", "outcome"),
        ],
        of: None,
        least: 1.0,
        window: MINUTES_5,
        subject: "media store",
        cause: "The media store failed to write or read files within the last {within} (failures: {n}).",
        advice: "The process log has the error. Make room in `media.directory`, or check the bucket and its key.",
    },
    CounterRule {
        alert: "HeadgateMediaQuota",
        code: "media_quota",
        severity: Warning,
        labels: &[],
        faults: &[only(
            "headgate_media_writes_total",
            "outcome",
            &["over_quota"],
        )],
        of: None,
        least: 1.0,
        window: MINUTES_5,
        subject: "media store",
        cause: "{n} files were refused within the last {within}, because a quota of the media store is used up.",
        advice: "Raise `media.max_bytes` or the quota of the caller, or lower `media.ttl`.",
    },
    CounterRule {
        alert: "HeadgateCreatesUnknown",
        code: "creates_unknown",
        severity: Warning,
        labels: &["route"],
        faults: &[only(
            "headgate_paid_creates_total",
            "end",
            &["outcome_unknown"],
        )],
        of: None,
        least: 1.0,
        window: MINUTES_15,
        subject: "route {0}",
        cause: "{n} paid creates on route `{0}` ended with an unknown outcome within the last {within}; the provider may have billed them.",
        advice: "Run `headgate task unknown`, compare the request ids with the provider's console, and settle each create by `headgate task settle`.",
    },
    CounterRule {
        alert: "HeadgateCreatesNotStored",
        code: "creates_not_stored",
        severity: Critical,
        labels: &["route"],
        faults: &[only(
            "headgate_idempotency_requests_total",
            "outcome",
            &["not_stored", "keys_full"],
        )],
        of: None,
        least: 1.0,
        window: MINUTES_5,
        subject: "route {0}",
        cause: "{n} paid creates on route `{0}` were refused within the last {within}, because their record could not be stored (`{most}`).",
        advice: "Repair the state store; with `keys_full`, raise `keys_max` of the filter.",
    },
    CounterRule {
        alert: "HeadgateQueryLimit",
        code: "query_limit",
        severity: Notice,
        labels: &[],
        faults: &[only(
            "headgate_task_queries_total",
            "outcome",
            &["over_limit"],
        )],
        of: None,
        least: 6.0,
        window: MINUTE,
        subject: "tasks",
        cause: "{n} queries of video tasks exceeded the limit of their provider within the last {within}.",
        advice: "Raise `cache_ttl` of the family's `query`, or `max_per_second` if the account allows more.",
    },
    CounterRule {
        alert: "HeadgateEventsLost",
        code: "events_lost",
        severity: Critical,
        labels: &[],
        faults: &[only("headgate_deliveries_total", "outcome", &["lost"])],
        of: None,
        least: 1.0,
        window: MINUTES_15,
        subject: "events",
        cause: "Events for callers were lost within the last {within} ({n} in all).",
        advice: "The process log has the reason, at level error. Callers must query these tasks themselves.",
    },
    CounterRule {
        alert: "HeadgateCallbacksUnknown",
        code: "callbacks_unknown",
        severity: Notice,
        labels: &[],
        faults: &[only(
            "headgate_callbacks_received_total",
            "result",
            &["unknown"],
        )],
        of: None,
        least: 10.0,
        window: MINUTES_5,
        subject: "callbacks of providers",
        cause: "{n} callbacks that belong to no task arrived within the last {within}.",
        advice: "They are forged, or later than the subscription lives: compare the addresses of their clients in the access log with those of the provider.",
    },
    CounterRule {
        alert: "HeadgateUsageMissing",
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
    CounterRule {
        alert: "HeadgateCostPerHour",
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
    CounterRule {
        alert: "HeadgateUnpriced",
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const ALERTS: &str = include_str!("../../../../deploy/prometheus/headgate.rules.yaml");
    const SOURCES: [&str; 5] = [
        include_str!("of_channels.rs"),
        include_str!("of_process.rs"),
        include_str!("of_requests.rs"),
        include_str!("of_services.rs"),
        include_str!("of_traffic.rs"),
    ];
    /// Alerts about faults that no counter shows, and the codes of their findings.
    const OTHERS: &[(&str, &[&str])] = &[
        ("HeadgateModelUnavailable", &["model_unavailable"]),
        ("HeadgateChannelUnusable", &["unhealthy"]),
        ("HeadgateCredentialRefused", &["unhealthy"]),
        ("HeadgateReloadRejected", &["reload_refused"]),
        ("HeadgateCertificateExpires", &["certificate_expires"]),
        ("HeadgateCertificateExpiresNow", &["certificate_expires"]),
        ("HeadgateUpstreamErrors", &["upstream_errors"]),
        ("HeadgateGatewayErrors", &["gateway_errors"]),
        ("HeadgateCallerErrors", &["caller_errors", "model_refused"]),
        (
            "HeadgateSlowUpstream",
            &["slow_upstream", "upstream_silent"],
        ),
        ("HeadgateSlowClients", &["slow_callers", "client_silent"]),
        ("HeadgateSlowGateway", &["slow_gateway"]),
        ("HeadgateCallerHogs", &["caller_holds", "caller_dominates"]),
        ("HeadgateCallerRateLimited", &["rate_limited"]),
        ("HeadgateStateStoreDown", &["store_down"]),
        ("HeadgateSpoolDiskFull", &["spool_failing"]),
        ("HeadgateFileDescriptors", &["file_descriptors"]),
        ("HeadgateLogLinesDropped", &["log_lines_dropped"]),
        ("HeadgateSpansLost", &["spans_lost"]),
        ("HeadgateDeadLetters", &["dead_letters", "receiver_failing"]),
        ("HeadgateDeliveriesLate", &["deliveries_late"]),
    ];

    #[test]
    fn each_alert_has_its_finding() {
        let lines = ALERTS.lines();
        let alerts = lines.filter_map(|line| line.trim().strip_prefix("- alert: "));
        // A process that is down shows nothing.
        let alerts: BTreeSet<&str> = alerts.filter(|alert| *alert != "HeadgateDown").collect();
        let of_rules = RULES.iter().map(|rule| rule.alert);
        let found: BTreeSet<&str> = of_rules
            .chain(OTHERS.iter().map(|(alert, _)| *alert))
            .collect();
        assert_eq!(alerts, found);
        for code in OTHERS.iter().flat_map(|(_, codes)| *codes) {
            let quoted = format!("\"{code}\"");
            assert!(
                SOURCES.iter().any(|source| source.contains(&quoted)),
                "no finding has the code {code}"
            );
        }
    }

    #[test]
    fn each_finding_is_described_on_the_dashboard_s_page_and_in_the_runbook() {
        let codes = SOURCES
            .iter()
            .flat_map(|source| source.split("code: \"").skip(1));
        let codes = codes.map(|rest| rest.split('"').next().unwrap());
        let codes: BTreeSet<&str> = codes.chain(RULES.iter().map(|rule| rule.code)).collect();
        assert!(codes.len() > 40);
        for (page, text) in [
            ("dashboard", include_str!("../../../../docs/dashboard.md")),
            ("runbook", include_str!("../../../../docs/runbook.md")),
        ] {
            let missing: Vec<&&str> = (codes.iter())
                .filter(|code| !text.contains(&format!("`{code}`")))
                .collect();
            assert!(missing.is_empty(), "docs/{page}.md lacks {missing:?}");
        }
    }

    #[test]
    fn each_rule_counts_what_its_alert_counts() {
        for rule in RULES {
            let (_, alert) = ALERTS
                .split_once(&format!("- alert: {}\n", rule.alert))
                .unwrap();
            let alert = alert.split("- alert: ").next().unwrap();
            for selector in rule.faults {
                assert!(alert.contains(selector.metric), "{}", rule.alert);
            }
        }
    }
}

//! Findings about the process: its configuration, its state store, its log and what it should deliver.

use super::feature_findings;
use crate::AdminApp;
use headgate_core::finding::{FindingArea, FindingSeverity, LiveFinding};
use headgate_core::state::OnStoreFailure;
use headgate_core::timestamp::rfc3339;
use headgate_tracing::SpanExportOutcome;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a spool failure is reported after the last one.
const SPOOL_FAILURE_SHOWN: Duration = Duration::from_secs(600);
/// How long lost spans are reported after the last one.
const SPAN_LOSS_SHOWN: Duration = Duration::from_secs(600);
/// Certificates are reported for so many seconds before they expire: two weeks.
const CERTIFICATE_SHOWN_SECONDS: i64 = 14 * 24 * 3600;

pub(super) fn findings(app: &AdminApp) -> Vec<LiveFinding> {
    let state = [
        refused_reload(app),
        needed_restart(app),
        store_down(app),
        draining(app),
    ];
    let features = feature_findings(app, |area| area == FindingArea::Process);
    let resources = [
        dropped_log_lines(app),
        lost_spans(app),
        spool_failures(app),
        changed_log_filter(app),
    ];
    (state.into_iter().flatten())
        .chain(features)
        .chain(resources.into_iter().flatten())
        .chain(expiring_certificates(app))
        .chain(captures(app))
        .collect()
}

/// Captures that record now.
fn captures(app: &AdminApp) -> Vec<LiveFinding> {
    let recording = app.metrics.captures.recording().into_iter();
    let findings = recording.map(|(caller, until)| LiveFinding {
        severity: FindingSeverity::Notice,
        code: "capture",
        subject: format!("caller {caller}"),
        cause: format!(
            "Requests and responses of caller `{caller}` are captured in memory until {}.",
            rfc3339(until)
        ),
        advice:
            "`GET /captures` lists the captures; `POST /captures/remove?id=ID` ends one at once."
                .into(),
    });
    findings.collect()
}

fn changed_log_filter(app: &AdminApp) -> Option<LiveFinding> {
    let change = app.log_filter.change()?;
    let end = change.until.map_or_else(
        || "until it is changed again or the process ends".to_owned(),
        |until| format!("until {}", rfc3339(until)),
    );
    Some(LiveFinding {
        severity: FindingSeverity::Notice,
        code: "log_filter_changed",
        subject: "process log".into(),
        cause: format!(
            "An operator has set the filter of the process log to `{}`, {end}; usually it is `{}`.",
            change.filter,
            app.log_filter.usual()
        ),
        advice: "`POST /log-filter?filter=usual` ends this at once.".into(),
    })
}

/// Bodies that could not be stored in the last minutes.
fn spool_failures(app: &AdminApp) -> Option<LiveFinding> {
    let spool = &app.metrics.spool;
    let last = spool.last_failure()?;
    let ago = last.at.elapsed();
    let failures = match spool.failures() {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    };
    (ago <= SPOOL_FAILURE_SHOWN).then(|| LiveFinding {
        severity: FindingSeverity::Critical,
        code: "spool_failing",
        subject: "spool folder".into(),
        cause: format!(
            "A large request body could not be written to the spool folder `{}` {} s ago: {}; {failures} got status 503 for that since the start.",
            last.folder.display(),
            ago.as_secs(),
            last.error
        ),
        advice: "Free the disk of this folder, or set `server.spool.folder` to another one and reload; small requests are served meanwhile.".into(),
    })
}

/// Certificates that the gateway presents and that expire soon, or have expired.
fn expiring_certificates(app: &AdminApp) -> Vec<LiveFinding> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_secs() as i64;
    let expiries = app.metrics.certificates.expiries().into_iter();
    let expiring = expiries.filter(|(_, expiry)| expiry - now < CERTIFICATE_SHOWN_SECONDS);
    let findings = expiring.map(|(setting, expiry)| {
        let at = rfc3339(UNIX_EPOCH + Duration::from_secs(expiry.max(0) as u64));
        let (severity, verb) = match expiry <= now {
            true => (FindingSeverity::Critical, "has expired"),
            false => (FindingSeverity::Warning, "expires"),
        };
        LiveFinding {
            severity,
            code: "certificate_expires",
            cause: format!("The certificate of `{setting}` {verb} at {at}."),
            subject: setting,
            advice: "Renew it; that of a listener is read when the process starts, so upgrade or restart it then.".into(),
        }
    });
    findings.collect()
}

fn refused_reload(app: &AdminApp) -> Option<LiveFinding> {
    let refusal = app.reloader.refusal()?;
    Some(LiveFinding {
        severity: FindingSeverity::Warning,
        code: "reload_refused",
        subject: "configuration".into(),
        cause: format!(
            "The configuration on disk was refused at {}, and revision {} stays in use: {}",
            rfc3339(refusal.at),
            app.reloader.current().revision,
            first_problem(&refusal.report)
        ),
        advice: "Mend the file; it is loaded as soon as it changes. The whole report is shown with the configuration.".into(),
    })
}

fn needed_restart(app: &AdminApp) -> Option<LiveFinding> {
    let snapshot = app.reloader.current();
    let settings = app.reloader.running().needing_restart(&snapshot);
    if settings.is_empty() {
        return None;
    }
    let settings: Vec<String> = settings.iter().map(|name| format!("`{name}`")).collect();
    Some(LiveFinding {
        severity: FindingSeverity::Notice,
        code: "restart_needed",
        subject: "configuration".into(),
        cause: format!(
            "The configuration has new values of {}, which the running process does not use.",
            settings.join(", ")
        ),
        advice: "Restart the process, or run `headgate run --upgrade`, which closes no connection."
            .into(),
    })
}

/// The first problem of a report and its place, and how many there are.
fn first_problem(report: &str) -> String {
    let mut lines = report.lines().map(str::trim);
    let problem = lines.next().unwrap_or_default();
    let problem = problem.strip_prefix("error: ").unwrap_or(problem);
    let place = lines.find_map(|line| line.strip_prefix("--> "));
    let place = place.map_or(String::new(), |place| format!(" at {place}"));
    let last = report.lines().next_back().unwrap_or_default();
    let count = match last.contains(" errors ") {
        true => format!("; {last}"),
        false => String::new(),
    };
    format!("{problem}{place}{count}.")
}

fn store_down(app: &AdminApp) -> Option<LiveFinding> {
    let health = app.reloader.state().health();
    if health.up {
        return None;
    }
    let since = health
        .since
        .map_or(String::new(), |since| format!(" since {}", rfc3339(since)));
    let last = health.last_error.map_or(String::new(), |error| {
        format!("; the operation `{}` failed last", error.operation.name())
    });
    let (severity, limits) = match (health.store, app.reloader.state().on_store_failure()) {
        ("redis", OnStoreFailure::Allow) => (
            FindingSeverity::Warning,
            "Limits of callers are not checked meanwhile",
        ),
        ("redis", OnStoreFailure::Deny) => (
            FindingSeverity::Critical,
            "Requests of callers with limits are refused meanwhile",
        ),
        _ => (
            FindingSeverity::Warning,
            "State is kept in memory meanwhile, and lost if the process ends",
        ),
    };
    Some(LiveFinding {
        severity,
        code: "store_down",
        subject: format!("state store {}", health.store),
        cause: format!(
            "The state store `{}` is unreachable{since}{last}.",
            health.store
        ),
        advice: format!(
            "Check its server, its disk and the network. {limits}; paid creates with an idempotency key are refused."
        ),
    })
}

fn draining(app: &AdminApp) -> Option<LiveFinding> {
    let is_draining = !app.ready.load(Ordering::Relaxed);
    is_draining.then(|| LiveFinding {
        severity: FindingSeverity::Notice,
        code: "draining",
        subject: "process".into(),
        cause: format!(
            "The process is stopping: it accepts no new connections, and {} requests are in flight.",
            app.metrics.in_flight().sum()
        ),
        advice: "It ends when they have ended, or after `server.limits.drain_timeout`.".into(),
    })
}

fn dropped_log_lines(app: &AdminApp) -> Option<LiveFinding> {
    let dropped = app.access_log.dropped();
    (dropped > 0).then(|| LiveFinding {
        severity: FindingSeverity::Notice,
        code: "log_lines_dropped",
        subject: "access log".into(),
        cause: format!(
            "{dropped} access log lines were dropped since the start, because what reads the log is too slow."
        ),
        advice: "Check the log shipper or the disk behind standard output.".into(),
    })
}

/// Spans of traces that were lost in the last minutes.
fn lost_spans(app: &AdminApp) -> Option<LiveFinding> {
    let traces = app.reloader.traces();
    let last = traces.last_loss()?;
    let ago = last.at.elapsed();
    let collector = |verb: &str| match &*last.reason {
        "" => format!("the collector {verb} them"),
        reason => format!("the collector {verb} them: {reason}"),
    };
    let (reason, advice) = match last.outcome {
        SpanExportOutcome::QueueFull => (
            "the queue of the exporter was full".to_owned(),
            "Check whether the collector is slow or down; else raise `tracing.queue_size`, or lower `tracing.sampling.ratio`.",
        ),
        SpanExportOutcome::Refused => (
            collector("refused"),
            "Check `tracing.endpoint`, `tracing.headers` and the limits of the collector.",
        ),
        SpanExportOutcome::Undelivered | SpanExportOutcome::Exported => (
            collector("did not take"),
            "Check the collector at `tracing.endpoint` and the network; requests are not affected.",
        ),
    };
    (ago <= SPAN_LOSS_SHOWN).then(|| LiveFinding {
        severity: FindingSeverity::Notice,
        code: "spans_lost",
        subject: "tracing".into(),
        cause: format!(
            "{} spans of traces were lost since the start, the last {} s ago, because {reason}.",
            traces.lost(),
            ago.as_secs()
        ),
        advice: advice.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::first_problem;

    #[test]
    fn a_refused_configuration_is_summed_up_in_a_sentence() {
        for (report, expected) in [
            (
                "error: unknown key `wieght`\n  --> routes.yaml:48:4 (channels.main.wieght)\n   |\n\nerror: other\n\n2 errors in routes.yaml",
                "unknown key `wieght` at routes.yaml:48:4 (channels.main.wieght); 2 errors in routes.yaml.",
            ),
            (
                "error: unknown key `a`\n  --> routes.yaml:1:2 (a)\n\n1 error in routes.yaml",
                "unknown key `a` at routes.yaml:1:2 (a).",
            ),
            ("error: cannot read routes.yaml", "cannot read routes.yaml."),
            ("", "."),
        ] {
            assert_eq!(first_problem(report), expected);
        }
    }
}

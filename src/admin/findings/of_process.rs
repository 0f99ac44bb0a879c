//! Findings about the process: its configuration, its state store, its log and what it should deliver.

use super::{Finding, FindingSeverity};
use crate::admin::AdminApp;
use crate::observe::timestamp::rfc3339;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a spool failure is reported after the last one.
const SPOOL_FAILURE_SHOWN: Duration = Duration::from_secs(600);
/// Certificates are reported for so many seconds before they expire: two weeks.
const CERTIFICATE_SHOWN_SECONDS: i64 = 14 * 24 * 3600;

pub(super) fn findings(app: &AdminApp) -> Vec<Finding> {
    [
        refused_reload(app),
        store_down(app),
        draining(app),
        dead_letters(app),
        dropped_log_lines(app),
        spool_failures(app),
    ]
    .into_iter()
    .flatten()
    .chain(expiring_certificates(app))
    .collect()
}

/// Bodies that could not be stored in the last minutes.
fn spool_failures(app: &AdminApp) -> Option<Finding> {
    let (failures, last) = app.metrics.spool.failures()?;
    (last <= SPOOL_FAILURE_SHOWN).then(|| Finding {
        severity: FindingSeverity::Critical,
        code: "spool_failing",
        subject: "spool folder".into(),
        cause: format!(
            "Large request bodies cannot be written to the spool folder; the last was refused with status 503 {} s ago, {failures} since the start.",
            last.as_secs()
        ),
        advice: "Free the disk of `server.spool`, or name another folder; the log has the error of the system.".into(),
    })
}

/// Certificates that the gateway presents and that expire soon, or have expired.
fn expiring_certificates(app: &AdminApp) -> Vec<Finding> {
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
        Finding {
            severity,
            code: "certificate_expires",
            cause: format!("The certificate of `{setting}` {verb} at {at}."),
            subject: setting,
            advice: "Renew it; that of a listener is read when the process starts, so upgrade or restart it then.".into(),
        }
    });
    findings.collect()
}

fn refused_reload(app: &AdminApp) -> Option<Finding> {
    let refusal = app.reloader.refusal()?;
    // The problem, and the line that names its place.
    let lines = refusal.report.lines().map(str::trim);
    let first: Vec<_> = lines.filter(|line| !line.is_empty()).take(2).collect();
    Some(Finding {
        severity: FindingSeverity::Warning,
        code: "reload_refused",
        subject: "configuration".into(),
        cause: format!(
            "The configuration on disk was refused at {}, and revision {} stays in use: {}",
            rfc3339(refusal.at),
            app.reloader.current().revision,
            first.join(" ")
        ),
        advice: "Mend the file; it is loaded as soon as it changes. The whole report is shown with the configuration.".into(),
    })
}

fn store_down(app: &AdminApp) -> Option<Finding> {
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
    Some(Finding {
        severity: FindingSeverity::Critical,
        code: "store_down",
        subject: format!("state store {}", health.store),
        cause: format!("The state store `{}` is unreachable{since}{last}.", health.store),
        advice: "Limits that are shared between gateways, tasks and idempotency keys depend on it: check the server, its disk, and the network.".into(),
    })
}

fn draining(app: &AdminApp) -> Option<Finding> {
    let is_draining = !app.ready.load(Ordering::Relaxed);
    is_draining.then(|| Finding {
        severity: FindingSeverity::Notice,
        code: "draining",
        subject: "process".into(),
        cause: format!(
            "The process is stopping: it accepts no new connections, and {} requests are in flight.",
            app.metrics.in_flight().get()
        ),
        advice: "It ends when they have ended, or after `server.limits.drain_timeout`.".into(),
    })
}

fn dead_letters(app: &AdminApp) -> Option<Finding> {
    let totals = app.reloader.callbacks().counters().totals();
    (totals.dead > 0).then(|| Finding {
        severity: FindingSeverity::Warning,
        code: "dead_letters",
        subject: "callbacks".into(),
        cause: format!(
            "{} events could not be delivered to their callback URLs within all attempts.",
            totals.dead
        ),
        advice:
            "Look at `GET /callbacks` for the receivers, and redrive the events once they respond."
                .into(),
    })
}

fn dropped_log_lines(app: &AdminApp) -> Option<Finding> {
    let dropped = app.access_log.dropped();
    (dropped > 0).then(|| Finding {
        severity: FindingSeverity::Notice,
        code: "log_lines_dropped",
        subject: "access log".into(),
        cause: format!(
            "{dropped} access log lines were dropped since the start, because what reads the log is too slow."
        ),
        advice: "Check the log shipper or the disk behind standard output.".into(),
    })
}

//! Findings about credentials that servers issue for channels.

use headgate_config::snapshot::Snapshot;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::credential::Credential;
use headgate_core::finding::{FindingSeverity, LiveFinding};
use headgate_core::state::clock::steady_ms;

pub(super) fn findings(snapshot: &Snapshot) -> Vec<LiveFinding> {
    let channels = snapshot.catalog.channels();
    let found = channels.flat_map(|channel| {
        let credentials = channel.credentials.iter().enumerate();
        credentials
            .filter_map(|(index, credential)| not_issued(channel, index + 1, credential))
            .collect::<Vec<_>>()
    });
    found.collect()
}

/// The finding about a credential whose last fetch failed.
fn not_issued(channel: &Channel, index: usize, credential: &Credential) -> Option<LiveFinding> {
    let report = credential.refresh_state()?.report(steady_ms());
    let error = report.error?;
    let (severity, until) = match report.valid_for {
        Some(left) => (
            FindingSeverity::Warning,
            format!("the one in use is valid for another {} s", left.as_secs()),
        ),
        None => (
            FindingSeverity::Critical,
            "there is none, and the channel gets no requests with it".to_owned(),
        ),
    };
    Some(LiveFinding {
        severity,
        code: "credential_not_issued",
        subject: format!("credential {index} of channel {}", channel.name),
        cause: format!(
            "No new credential could be fetched for channel `{}`: {error}; {until}.",
            channel.name
        ),
        advice: "Check the channel's `credential` and the account at the server that issues it. It is asked again within a minute, and after a reload of changed settings at once.".into(),
    })
}

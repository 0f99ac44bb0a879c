//! Builds the receivers of alerts.

use crate::config::{AlertReceiverConfig, AlertSeverity};
use crate::receiver::{AlertReceiver, AlertReceivers};
use headgate_core::catalog::egress::{EgressException, EgressPolicy};
use headgate_core::catalog::webhook_secret::CallerDeliverySigningKey;
use headgate_core::feature::section::{ConfigProblemSink, SectionBuildContext};
use headgate_core::finding::FindingSeverity;
use headgate_core::finding::code::FindingCode;
use headgate_protocol::nearest::nearest;
use http::Uri;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn build(
    declared: &BTreeMap<String, AlertReceiverConfig>,
    context: &SectionBuildContext<'_>,
    problems: &mut dyn ConfigProblemSink,
) -> AlertReceivers {
    let built = declared.iter().filter_map(|(name, config)| {
        let at = format!("/alerts/{name}");
        if !is_name(name) {
            let hint = "use letters, digits, `-` and `_`, at most 64 of them";
            problems.error(&at, "is no name of a receiver", Some(hint));
            return None;
        }
        let receiver = receiver(&at, config, problems)?;
        check_codes(&at, &receiver, context.finding_codes, problems);
        Some((name.clone(), Arc::new(receiver)))
    });
    AlertReceivers {
        by_name: built.collect(),
        gateway: context.gateway_name.to_owned(),
        listen: context.listen.to_owned(),
    }
}

fn receiver(
    at: &str,
    config: &AlertReceiverConfig,
    problems: &mut dyn ConfigProblemSink,
) -> Option<AlertReceiver> {
    let url = config.url.expose();
    let Some(host) = host_exception(url) else {
        let reason = "expected an `https` or `http` URL with a host and without user information";
        problems.error(&format!("{at}/url"), reason, None);
        return None;
    };
    let secret = match &config.secret {
        None => None,
        Some(secret) => match CallerDeliverySigningKey::parse(secret.expose()) {
            Ok(key) => Some(key),
            Err(reason) => {
                let hint = "generate one with `headgate key webhook`";
                problems.error(&format!("{at}/secret"), reason.to_string(), Some(hint));
                return None;
            }
        },
    };
    Some(AlertReceiver {
        url: url.to_owned(),
        secret,
        severity: match config.severity {
            AlertSeverity::Notice => FindingSeverity::Notice,
            AlertSeverity::Warning => FindingSeverity::Warning,
            AlertSeverity::Critical => FindingSeverity::Critical,
        },
        codes: config.codes.clone(),
        egress: EgressPolicy {
            allowed: vec![host],
            proxy: None,
        },
    })
}

/// Reports codes that no finding has, and those whose findings are all less severe than what is sent.
fn check_codes(
    at: &str,
    receiver: &AlertReceiver,
    known: &[FindingCode],
    problems: &mut dyn ConfigProblemSink,
) {
    let mut is_sent = receiver.codes.is_empty();
    for (index, code) in receiver.codes.iter().enumerate() {
        if let Some(known) = known.iter().find(|known| known.name == code) {
            // The most severe one is the least.
            is_sent |= known.most_severe <= receiver.severity;
            continue;
        }
        is_sent = true;
        let near = nearest(code, known.iter().map(|known| known.name), 1);
        let hint = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => "see the list of findings in docs/dashboard.md".to_owned(),
        };
        let reason = format!("no finding has the code `{code}`");
        problems.error(&format!("{at}/codes/{index}"), reason, Some(&hint));
    }
    if !is_sent {
        let least = receiver.severity.name();
        let reason =
            format!("nothing is sent: no finding of `codes` is ever as severe as `{least}`");
        let hint = "lower `severity`, whose default is `warning`";
        problems.warning(&format!("{at}/codes"), reason, Some(hint));
    }
}

/// The host and port of a URL that can be called.
fn host_exception(url: &str) -> Option<EgressException> {
    let uri: Uri = url.parse().ok()?;
    let default_port = match uri.scheme_str()? {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority = uri
        .authority()
        .filter(|authority| !authority.as_str().contains('@'))?;
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    (!host.is_empty()).then(|| EgressException::Host {
        host: host.into(),
        port: Some(authority.port_u16().unwrap_or(default_port)),
    })
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(is_part)
}

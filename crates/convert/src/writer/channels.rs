//! The section `channels`.

use super::{remarks, scalar, value};
use crate::channel_draft::{ChannelDraft, ChannelDraftSettings, CredentialDraft, CredentialForm};
use crate::scalars::duration;
use crate::source_settings::ConversionRemark;

/// Half an hour, the default of `timeouts.total`, in milliseconds.
const TOTAL_MS: u64 = 30 * 60 * 1000;

/// The default of `timeouts.first_byte`, in milliseconds.
const FIRST_BYTE_MS: u64 = 60 * 1000;

/// `remarks` are those on the sources of each channel.
pub fn write(channels: &[ChannelDraft], remarks: &[Vec<&ConversionRemark>]) -> String {
    if channels.is_empty() {
        return "channels: {}\n".to_owned();
    }
    let mut text = "channels:\n".to_owned();
    for (channel, of_channel) in channels.iter().zip(remarks) {
        text.push_str(&remarks::write(2, of_channel));
        text.push_str(&one(channel));
    }
    text
}

fn one(channel: &ChannelDraft) -> String {
    let settings = &channel.settings;
    let mut lines = vec![
        format!("  {}:", scalar(&channel.name)),
        format!("    base_url: {}", scalar(&settings.base_url)),
    ];
    match settings.credentials.as_slice() {
        [] => {}
        [one] => lines.push(format!("    credential: {}", credential(one))),
        several => {
            lines.push("    credentials:".to_owned());
            lines.extend(
                several
                    .iter()
                    .map(|one| format!("      - {}", credential(one))),
            );
        }
    }
    lines.push(format!(
        "    protocols: [{}]",
        settings.protocols.join(", ")
    ));
    lines.extend(settings.cloud.map(|cloud| format!("    cloud: {cloud}")));
    lines.push("    models:".to_owned());
    let models = channel.models.iter();
    lines.extend(models.map(|(model, own)| format!("      {}: {}", scalar(model), scalar(own))));
    if channel.models.keys().any(|model| model.contains('*')) {
        lines.push("    unpriced: allow".to_owned());
    }
    lines.extend(optional_lines(settings));
    if !channel.prices.is_empty() {
        lines.push("    prices:".to_owned());
        lines.extend(channel.prices.iter().map(|(model, prices)| {
            let prices = prices.iter().map(|(key, price)| format!("{key}: {price}"));
            let prices = prices.collect::<Vec<_>>().join(", ");
            format!("      {}: {{{prices}}}", scalar(model))
        }));
    }
    lines.join("\n") + "\n\n"
}

fn credential(credential: &CredentialDraft) -> String {
    let value = value(&credential.value);
    match credential.form {
        CredentialForm::Bearer => format!("{{bearer: {value}}}"),
        CredentialForm::ApiKey => format!("{{api_key: {value}}}"),
        CredentialForm::AzureKey => format!("{{header: {{name: api-key, value: {value}}}}}"),
        CredentialForm::ServiceAccountFile => format!("{{gcp: {{credentials_file: {value}}}}}"),
    }
}

fn optional_lines(settings: &ChannelDraftSettings) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(condition) = &settings.condition {
        lines.push(format!("    if: {}", scalar(condition)));
    }
    if let Some(weight) = settings.weight {
        lines.push(format!("    weight: {weight}"));
    }
    if settings.tier > 0 {
        lines.push(format!("    tier: {}", settings.tier));
    }
    lines.extend(timeouts(settings));
    if !settings.headers.is_empty() {
        lines.push("    headers:".to_owned());
        let headers = settings.headers.iter();
        lines.extend(
            headers.map(|(name, header)| format!("      {}: {}", scalar(name), value(header))),
        );
    }
    lines.extend(mapping(
        "limits",
        &[
            (
                "concurrent",
                settings.concurrent.map(|limit| limit.to_string()),
            ),
            (
                "requests_per_minute",
                settings.requests_per_minute.map(|limit| limit.to_string()),
            ),
            (
                "tokens_per_minute",
                settings.tokens_per_minute.map(|limit| limit.to_string()),
            ),
        ],
    ));
    let health = &settings.health;
    lines.extend(mapping(
        "health",
        &[
            (
                "consecutive_failures",
                health.consecutive_failures.map(|count| count.to_string()),
            ),
            ("cool_down", health.cool_down_ms.map(duration)),
            ("cool_down_max", health.cool_down_ms.map(duration)),
            (
                "probe",
                health
                    .probe_ms
                    .map(|interval| format!("{{interval: {}}}", duration(interval))),
            ),
        ],
    ));
    lines
}

fn timeouts(settings: &ChannelDraftSettings) -> Option<String> {
    let stream = settings.stream_timeout_ms;
    let idle = stream.or(settings.timeout_ms);
    // The first byte of a response without `stream` comes last.
    let first_byte = match settings.timeout_ms {
        Some(timeout) => Some(timeout.max(stream.unwrap_or_default())),
        None => stream.filter(|timeout| *timeout > FIRST_BYTE_MS),
    };
    mapping(
        "timeouts",
        &[
            ("first_byte", first_byte.map(duration)),
            ("idle", idle.map(duration)),
            // It ends streams, too, so it only grows.
            (
                "total",
                first_byte.filter(|time| *time > TOTAL_MS).map(duration),
            ),
        ],
    )
}

/// A mapping in one line, of the keys that have a value.
fn mapping(key: &str, entries: &[(&str, Option<String>)]) -> Option<String> {
    let entries: Vec<String> = entries
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}: {}", value.as_ref()?)))
        .collect();
    (!entries.is_empty()).then(|| format!("    {key}: {{{}}}", entries.join(", ")))
}

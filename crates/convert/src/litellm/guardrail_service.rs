//! The service of a guardrail `generic_guardrail_api`: its URL, its headers and its timeout.

use super::deployment_options::header;
use super::guardrail::Guardrail;
use super::{expanded, secret};
use crate::channel_draft::MaybeSecretValue;
use crate::naming::variable;
use crate::routes_draft::ServiceDraft;
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;

/// What LiteLLM adds to the URL of the service.
const PATH: &str = "/beta/litellm_basic_guardrail_api";
/// How long LiteLLM waits for a service.
const TIMEOUT_MS: u64 = 5000;

/// The service at this URL.
pub fn read(
    guardrail: &Guardrail<'_>,
    name: &str,
    base: &str,
    settings: &mut SourceSettingsTracker,
) -> ServiceDraft {
    let params = guardrail.params;
    let mut headers = Vec::new();
    if let Some(key) = scalars::text(&params["api_key"]) {
        let path = guardrail.at("api_key");
        let key = named(secret(&key, &path), name, "API_KEY", &path, settings);
        headers.push(("x-api-key".to_owned(), key));
    }
    for (header_name, value) in params["headers"].as_object().into_iter().flatten() {
        let path = guardrail.at(&format!("headers.{header_name}"));
        let value = scalars::text(value);
        let value = value.and_then(|value| header(header_name, &value, &path));
        if let Some(value) = value {
            let suffix = variable_part(header_name);
            let value = named(value, name, &suffix, &path, settings);
            headers.push((header_name.to_ascii_lowercase(), value));
            settings.converted(&path);
        }
    }
    let timeout = scalars::milliseconds(&params["timeout"]);
    if timeout.is_some() {
        settings.converted(&guardrail.at("timeout"));
    }
    ServiceDraft {
        name: name.to_owned(),
        url: expanded(base.trim_end_matches(PATH)) + PATH,
        headers,
        timeout_ms: timeout.unwrap_or(TIMEOUT_MS),
    }
}

/// The value, or a variable in place of a secret.
fn named(
    value: MaybeSecretValue,
    service: &str,
    suffix: &str,
    path: &str,
    settings: &mut SourceSettingsTracker,
) -> MaybeSecretValue {
    match value {
        MaybeSecretValue::Secret { .. } => {
            let name = variable(service, suffix);
            let note = format!("the secret is not copied; set the variable {name} to it");
            settings.note(path, note);
            MaybeSecretValue::Variable(name)
        }
        value => value,
    }
}

/// A name of a header as a part of the name of a variable.
fn variable_part(header: &str) -> String {
    let part = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    header.chars().map(part).collect()
}

//! The guardrail `generic_guardrail_api` of LiteLLM: a service that checks requests and responses.

use super::account_url::is_base_url;
use super::deployment_options::names_secret;
use super::guardrail::{Guardrail, TEXT_PROTOCOLS};
use super::{VARIABLE, guardrail_service};
use crate::naming::TakenNames;
use crate::routes_draft::GuardsDraft;
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use crate::yaml_text::{json_value, scalar};
use headgate_core::filter::header_name::header_name;
use serde_json::{Map, Value};

/// The texts of requests and those of responses, by protocol.
const TEXTS: [(&str, &str); 3] = [
    ("/messages", "/choices"),
    ("/system, /messages", "/content"),
    ("/instructions, /input", "/output"),
];

/// Adds the service and the steps that call it. `false` if the guardrail names no URL.
pub fn read(
    guardrail: &Guardrail<'_>,
    guards: &mut GuardsDraft,
    settings: &mut SourceSettingsTracker,
) -> bool {
    let params = guardrail.params;
    let Some(base) = scalars::text(&params["api_base"]) else {
        return false;
    };
    let base = base.trim_end_matches('/');
    if !base.starts_with(VARIABLE) && !is_base_url(base) {
        return false;
    }
    let taken = guards.services.iter().map(|service| service.name.clone());
    let name = TakenNames::new(taken.collect()).channel(guardrail.name);
    let service = guardrail_service::read(guardrail, &name, base, settings);
    guards.services.push(service);
    let on_failure = on_failure(params);
    let more_sent = shown_headers(guardrail, settings) + &parameters(guardrail, settings);
    let checks = |modes: &[&str]| guardrail.modes.iter().any(|mode| modes.contains(mode));
    for (protocol, (requests, responses)) in TEXT_PROTOCOLS.into_iter().zip(TEXTS) {
        let callout = |texts: &str, more: &str| {
            format!(
                "callout: {{service: {name}, format: litellm, on_failure: {on_failure}, send: {{max_bytes: 32MiB{more_sent}}}, allow: {{edit_body: [{texts}]}}{more}}}"
            )
        };
        if checks(&["pre_call", "during_call"]) {
            let step = guardrail.step(None, &callout(requests, ""));
            guards.requests.push((protocol, step));
        }
        if checks(&["post_call"]) && guardrail.is_default {
            let step = guardrail.step(None, &callout(responses, ", hold: {}"));
            guards.responses.push((protocol, step));
        }
    }
    remark(guardrail, settings);
    true
}

fn on_failure(params: &Value) -> &'static str {
    match params["unreachable_fallback"].as_str() {
        _ if scalars::boolean(&params["fail_on_error"]) == Some(false) => "allow",
        Some("fail_open") => "allow_unreachable",
        _ => "deny",
    }
}

/// The operator's own values for the service, as a further member of `send`; without those that may be secrets.
fn parameters(guardrail: &Guardrail<'_>, settings: &mut SourceSettingsTracker) -> String {
    let key = "additional_provider_specific_params";
    let at = guardrail.at(key);
    let mut kept = Map::new();
    for (name, value) in guardrail.params[key].as_object().into_iter().flatten() {
        if has_secret(name, value) {
            settings.unconverted(
                &format!("{at}.{name}"),
                "the value may be a secret, which is not copied",
                "add it as a variable, such as `${GUARDRAIL_TOKEN}`, to `send.parameters` of the steps that call the service",
            );
        } else {
            kept.insert(name.clone(), value.clone());
        }
    }
    for name in kept.keys() {
        settings.converted(&format!("{at}.{name}"));
    }
    match kept.is_empty() {
        true => String::new(),
        false => format!(", parameters: {}", json_value(&Value::Object(kept))),
    }
}

fn has_secret(name: &str, value: &Value) -> bool {
    match value {
        Value::String(_) => names_secret(name),
        Value::Object(members) => members.iter().any(|(name, value)| has_secret(name, value)),
        Value::Array(items) => items.iter().any(|item| has_secret(name, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The headers of requests whose values the service sees, as a further member of `send`.
fn shown_headers(guardrail: &Guardrail<'_>, settings: &mut SourceSettingsTracker) -> String {
    let mut shown = Vec::new();
    let names = guardrail.params["extra_headers"].as_array();
    for (position, name) in names.into_iter().flatten().enumerate() {
        let path = guardrail.at(&format!("extra_headers[{position}]"));
        match name.as_str().filter(|name| header_name(name).is_ok()) {
            Some(name) if names_secret(name) => settings.unconverted(
                &path,
                "a service gets no credentials of callers",
                "let the service know callers by `request_data.user_api_key_alias`",
            ),
            Some(name) => {
                settings.converted(&path);
                shown.push(scalar(&name.to_ascii_lowercase()));
            }
            None => {}
        }
    }
    match shown.is_empty() {
        true => String::new(),
        false => format!(", headers: [{}]", shown.join(", ")),
    }
}

fn remark(guardrail: &Guardrail<'_>, settings: &mut SourceSettingsTracker) {
    for key in [
        "guardrail",
        "api_base",
        "api_key",
        "unreachable_fallback",
        "fail_on_error",
    ] {
        settings.converted(&guardrail.at(key));
    }
    settings.converted(&guardrail.at("mode"));
    if guardrail.modes.contains(&"post_call") && guardrail.is_default {
        settings.note(
            &guardrail.at("mode"),
            "a stream is held until the service has decided about each window of it; texts that the service changes in a stream end it with an error, as they cannot be changed there",
        );
    }
    if guardrail.modes.contains(&"post_call") && !guardrail.is_default {
        settings.unconverted(
            &guardrail.at("mode"),
            "responses are checked for all requests of a route, since a caller could leave the name of the guardrail out",
            "add a step that calls the service to `response` of the routes whose responses are to be checked",
        );
    }
}

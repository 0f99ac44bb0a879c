//! The guardrail `generic_guardrail_api` of LiteLLM: a service that checks requests and responses.

use super::account_url::is_base_url;
use super::guardrail::{Guardrail, TEXT_PROTOCOLS};
use super::{VARIABLE, expanded, secret};
use crate::channel_draft::MaybeSecretValue;
use crate::naming::{TakenNames, variable};
use crate::routes_draft::{GuardsDraft, ServiceDraft};
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;

/// What LiteLLM adds to the URL of the service.
const PATH: &str = "/beta/litellm_basic_guardrail_api";
/// The texts of requests, by protocol.
const FIELDS: [&str; 3] = [
    "/messages, /tools",
    "/system, /messages, /tools",
    "/instructions, /input, /tools",
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
    let key = scalars::text(&params["api_key"]);
    let key = key.map(|key| key_header(guardrail, &name, &key, settings));
    guards.services.push(ServiceDraft {
        name: name.clone(),
        url: expanded(base.trim_end_matches(PATH)) + PATH,
        headers: key.into_iter().collect(),
    });
    let on_failure = match params["unreachable_fallback"].as_str() {
        Some("fail_open") => "allow",
        _ => "deny",
    };
    let checks = |modes: &[&str]| guardrail.modes.iter().any(|mode| modes.contains(mode));
    for (protocol, fields) in TEXT_PROTOCOLS.into_iter().zip(FIELDS) {
        if checks(&["pre_call", "during_call"]) {
            let filter = format!(
                "callout: {{service: {name}, on_failure: {on_failure}, send: {{fields: [{fields}], max_bytes: 32MiB}}}}"
            );
            let step = guardrail.step(None, &filter);
            guards.requests.push((protocol, step));
        }
        if checks(&["post_call"]) && guardrail.is_default {
            let filter =
                format!("callout: {{service: {name}, on_failure: {on_failure}, hold: {{}}}}");
            let step = guardrail.step(None, &filter);
            guards.responses.push((protocol, step));
        }
    }
    remark(guardrail, settings);
    true
}

fn key_header(
    guardrail: &Guardrail<'_>,
    service: &str,
    key: &str,
    settings: &mut SourceSettingsTracker,
) -> (String, MaybeSecretValue) {
    let path = guardrail.at("api_key");
    let value = match secret(key, &path) {
        MaybeSecretValue::Secret { .. } => {
            let name = variable(service, "API_KEY");
            let note = format!("the secret is not copied; set the variable {name} to it");
            settings.note(&path, note);
            MaybeSecretValue::Variable(name)
        }
        value => value,
    };
    ("x-api-key".to_owned(), value)
}

fn remark(guardrail: &Guardrail<'_>, settings: &mut SourceSettingsTracker) {
    settings.unconverted(
        &guardrail.at("guardrail"),
        "Headgate calls the service with a request of its own form, and expects a response of its own form, see docs/filters/callout.md",
        "let the service take and send these forms, or a small program before it; until then requests with this guardrail end as they do if the service is unreachable",
    );
    for key in ["api_base", "api_key", "unreachable_fallback"] {
        settings.converted(&guardrail.at(key));
    }
    settings.converted(&guardrail.at("mode"));
    if guardrail.modes.contains(&"post_call") && !guardrail.is_default {
        settings.unconverted(
            &guardrail.at("mode"),
            "responses are checked for all requests of a route, since a caller could leave the name of the guardrail out",
            "add a step that calls the service to `response` of the routes whose responses are to be checked",
        );
    }
    settings.unconverted_rest(
        &guardrail.at("additional_provider_specific_params"),
        "a service gets no parameters of the gateway's configuration but headers",
        "write them into `headers` of the service, or into its own configuration",
    );
}

//! `guardrails` of a LiteLLM configuration: checks of requests and responses.

use super::guardrail::{Guardrail, TEXT_PROTOCOLS};
use super::{generic_guardrail, tool_permission};
use crate::routes_draft::GuardsDraft;
use crate::source_settings::SourceSettingsTracker;
use serde_json::Value;

/// Removes the names of guardrails from requests, which no provider knows.
const REMOVAL: &str = "{edit_json: {remove: [/guardrails]}}";

/// The checks of the result; guardrails that have none are remarked on.
pub fn read(config: &Value, settings: &mut SourceSettingsTracker) -> GuardsDraft {
    let mut guards = GuardsDraft::default();
    let mut is_named = false;
    let entries = config["guardrails"].as_array();
    for (at, entry) in entries.into_iter().flatten().enumerate() {
        let path = format!("guardrails[{at}]");
        let kind = entry["litellm_params"]["guardrail"].as_str();
        let guardrail = Guardrail::new(&path, entry);
        let is_read = guardrail.is_some_and(|guardrail| {
            let is_read = match kind {
                Some("tool_permission") => tool_permission::read(&guardrail, &mut guards, settings),
                Some("generic_guardrail_api") => {
                    generic_guardrail::read(&guardrail, &mut guards, settings)
                }
                _ => false,
            };
            if is_read {
                guardrail.remark(settings);
                is_named |= !guardrail.is_default;
            }
            is_read
        });
        if !is_read {
            settings.unconverted(
                &path,
                "Headgate has no such guardrail",
                "call a service or run a plugin, see docs/filters/callout.md and docs/plugins.md",
            );
        }
    }
    if is_named {
        let removals = TEXT_PROTOCOLS.map(|protocol| (protocol, REMOVAL.to_owned()));
        guards.requests.extend(removals);
    }
    guards
}

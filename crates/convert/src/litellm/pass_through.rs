//! `pass_through_endpoints` of a LiteLLM configuration: paths that are passed on to a server of their own.

use super::account_url::is_base_url;
use super::deployment_options::header;
use super::{VARIABLE, expanded};
use crate::channel_draft::{ChannelDraft, ChannelDraftSettings};
use crate::routes_draft::PassThroughDraft;
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use serde_json::Value;

const SECTION: &str = "general_settings.pass_through_endpoints";
/// The protocols of the result, one for each endpoint.
const PROTOCOLS: [&str; 8] = [
    "pass_through_1",
    "pass_through_2",
    "pass_through_3",
    "pass_through_4",
    "pass_through_5",
    "pass_through_6",
    "pass_through_7",
    "pass_through_8",
];
const NOTE: &str = "a channel and a route pass requests on; callers need a key, also where LiteLLM takes requests without one";

/// The endpoints, each with a channel, which is added to `channels`.
pub fn read(
    config: &Value,
    channels: &mut Vec<ChannelDraft>,
    settings: &mut SourceSettingsTracker,
) -> Vec<PassThroughDraft> {
    let entries = config["general_settings"]["pass_through_endpoints"].as_array();
    let mut drafts = Vec::new();
    for (at, entry) in entries.into_iter().flatten().enumerate() {
        let path = format!("{SECTION}[{at}]");
        let Some(protocol) = PROTOCOLS.get(drafts.len()) else {
            break;
        };
        let Some((endpoint, target)) = endpoint(entry) else {
            settings.unconverted(
                &path,
                "only endpoints with `include_subpath`, a plain path and a URL as `target` are routes to a channel",
                "add a channel and a route with a protocol of your own, see docs/endpoints/declared.md",
            );
            continue;
        };
        let mut channel = ChannelDraftSettings::new(target, vec![*protocol]);
        for (name, value) in entry["headers"].as_object().into_iter().flatten() {
            let path = format!("{path}.headers.{name}");
            let value = scalars::text(value).and_then(|value| header(name, &value, &path));
            if let Some(value) = value {
                channel.headers.push((name.clone(), value));
                settings.converted(&path);
            }
        }
        settings.converted_with_note(&format!("{path}.path"), NOTE);
        settings.converted(&format!("{path}.target"));
        settings.converted(&format!("{path}.include_subpath"));
        let model = (*protocol).to_owned();
        channels.push(ChannelDraft {
            name: endpoint.clone(),
            settings: channel,
            models: [(model.clone(), model)].into(),
            prices: Default::default(),
            sources: vec![path],
        });
        drafts.push(PassThroughDraft {
            protocol,
            path: endpoint,
        });
    }
    drafts
}

/// The path of an endpoint without a slash at its end, and its target as routes.yaml has it.
fn endpoint(entry: &Value) -> Option<(String, String)> {
    let path = entry["path"].as_str()?.trim_end_matches('/');
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
    let is_plain = path.len() > 1 && path.starts_with('/') && path.chars().all(allowed);
    let has_subpaths = scalars::boolean(&entry["include_subpath"]) == Some(true);
    let target = entry["target"].as_str()?.trim_end_matches('/');
    let is_url = target.starts_with(VARIABLE) || is_base_url(target);
    (is_plain && has_subpaths && is_url && !path.contains("//"))
        .then(|| (path.to_owned(), expanded(target)))
}

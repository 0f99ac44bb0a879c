//! Channels of new-api: each row of the export is a channel.

use super::channel_types::{self, AZURE, CLOUDFLARE, CUSTOM, ChannelType};
use crate::channel_draft::{ChannelDraft, ChannelDraftSettings, CredentialDraft, MaybeSecretValue};
use crate::litellm::{header, is_base_url, other_api};
use crate::naming::{is_literal_model_name, literal};
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// `status` of a channel that is in use.
const ENABLED: f64 = 1.0;
/// Steps of a mapping of models that are followed.
const MAPPING_STEPS_MAX: usize = 16;

/// Why a row is no channel, and what to do instead.
struct ChannelRowRejection {
    why: String,
    instead: &'static str,
}

/// The channels of the rows; what has no counterpart is remarked on.
pub fn read(
    names: &[String],
    rows: &[Value],
    settings: &mut SourceSettingsTracker,
) -> Vec<ChannelDraft> {
    let priorities: BTreeSet<i64> = rows.iter().map(priority).collect();
    let mut channels = Vec::new();
    for (at, (name, row)) in names.iter().zip(rows).enumerate() {
        let path = format!("channels[{at}]");
        match read_one(name, &path, row, settings) {
            Ok(mut channel) => {
                let higher = priorities.range(priority(row) + 1..).count();
                channel.settings.tier = u8::try_from(higher).unwrap_or(u8::MAX);
                settings.converted(&format!("{path}.priority"));
                read_options(&path, row, rows, &mut channel, settings);
                channels.push(channel);
            }
            Err(ChannelRowRejection { why, instead }) => settings.unconverted(&path, &why, instead),
        }
    }
    channels
}

fn read_one(
    name: &str,
    path: &str,
    row: &Value,
    settings: &mut SourceSettingsTracker,
) -> Result<ChannelDraft, ChannelRowRejection> {
    let unusable = |why: String, instead| ChannelRowRejection { why, instead };
    let status = &row["status"];
    if !status.is_null() && scalars::number(status) != Some(ENABLED) {
        let why = "the channel is disabled, so it is left out".into();
        return Err(unusable(
            why,
            "enable it in new-api and convert again, if it is to be used",
        ));
    }
    let number = row["type"].as_u64().unwrap_or_default();
    let Some(channel_type) = channel_types::find_by_number(number) else {
        let why = format!(
            "Headgate does not speak the protocol of type {number}, or this command does not know the type"
        );
        return Err(unusable(why, channel_types::alternative(number)));
    };
    let base_url = base_url(number, channel_type, row)?;
    let mut draft = ChannelDraft {
        name: name.to_owned(),
        settings: ChannelDraftSettings::new(base_url, channel_type.protocols.to_vec()),
        models: read_models(path, row, settings),
        prices: Default::default(),
        sources: vec![path.to_owned()],
    };
    if draft.models.is_empty() {
        let why = "the channel has no model of an API that Headgate serves".into();
        return Err(unusable(
            why,
            "let callers send these requests to the provider",
        ));
    }
    draft.settings.credentials = credentials(path, channel_type, row, settings);
    for key in ["status", "base_url", "key"] {
        settings.converted(&format!("{path}.{key}"));
    }
    match channel_type.note {
        Some(note) => settings.converted_with_note(&format!("{path}.type"), note),
        None => settings.converted(&format!("{path}.type")),
    }
    match number {
        AZURE => settings.unconverted(
            &format!("{path}.other"),
            "Azure's v1 API has no dated versions",
            "nothing is to be done, unless the resource has no v1 API",
        ),
        CLOUDFLARE => settings.converted(&format!("{path}.other")),
        _ => {}
    }
    Ok(draft)
}

fn base_url(
    number: u64,
    channel_type: &ChannelType,
    row: &Value,
) -> Result<String, ChannelRowRejection> {
    let given = row["base_url"].as_str().unwrap_or(channel_type.default_url);
    let given = given.trim().trim_end_matches('/');
    let whole = match number {
        CUSTOM => match given.strip_suffix("/chat/completions") {
            Some(base) => base.to_owned(),
            None => String::new(),
        },
        CLOUDFLARE => match scalars::text(&row["other"]) {
            Some(account) => format!("{given}/client/v4/accounts/{account}/ai/v1"),
            None => String::new(),
        },
        _ if given.is_empty() => String::new(),
        _ => format!("{given}{}", channel_type.path),
    };
    match is_base_url(&whole) && !whole.contains(['{', '}']) {
        true => Ok(literal(&whole)),
        false => Err(ChannelRowRejection {
            why: "the channel has no URL that a channel can have: http or https, without user, query and placeholders, ending in /chat/completions for type 8"
                .into(),
            instead: "write the channel by hand",
        }),
    }
}

/// Models by the name that callers use, each with the provider's.
fn read_models(
    path: &str,
    row: &Value,
    settings: &mut SourceSettingsTracker,
) -> BTreeMap<String, String> {
    let mapping = &row["model_mapping"];
    let listed = row["models"].as_str().unwrap_or_default();
    let (served, others): (Vec<&str>, Vec<&str>) = listed
        .split(',')
        .map(str::trim)
        .filter(|model| !model.is_empty())
        .partition(|model| is_literal_model_name(model) && other_api(model, None).is_none());
    settings.converted(&format!("{path}.models"));
    if !others.is_empty() {
        settings.note(
            &format!("{path}.models"),
            format!(
                "{} of the models are left out: they are of APIs that Headgate does not serve, or have a name that it cannot use",
                others.len()
            ),
        );
    }
    for (from, _) in mapping.as_object().into_iter().flatten() {
        let at = format!("{path}.model_mapping.{from}");
        match served.contains(&from.as_str()) || is_step(from, mapping) {
            true => settings.converted(&at),
            false => settings.unconverted(
                &at,
                "the model is not in `models` of the channel",
                "add it to `models` of the channel, if callers use it",
            ),
        }
    }
    let models = served.into_iter();
    models
        .map(|model| (model.to_owned(), literal(mapped(model, mapping))))
        .collect()
}

/// The provider's name for a model; a mapping may have several steps.
fn mapped<'m>(model: &'m str, mapping: &'m Value) -> &'m str {
    let mut name = model;
    for _ in 0..MAPPING_STEPS_MAX {
        match mapping[name].as_str() {
            Some(next) if !next.is_empty() && next != name => name = next,
            _ => break,
        }
    }
    name
}

/// Whether another entry of a mapping leads to this name.
fn is_step(name: &str, mapping: &Value) -> bool {
    let mut entries = mapping.as_object().into_iter().flatten();
    entries.any(|(_, target)| target.as_str() == Some(name))
}

fn credentials(
    path: &str,
    channel_type: &ChannelType,
    row: &Value,
    settings: &mut SourceSettingsTracker,
) -> Vec<CredentialDraft> {
    let key = row["key"].as_str().unwrap_or_default();
    let path_of_key = format!("{path}.key");
    let statuses = &row["channel_info"]["multi_key_status_list"];
    let lines = key.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut secrets: Vec<Option<String>> = Vec::new();
    for (at, line) in lines.enumerate() {
        let status = scalars::number(&statuses[at.to_string().as_str()]).unwrap_or(ENABLED);
        let path = format!("{path}.channel_info.multi_key_status_list.{at}");
        match status == ENABLED {
            true => secrets.push(Some(line.to_owned())),
            false => settings.note(&path, "the key is disabled, so it is left out"),
        }
        settings.converted(&path);
    }
    if let Some("random" | "polling") = row["channel_info"]["multi_key_mode"].as_str() {
        let note = "keys are used round robin";
        settings.converted_with_note(&format!("{path}.channel_info.multi_key_mode"), note);
    }
    if secrets.is_empty() {
        secrets.push(None);
    }
    let credential = |secret| CredentialDraft {
        form: channel_type.form,
        value: MaybeSecretValue::Secret {
            path: path_of_key.clone(),
            secret,
        },
    };
    secrets.into_iter().map(credential).collect()
}

/// Weight, groups, headers and what else a row may have.
fn read_options(
    path: &str,
    row: &Value,
    rows: &[Value],
    channel: &mut ChannelDraft,
    settings: &mut SourceSettingsTracker,
) {
    let at = |key: &str| format!("{path}.{key}");
    let weight = scalars::number(&row["weight"]).unwrap_or_default();
    let mut same_tier = rows.iter().filter(|other| priority(other) == priority(row));
    let all_zero =
        same_tier.all(|other| scalars::number(&other["weight"]).unwrap_or_default() == 0.0);
    if (1.0..=1000.0).contains(&weight) {
        channel.settings.weight = Some(weight as u64);
        settings.converted(&at("weight"));
    } else if all_zero {
        settings.converted(&at("weight"));
    } else {
        let why = "a weight is 1 to 1000; the channel has the default, 1";
        settings.unconverted(&at("weight"), why, "scale all weights");
    }
    if row["group"]
        .as_str()
        .is_none_or(|group| group.trim() == "default")
    {
        settings.converted(&at("group"));
    }
    match scalars::number(&row["auto_ban"]) {
        Some(1.0) => settings.converted_with_note(
            &at("auto_ban"),
            "a channel that fails enters a cool-down and comes back by itself",
        ),
        Some(_) => {
            channel.settings.health.consecutive_failures = Some(0);
            settings.converted(&at("auto_ban"));
        }
        None => {}
    }
    let mut headers: Vec<(String, String, String)> = Vec::new();
    if let Some(organization) = scalars::text(&row["openai_organization"]) {
        headers.push((
            "openai-organization".into(),
            organization,
            at("openai_organization"),
        ));
    }
    for (name, value) in row["header_override"].as_object().into_iter().flatten() {
        // Names with a colon are patterns, values with a brace are templates.
        if let Some(value) = scalars::text(value).filter(|value| !value.contains('{')) {
            headers.push((name.clone(), value, at(&format!("header_override.{name}"))));
        }
    }
    for (name, value, path) in headers {
        let is_credential = matches!(
            name.to_ascii_lowercase().as_str(),
            "authorization" | "x-api-key" | "api-key"
        );
        if let Some(value) = header(&name, &value, &path).filter(|_| !is_credential) {
            channel.settings.headers.push((name, value));
            settings.converted(&path);
        }
    }
    remark_known(path, row, settings);
}

/// Remarks on settings that are known to have no counterpart.
fn remark_known(path: &str, row: &Value, settings: &mut SourceSettingsTracker) {
    let bodies = "channels do not change bodies";
    let edits = "add a step to the route, see docs/filters/edit_json.md, with the condition `if: model == \"…\"`";
    for (key, why, instead) in [
        ("param_override", bodies, edits),
        (
            "status_code_mapping",
            "callers get the status of the provider",
            "let callers handle the status of the provider",
        ),
        ("setting.system_prompt", bodies, edits),
        (
            "setting.proxy",
            "channels connect to providers directly",
            "let the network route the provider's addresses",
        ),
        (
            "header_override",
            "headers are fixed values with a name of their own",
            "set `headers` of the channel, or headers of the route, see docs/filters/set_headers.md",
        ),
    ] {
        let value = key.split('.').fold(row, |value, key| &value[key]);
        if !value.is_null() {
            let path = format!("{path}.{key}");
            settings.unconverted_rest(&path, why, instead);
        }
    }
    if row["group"]
        .as_str()
        .is_some_and(|group| group.trim() != "default")
    {
        settings.unconverted(
            &format!("{path}.group"),
            "there are no groups of callers",
            "name the models of each caller in `callers[].models`, or set `if` of the channel, such as `if: caller == \"…\"`",
        );
    }
}

fn priority(row: &Value) -> i64 {
    row["priority"].as_i64().unwrap_or_default()
}

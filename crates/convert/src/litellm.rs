//! Reads a config.yaml of LiteLLM.

mod account_url;
mod adaptive_router;
mod bedrock;
mod body_edits;
mod covered;
mod deployment;
mod deployment_options;
mod deployments;
mod fallbacks;
mod files;
mod generic_guardrail;
mod global_settings;
mod guardrail;
mod guardrail_service;
mod guardrails;
mod model_api;
mod pass_through;
mod providers;
mod section_reader;
mod store_settings;
mod tags;
mod tool_permission;
mod unsupported;
mod vertex;

use super::Conversion;
use super::channel_draft::{ChannelDraft, ChannelDraftSettings, MaybeSecretValue, name_all};
use super::naming::{is_variable, literal};
use super::routes_draft::RoutesDraft;
use super::source_settings::SourceSettingsTracker;
pub use account_url::is_base_url;
use deployment::Deployment;
pub use deployment_options::header;
pub use deployments::other_api;
use global_settings::GlobalSettings;
use serde_json::Value;
use std::collections::HashMap;

/// What begins a reference to a variable.
const VARIABLE: &str = "os.environ/";

/// The draft of a config.yaml.
///
/// # Errors
/// A sentence, if the file is no such configuration.
pub fn read(config: &Value) -> Result<Conversion, String> {
    if !config.is_object() || config.get("model_list").is_none_or(|list| !list.is_array()) {
        return Err("a LiteLLM configuration has a list `model_list`".into());
    }
    let mut settings = SourceSettingsTracker::from_file(config);
    let global = GlobalSettings::read(config, &mut settings);
    let deployments = deployments::read(&config["model_list"], &global, &mut settings);
    let of_deployments = deployment_options::max_attempts(&config["model_list"], &mut settings);
    let mut channels = grouped(deployments);
    add_aliases(config, &mut channels, &mut settings);
    let fallbacks = fallbacks::read(&global.fallbacks, &channels, &mut settings);
    let pass_through = pass_through::read(config, &mut channels, &mut settings);
    let files = files::read(config, &mut channels, &mut settings);
    let guards = guardrails::read(config, &mut settings);
    name_all(&mut channels, &mut settings);
    covered::remark(&mut settings);
    unsupported::remark(&mut settings);
    settings.remark_unread(|path| match path.starts_with("model_list") {
        true => 3,
        false => 2,
    });
    let routes = RoutesDraft {
        source: "a LiteLLM configuration",
        caller: "master",
        key_digest: global.key_digest,
        channels,
        fallbacks,
        max_attempts: global.max_attempts.or(of_deployments),
        cache: global.cache,
        redis: global.redis,
        pass_through,
        files,
        guards,
        has_traces: global.has_traces,
        refuses_tags: global.refuses_tags,
        restores_model: true,
        short_paths: true,
    };
    Ok(Conversion { routes, settings })
}

/// Puts models of the same account into one channel, unless limits or a second deployment of a model set them apart.
fn grouped(deployments: Vec<Deployment>) -> Vec<ChannelDraft> {
    let mut channels: Vec<ChannelDraft> = Vec::new();
    // The channels of each account without limits, in their order.
    let mut accounts: HashMap<String, Vec<usize>> = HashMap::new();
    // How many of an account's channels have a model: the first ones.
    let mut served: HashMap<(String, String), usize> = HashMap::new();
    for deployment in deployments {
        let settings = &deployment.settings;
        let has_limits = settings.concurrent.is_some()
            || settings.requests_per_minute.is_some()
            || settings.tokens_per_minute.is_some();
        let account = account_key(settings);
        let removals = settings.removals.clone();
        let serving = served
            .entry((account.clone(), deployment.group.clone()))
            .or_default();
        let same = accounts.entry(account).or_default();
        let at = match same.get(*serving) {
            Some(at) if !has_limits => *at,
            _ => {
                let at = channels.len();
                channels.push(ChannelDraft {
                    name: match &deployment.settings.id {
                        Some(id) => id.clone(),
                        None => deployment.provider.to_owned(),
                    },
                    settings: deployment.settings,
                    models: Default::default(),
                    prices: Default::default(),
                    sources: Vec::new(),
                });
                if !has_limits {
                    same.push(at);
                }
                at
            }
        };
        *serving += usize::from(!has_limits);
        let channel = &mut channels[at];
        for removal in removals {
            if !channel.settings.removals.contains(&removal) {
                channel.settings.removals.push(removal);
            }
        }
        if !deployment.prices.is_empty() {
            let prices = deployment.prices;
            channel.prices.insert(deployment.group.clone(), prices);
        }
        channel
            .models
            .insert(deployment.group, deployment.channel_model);
        channel.sources.push(deployment.path);
    }
    channels
}

/// A text that equal settings share, wherever their secrets are in the file.
fn account_key(settings: &ChannelDraftSettings) -> String {
    let mut settings = settings.clone();
    // Those for kinds of models are of no account.
    settings
        .removals
        .retain(|removal| removal.models.is_empty());
    let credentials = settings.credentials.iter_mut().map(|one| &mut one.value);
    let headers = settings.headers.iter_mut().map(|(_, value)| value);
    for value in credentials.chain(headers) {
        if let MaybeSecretValue::Secret { path, .. } = value {
            path.clear();
        }
    }
    format!("{settings:?}")
}

/// `model_group_alias`: another name for a model.
fn add_aliases(
    config: &Value,
    channels: &mut [ChannelDraft],
    settings: &mut SourceSettingsTracker,
) {
    let mut serving = serving_channels(channels);
    for section in ["router_settings", "litellm_settings"] {
        let Some(aliases) = config[section]["model_group_alias"].as_object() else {
            continue;
        };
        for (alias, target) in aliases {
            let path = format!("{section}.model_group_alias.{alias}");
            let model = target.as_str().or_else(|| target["model"].as_str());
            let model = model.unwrap_or_default();
            let served = serving.get(model).cloned().unwrap_or_default();
            for at in &served {
                let channel = &mut channels[*at];
                let own = channel.models[model].clone();
                channel.models.entry(alias.clone()).or_insert(own);
                if let Some(prices) = channel.prices.get(model).cloned() {
                    channel.prices.insert(alias.clone(), prices);
                }
            }
            let is_served = !served.is_empty();
            let known = serving.entry(alias.clone()).or_default();
            known.extend(served);
            known.sort_unstable();
            known.dedup();
            match is_served && super::naming::is_literal_model_name(alias) {
                true => settings.converted(&path),
                false => settings.unconverted(
                    &path,
                    "no channel of the result serves the model",
                    "add the alias to `models` of the channel that serves it",
                ),
            }
            if is_served && target["hidden"] == true {
                settings.unconverted(
                    &format!("{path}.hidden"),
                    "GET /v1/models lists every model that the caller may use",
                    "leave the alias out of `models` of callers who must not see it",
                );
            }
        }
    }
}

/// For each model, the channels that serve it, in their order.
fn serving_channels(channels: &[ChannelDraft]) -> HashMap<String, Vec<usize>> {
    let mut serving: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, channel) in channels.iter().enumerate() {
        for model in channel.models.keys() {
            serving.entry(model.clone()).or_default().push(at);
        }
    }
    serving
}

/// A text of the configuration that may be a reference to a variable, as routes.yaml has it.
fn expanded(text: &str) -> String {
    match text.strip_prefix(VARIABLE) {
        Some(name) if is_variable(name) => super::naming::reference(name),
        _ => literal(text),
    }
}

/// A secret of the configuration.
fn secret(text: &str, path: &str) -> MaybeSecretValue {
    match text.strip_prefix(VARIABLE) {
        Some(name) if is_variable(name) => MaybeSecretValue::Variable(name.to_owned()),
        Some(_) => MaybeSecretValue::Secret {
            path: path.to_owned(),
            secret: None,
        },
        None => MaybeSecretValue::Secret {
            path: path.to_owned(),
            secret: Some(text.to_owned()),
        },
    }
}

/// The variable of a key's digest, from that of the key.
fn digest_variable(key: Option<&str>) -> String {
    let name = key.and_then(|key| key.strip_prefix(VARIABLE));
    let name = name.filter(|name| is_variable(name));
    format!("{}_SHA256", name.unwrap_or("LITELLM_MASTER_KEY"))
}

/// A part of a URL that may be a reference to a variable.
fn url_part(value: &Value, default_variable: &str) -> String {
    match super::scalars::text(value) {
        Some(text) => expanded(&text),
        None => super::naming::reference(default_variable),
    }
}

//! `model_list` of a LiteLLM configuration: each entry is a model at a provider.

use super::deployment::Deployment;
use super::global_settings::GlobalSettings;
use super::providers::{LitellmProvider, provider_for_model};
use super::{VARIABLE, deployment_options, expanded, secret};
use crate::channel_draft::{ChannelDraftSettings, CredentialDraft, HealthDraft, MaybeSecretValue};
use crate::naming::{is_model_name, literal};
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use http::Uri;
use serde_json::Value;
use std::collections::BTreeMap;

/// Why an entry is no channel, and what to do instead.
struct DeploymentRejection {
    why: String,
    instead: &'static str,
}

/// What `unpriced: allow` in the result means.
const PATTERN_NOTE: &str = "the channel serves every model that the pattern matches, at any price, as LiteLLM does; with `prices` and without `unpriced: allow` it serves only models that have a price";

/// The entries that a channel can serve; the others are remarked on.
pub fn read(
    list: &Value,
    global: &GlobalSettings,
    settings: &mut SourceSettingsTracker,
) -> Vec<Deployment> {
    let entries = list.as_array().map_or(&[][..], Vec::as_slice);
    let scale = deployment_options::weight_scale(entries);
    let mut deployments = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let path = format!("model_list[{at}]");
        match read_one(&path, entry, global, settings) {
            Ok(mut deployment) => {
                deployment_options::read(entry, scale, &mut deployment, settings);
                deployments.push(deployment);
            }
            Err(DeploymentRejection { why, instead }) => settings.unconverted(&path, &why, instead),
        }
    }
    set_tiers(&mut deployments);
    deployments
}

fn read_one(
    path: &str,
    entry: &Value,
    global: &GlobalSettings,
    settings: &mut SourceSettingsTracker,
) -> Result<Deployment, DeploymentRejection> {
    let unusable = |why: String, instead| DeploymentRejection { why, instead };
    let params = &entry["litellm_params"];
    let (Some(group), Some(model)) = (entry["model_name"].as_str(), params["model"].as_str())
    else {
        let why = "the entry has no `model_name`, or no `litellm_params.model`".into();
        return Err(unusable(why, "remove it, or write the channel by hand"));
    };
    let stars = |name: &str| name.matches('*').count();
    if stars(group) > 1 || stars(model) > stars(group) {
        let why = "a pattern of models has one `*`, and the provider's name one at most".into();
        return Err(unusable(
            why,
            "add a channel for the provider, with a line in `models` for each model or pattern that callers use",
        ));
    }
    let named = params["custom_llm_provider"].as_str();
    let (provider, own) = provider_for_model(model, named).map_err(|provider| {
        let why = format!("Headgate does not speak the protocol of the provider of `{provider}`, or this command does not know the provider");
        unusable(why, "if the provider has an OpenAI-compatible URL, add a channel with it and `protocols: [chat]`")
    })?;
    if !is_model_name(group) || !is_model_name(own) {
        let why = "the model has no name, or one that is too long or has control characters".into();
        return Err(unusable(why, "write the channel by hand"));
    }
    if let Some(api) = other_api(own, entry["model_info"]["mode"].as_str()) {
        let why = format!("the model is one of an API that Headgate does not serve ({api})");
        return Err(unusable(
            why,
            "let callers send these requests to the provider",
        ));
    }
    let (base_url, is_official) = base_url(provider, params)?;
    let mut protocols = provider.protocols.to_vec();
    if provider.prefix == "openai" && is_official {
        protocols.push("responses");
    }
    let mut channel = ChannelDraftSettings::new(base_url, protocols);
    let at = |key: &str| format!("{path}.litellm_params.{key}");
    channel
        .credentials
        .extend(credential(provider, params, &at("api_key")));
    channel.timeout_ms = global.timeout_ms;
    channel.health = HealthDraft {
        consecutive_failures: global.consecutive_failures,
        cool_down_ms: global.cool_down_ms,
        probe_ms: global.probe_ms,
    };
    match stars(group) {
        0 => settings.converted(&format!("{path}.model_name")),
        _ => settings.converted_with_note(&format!("{path}.model_name"), PATTERN_NOTE),
    }
    settings.converted(&format!("{path}.model_info.mode"));
    for key in ["api_base", "base_url", "api_key", "custom_llm_provider"] {
        settings.converted(&at(key));
    }
    match provider.note {
        Some(note) => settings.converted_with_note(&at("model"), note),
        None => settings.converted(&at("model")),
    }
    Ok(Deployment {
        path: path.to_owned(),
        group: group.to_owned(),
        provider: provider.prefix,
        channel_model: literal(own),
        settings: channel,
        prices: Vec::new(),
        order: None,
    })
}

/// The base URL, and whether it is that of the provider itself.
fn base_url(
    provider: &LitellmProvider,
    params: &Value,
) -> Result<(String, bool), DeploymentRejection> {
    let given = params["api_base"].as_str().or(params["base_url"].as_str());
    let (url, is_official) = match (given.filter(|url| !url.is_empty()), provider.default_url) {
        (Some(url), default) => (url, default == Some(url.trim_end_matches('/'))),
        (None, Some(default)) => (default, true),
        (None, None) => {
            return Err(DeploymentRejection {
                why: "the entry has no `api_base`, and the provider has no URL of its own".into(),
                instead: "add a channel with the URL of your server",
            });
        }
    };
    let url = url.trim_end_matches('/');
    if !url.starts_with(VARIABLE) && !is_base_url(url) {
        return Err(DeploymentRejection {
            why: "`api_base` is not an http or https URL without user, query and fragment".into(),
            instead: "add a channel with such a URL; its secrets belong into `credential`",
        });
    }
    let url = match provider.prefix {
        "anthropic" => url.trim_end_matches("/v1/messages").to_owned(),
        // The old API has the deployment in the path.
        "azure" => url.split("/openai/").next().unwrap_or(url).to_owned(),
        _ => url.to_owned(),
    };
    let mut base = expanded(&url);
    if !base.ends_with(provider.path) {
        base.push_str(provider.path);
    }
    Ok((base, is_official))
}

/// Whether a channel can have this base URL.
pub fn is_base_url(url: &str) -> bool {
    let is_http = url.starts_with("https://") || url.starts_with("http://");
    let parsed = url.parse::<Uri>();
    is_http
        && !url.contains('#')
        && parsed.is_ok_and(|uri| {
            let host = uri.host().is_some_and(|host| !host.is_empty());
            let user = uri
                .authority()
                .is_some_and(|whole| whole.as_str().contains('@'));
            host && !user && uri.query().is_none()
        })
}

fn credential(provider: &LitellmProvider, params: &Value, path: &str) -> Option<CredentialDraft> {
    let value = match (scalars::text(&params["api_key"]), provider.key_variable) {
        (Some(key), _) => secret(&key, path),
        // The key is in a list of credentials, by a name.
        (None, _) if params.get("litellm_credential_name").is_some() => MaybeSecretValue::Secret {
            path: path.to_owned(),
            secret: None,
        },
        (None, Some(variable)) => MaybeSecretValue::Variable(variable.to_owned()),
        (None, None) => return None,
    };
    Some(CredentialDraft {
        form: provider.form,
        value,
    })
}

/// The API of a model that is neither for chat nor for responses.
pub fn other_api<'m>(model: &'m str, mode: Option<&'m str>) -> Option<&'m str> {
    const PARTS: [&str; 9] = [
        "embed",
        "dall-e",
        "whisper",
        "tts-",
        "rerank",
        "moderation",
        "gpt-image",
        "realtime",
        "transcribe",
    ];
    match mode {
        Some("chat" | "responses") => None,
        Some(mode) => Some(mode),
        None => PARTS.into_iter().find(|part| model.contains(part)),
    }
}

/// Tiers from `order`: LiteLLM prefers deployments that have one.
fn set_tiers(deployments: &mut [Deployment]) {
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    for deployment in deployments.iter() {
        if let Some(order) = deployment.order {
            let last = last.entry(deployment.group.clone()).or_insert(order);
            *last = (*last).max(order);
        }
    }
    for deployment in deployments {
        let unordered = last.get(&deployment.group).map_or(0, |last| last + 1);
        let tier = deployment.order.unwrap_or(unordered);
        deployment.settings.tier = u8::try_from(tier).unwrap_or(u8::MAX);
    }
}

//! `model_list` of a LiteLLM configuration: each entry is a model at a provider.

use super::account_url::{AccountUrl, account_url};
use super::deployment::{Deployment, DeploymentRejection};
use super::global_settings::GlobalSettings;
use super::model_api::{ModelApi, model_api};
use super::providers::{LitellmProvider, provider_for_model};
use super::{adaptive_router, bedrock, body_edits, deployment_options, secret, tags, vertex};
use crate::channel_draft::{
    ChannelDraftSettings, CredentialDraft, CredentialForm, HealthDraft, MaybeSecretValue,
};
use crate::naming::{is_model_name, literal};
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the channel of a deployment with a dated version lacks.
const DATED_NOTE: &str = "the channel uses Azure's dated API, which has the deployment in the path and no /v1/responses; for Azure's v1 API, write /openai/v1 in place of /openai/deployments/… and add `responses` to `protocols`";
/// How a channel names an account.
const VERTEX_ACCOUNT_NOTE: &str = "the gateway fetches tokens for the account; `credentials_file` must name its file: write the JSON into one if the entry or its variable has it";
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
        if adaptive_router::is_router(entry) {
            continue;
        }
        match read_entry(&path, entry, global, settings) {
            Ok(found) => {
                for mut deployment in found {
                    deployment_options::read(entry, scale, &mut deployment, settings);
                    body_edits::read(entry, global.drops_params, &mut deployment, settings);
                    deployments.push(deployment);
                }
            }
            Err(DeploymentRejection { why, instead }) => settings.unconverted(&path, &why, instead),
        }
    }
    adaptive_router::read(entries, &mut deployments, settings);
    set_tiers(&mut deployments);
    if global.has_tags {
        tags::read(entries, &mut deployments, settings);
    }
    deployments
}

/// The deployments of an entry: several if a pattern has models at several APIs of the provider.
fn read_entry(
    path: &str,
    entry: &Value,
    global: &GlobalSettings,
    settings: &mut SourceSettingsTracker,
) -> Result<Vec<Deployment>, DeploymentRejection> {
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
    let (providers, own) = provider_for_model(model, named).map_err(|provider| {
        let why = format!("Headgate does not speak the protocol of the provider of `{provider}`, or this command does not know the provider");
        unusable(why, "if the provider has an OpenAI-compatible URL, add a channel with it and `protocols: [chat]`")
    })?;
    if !is_model_name(group) || !is_model_name(own) {
        let why = "the model has no name, or one that is too long or has control characters".into();
        return Err(unusable(why, "write the channel by hand"));
    }
    let mut found = Vec::new();
    let mut rejection = None;
    for provider in providers {
        match read_one(path, entry, (provider, own), global, settings) {
            Ok(deployment) => found.push(deployment),
            Err(why) => rejection = rejection.or(Some(why)),
        }
    }
    match rejection {
        Some(rejection) if found.is_empty() => Err(rejection),
        _ => Ok(found),
    }
}

/// The deployment of an entry at one API of its provider.
fn read_one(
    path: &str,
    entry: &Value,
    (provider, own): (&'static LitellmProvider, &str),
    global: &GlobalSettings,
    settings: &mut SourceSettingsTracker,
) -> Result<Deployment, DeploymentRejection> {
    let params = &entry["litellm_params"];
    let group = entry["model_name"].as_str().unwrap_or_default();
    let own = own_name(provider, own)?;
    let url = account_url(provider, params, global.probe_ms.is_some())?;
    let mode = entry["model_info"]["mode"].as_str();
    let api = model_api(&own, mode);
    let mut protocols = protocols(provider, (&api, mode), &url)?;
    let batches = batch_protocol(provider, &protocols, &url).filter(|_| mode == Some("batch"));
    protocols.extend(batches);
    let mut channel = ChannelDraftSettings::new(url.text, protocols);
    let at = |key: &str| format!("{path}.litellm_params.{key}");
    channel
        .credentials
        .extend(credential(provider, params, &at("api_key")));
    channel.cloud = vertex::cloud(provider);
    channel.timeout_ms = global.timeout_ms;
    channel.health = HealthDraft {
        consecutive_failures: global.consecutive_failures,
        cool_down_ms: global.cool_down_ms,
        probe_ms: global.probe_ms,
    };
    match group.contains('*') {
        false => settings.converted(&format!("{path}.model_name")),
        true => settings.converted_with_note(&format!("{path}.model_name"), PATTERN_NOTE),
    }
    match mode == Some("batch") && batches.is_none() {
        false => settings.converted(&format!("{path}.model_info.mode")),
        true => settings.unconverted(
            &format!("{path}.model_info.mode"),
            "the provider has no batches of OpenAI's or Anthropic's API; the channel serves the model's requests one by one",
            "let callers create the batches at the provider",
        ),
    }
    for key in ["api_base", "base_url", "api_key", "custom_llm_provider"] {
        settings.converted(&at(key));
    }
    settings.converted(&at("model"));
    if let Some(note) = provider.note.filter(|_| !url.is_dated) {
        settings.note(&at("model"), note);
    }
    if url.is_dated {
        settings.converted_with_note(&at("api_version"), DATED_NOTE);
    }
    let places: &[&str] = match provider.prefix {
        "bedrock" => &["aws_region_name"],
        "vertex_ai" => &[
            "vertex_project",
            "vertex_location",
            "vertex_ai_project",
            "vertex_ai_location",
        ],
        _ => &[],
    };
    for key in places {
        settings.converted(&at(key));
    }
    if provider.prefix == "vertex_ai" && !params["vertex_credentials"].is_null() {
        settings.converted_with_note(&at("vertex_credentials"), VERTEX_ACCOUNT_NOTE);
    }
    Ok(Deployment {
        path: path.to_owned(),
        group: group.to_owned(),
        provider: provider.prefix,
        channel_model: literal(&own),
        settings: channel,
        prices: Vec::new(),
        order: None,
    })
}

/// The provider's name of a model, as the API has it that the channel uses.
fn own_name(provider: &LitellmProvider, own: &str) -> Result<String, DeploymentRejection> {
    let (name, why) = match provider.prefix {
        "bedrock" => (
            bedrock::model(provider, own),
            "of Bedrock, only its Messages API and its OpenAI-compatible API are used, with an API key; the first has models of Claude from 4.5 on, the second open models and those of OpenAI, each by its name",
        ),
        "vertex_ai" => (
            vertex::model(provider, own),
            "of Vertex AI, only its OpenAI-compatible API is used, which has Gemini and open models, and that of Claude, by the names of its models",
        ),
        _ => (Some(own.to_owned()), ""),
    };
    name.ok_or_else(|| DeploymentRejection {
        why: why.into(),
        instead: "name such a model, or add a channel of a provider with a protocol of `protocols`",
    })
}

/// The protocol of a provider's batches.
fn batch_protocol(
    provider: &LitellmProvider,
    protocols: &[&'static str],
    url: &AccountUrl,
) -> Option<&'static str> {
    match provider.prefix {
        "openai" | "azure" if protocols.contains(&"chat") && !url.is_dated => Some("batches"),
        "anthropic" => Some("message_batches"),
        _ => None,
    }
}

/// The protocols of a channel for this API.
fn protocols(
    provider: &LitellmProvider,
    (api, mode): (&ModelApi<'_>, Option<&str>),
    url: &AccountUrl,
) -> Result<Vec<&'static str>, DeploymentRejection> {
    let found = match api {
        ModelApi::Text if url.is_dated => vec!["chat"],
        // Some providers have one API only, whatever the name of the model.
        ModelApi::Text if provider.protocols.is_empty() && mode.is_none() => {
            provider.others.first().copied().into_iter().collect()
        }
        ModelApi::Text => {
            let is_openai = provider.prefix == "openai" && url.is_official;
            let text = provider.protocols.iter().copied();
            text.chain(is_openai.then_some("responses")).collect()
        }
        ModelApi::Other(protocols) => {
            let mut served = protocols.iter().copied();
            let served = served.find(|protocol| provider.others.contains(protocol));
            served.into_iter().collect()
        }
        ModelApi::Unserved(_) => Vec::new(),
    };
    if !found.is_empty() {
        return Ok(found);
    }
    let name = match api {
        ModelApi::Text => "chat",
        ModelApi::Other(protocols) => protocols.first().copied().unwrap_or_default(),
        ModelApi::Unserved(mode) => mode,
    };
    Err(DeploymentRejection {
        why: format!(
            "the model is one of an API that Headgate does not serve with this provider ({name})"
        ),
        instead: "let callers send these requests to the provider",
    })
}

fn credential(provider: &LitellmProvider, params: &Value, path: &str) -> Option<CredentialDraft> {
    let value = match (scalars::text(&params["api_key"]), provider.key_variable) {
        _ if provider.form == CredentialForm::ServiceAccountFile => vertex::account_file(params),
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
pub fn other_api<'m>(model: &str, mode: Option<&'m str>) -> Option<&'m str> {
    match model_api(model, mode) {
        ModelApi::Text => None,
        ModelApi::Other(protocols) => protocols.first().copied(),
        ModelApi::Unserved(mode) => Some(mode),
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

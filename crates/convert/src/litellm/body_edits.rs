//! What LiteLLM changes in the bodies of requests to a deployment: default parameters, and fields that it drops.

use super::deployment::Deployment;
use crate::channel_draft::FieldRemoval;
use crate::source_settings::SourceSettingsTracker;
use crate::yaml_text::json_value;
use serde_json::Value;

/// Parameters of `litellm_params` that are defaults of a request.
const PARAMETERS: [&str; 10] = [
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "stop",
    "user",
    "reasoning_effort",
];
/// Fields that an attempt cannot change, since the gateway reads them before it selects a channel.
const FIXED_FIELDS: [&str; 8] = [
    "model",
    "stream",
    "n",
    "store",
    "background",
    "conversation",
    "previous_response_id",
    "container",
];

/// Fields of chat completions that LiteLLM drops with `drop_params`.
struct DroppedFields {
    providers: &'static [&'static str],
    /// How the names of these models at the provider begin; none for all.
    models: &'static [&'static str],
    fields: &'static [&'static str],
}

/// As LiteLLM 1.110 has them, without those that every model of the provider takes by now.
const DROPPED: &[DroppedFields] = &[
    DroppedFields {
        providers: &["openai", "azure"],
        models: &["gpt-3", "gpt-4"],
        fields: &["reasoning_effort", "verbosity"],
    },
    DroppedFields {
        providers: &["openai", "azure"],
        models: &["gpt-5"],
        fields: &[
            "frequency_penalty",
            "presence_penalty",
            "logit_bias",
            "stop",
            "modalities",
            "prediction",
            "audio",
            "web_search_options",
        ],
    },
    DroppedFields {
        providers: &["openai", "azure"],
        models: &["o1", "o3", "o4"],
        fields: &[
            "frequency_penalty",
            "presence_penalty",
            "logprobs",
            "top_logprobs",
            "top_p",
            "parallel_tool_calls",
            "verbosity",
        ],
    },
    DroppedFields {
        providers: &["groq"],
        models: &[],
        fields: &["user", "web_search_options", "verbosity"],
    },
    DroppedFields {
        providers: &["mistral"],
        models: &[],
        fields: &[
            "frequency_penalty",
            "presence_penalty",
            "logit_bias",
            "logprobs",
            "top_logprobs",
            "user",
            "web_search_options",
            "verbosity",
        ],
    },
    DroppedFields {
        providers: &["gemini", "vertex_ai"],
        models: &[],
        fields: &[
            "logit_bias",
            "top_logprobs",
            "prediction",
            "user",
            "audio",
            "prompt_cache_key",
            "verbosity",
        ],
    },
    DroppedFields {
        providers: &["ollama", "ollama_chat"],
        models: &[],
        fields: &[
            "logit_bias",
            "logprobs",
            "top_logprobs",
            "presence_penalty",
            "parallel_tool_calls",
            "user",
            "web_search_options",
            "service_tier",
            "prompt_cache_key",
            "verbosity",
        ],
    },
    DroppedFields {
        providers: &["xai"],
        models: &["grok-4"],
        fields: &[
            "frequency_penalty",
            "stop",
            "prediction",
            "service_tier",
            "prompt_cache_key",
            "verbosity",
        ],
    },
    DroppedFields {
        providers: &[
            "deepseek",
            "openrouter",
            "together_ai",
            "moonshot",
            "dashscope",
            "hosted_vllm",
            "lm_studio",
            "openai_like",
        ],
        models: &[],
        fields: &["user", "verbosity"],
    },
];

/// Reads defaults and dropped fields of an entry; `drops_params` of the whole file.
pub fn read(
    entry: &Value,
    drops_params: bool,
    deployment: &mut Deployment,
    settings: &mut SourceSettingsTracker,
) {
    let has_text = |protocol: &&str| ["chat", "messages"].contains(protocol);
    if !deployment.settings.protocols.iter().any(has_text) {
        return;
    }
    let params = &entry["litellm_params"];
    let at = |key: &str| format!("{}.litellm_params.{key}", deployment.path);
    let is_chat = deployment.settings.protocols.contains(&"chat");
    let drops_own = crate::scalars::boolean(&params["drop_params"]);
    if drops_own.is_some() {
        settings.converted(&at("drop_params"));
    }
    if is_chat && drops_own.unwrap_or(drops_params) {
        deployment.settings.removals = dropped(deployment.provider, &deployment.channel_model);
    }
    if let Some(fields) = params["additional_drop_params"].as_array() {
        let names = fields.iter().map(|field| Some(pointer(field.as_str()?)));
        // A path into an object is not a name.
        let is_name = |name: &String| !name.contains(['.', '[']);
        if let Some(fields) = names.collect::<Option<Vec<String>>>()
            && fields.iter().all(is_name)
        {
            settings.converted(&at("additional_drop_params"));
            deployment.settings.removals.push(FieldRemoval {
                models: &[],
                fields,
            });
        }
    }
    let own = PARAMETERS.iter().map(|key| (*key, &params[*key], at(key)));
    let extra = params["extra_body"].as_object().into_iter().flatten();
    let extra = extra.map(|(key, value)| (key.as_str(), value, at(&format!("extra_body.{key}"))));
    for (key, value, path) in own.chain(extra) {
        // Without it, `validate` refuses a message before a channel is selected.
        let is_required = key == "max_tokens" && !is_chat;
        if deployment.provider == "vertex_ai" && key == "labels" {
            settings.unconverted(
                &path,
                "Vertex AI's OpenAI-compatible API has no labels of requests",
                "the access log, /metrics and traces have caller, model and channel of each request, to which costs can be attributed",
            );
            continue;
        }
        if value.is_null() || is_required || FIXED_FIELDS.contains(&key) || has_expression(value) {
            continue;
        }
        let default = (pointer(key), json_value(value));
        deployment.settings.defaults.push(default);
        settings.converted(&path);
    }
}

fn dropped(provider: &str, model: &str) -> Vec<FieldRemoval> {
    let is_pattern = model.contains('*');
    let begins = |prefix: &&str| is_pattern || model.starts_with(*prefix);
    let rows = DROPPED.iter().filter(|row| {
        let is_kind = row.models.is_empty() || row.models.iter().any(begins);
        is_kind && row.providers.contains(&provider)
    });
    let removals = rows.map(|row| FieldRemoval {
        models: row.models,
        fields: row.fields.iter().map(|field| pointer(field)).collect(),
    });
    removals.collect()
}

/// The JSON pointer of a member of the body.
fn pointer(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Whether a part of a value would be computed in routes.yaml.
fn has_expression(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.contains_key("cel") || members.values().any(has_expression)
        }
        Value::Array(items) => items.iter().any(has_expression),
        _ => false,
    }
}

//! Models of Vertex AI, by its OpenAI-compatible API and by that of Claude: their URLs, their names of models, and the account whose
//! tokens a channel needs.

use super::providers::LitellmProvider;
use super::{VARIABLE, expanded, url_part};
use crate::channel_draft::MaybeSecretValue;
use crate::naming::{is_variable, literal};
use crate::scalars;
use serde_json::Value;

/// The location that LiteLLM takes for entries without one.
const DEFAULT_LOCATION: &str = "us-central1";
/// How names of open models begin that the API serves, with their vendor.
const OPEN_MODELS: [&str; 7] = [
    "meta/",
    "deepseek-ai/",
    "qwen/",
    "openai/",
    "minimaxai/",
    "moonshotai/",
    "zai-org/",
];

/// The URL of a provider's API in the project and location of an entry.
pub fn url(provider: &LitellmProvider, params: &Value) -> String {
    let text = |keys: [&str; 2]| keys.iter().find_map(|key| scalars::text(&params[*key]));
    let location = text(["vertex_location", "vertex_ai_location"]);
    let location = location.unwrap_or_else(|| DEFAULT_LOCATION.to_owned());
    let project = match params["vertex_project"].is_null() {
        true => &params["vertex_ai_project"],
        false => &params["vertex_project"],
    };
    let project = url_part(project, "VERTEXAI_PROJECT");
    let host = match location.as_str() {
        "global" => String::new(),
        region => format!("{}-", expanded(region)),
    };
    let location = expanded(&location);
    let api = match cloud(provider) {
        Some(_) => "publishers/anthropic",
        None => "endpoints/openapi",
    };
    format!(
        "https://{host}aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/{api}"
    )
}

/// The value of `cloud` in routes.yaml, for the API of Claude.
pub fn cloud(provider: &LitellmProvider) -> Option<&'static str> {
    let is_claude = provider.prefix == "vertex_ai" && provider.has_claude == Some(true);
    is_claude.then_some("vertex_ai")
}

/// The name of a model in a provider's API; `None` if it does not have it.
pub fn model(provider: &LitellmProvider, own: &str) -> Option<String> {
    if cloud(provider).is_some() {
        return own.starts_with("claude-").then(|| own.to_owned());
    }
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| own.starts_with(prefix));
    if own == "*" || begins(&["gemini-", "gemma-"]) {
        return Some(format!("google/{own}"));
    }
    (begins(&["google/"]) || begins(&OPEN_MODELS)).then(|| own.to_owned())
}

/// The file of the service account that an entry names; by default that of Google's own clients.
pub fn account_file(params: &Value) -> MaybeSecretValue {
    let default = || MaybeSecretValue::Variable("GOOGLE_APPLICATION_CREDENTIALS".into());
    let Some(account) = scalars::text(&params["vertex_credentials"]) else {
        return default();
    };
    match account.strip_prefix(VARIABLE) {
        Some(name) if is_variable(name) => MaybeSecretValue::Variable(name.to_owned()),
        // The content of such a file has its key.
        None if account.ends_with(".json") && !account.contains('{') => {
            MaybeSecretValue::Plain(literal(&account))
        }
        _ => default(),
    }
}

#[cfg(test)]
mod tests {
    use super::model;
    use crate::litellm::providers::provider_for_model;

    #[test]
    fn a_model_has_the_name_of_its_vendor_before_its_own() {
        for (own, name) in [
            ("gemini-2.5-pro", Some("google/gemini-2.5-pro")),
            ("google/gemini-2.5-pro", Some("google/gemini-2.5-pro")),
            ("*", Some("google/*")),
            (
                "meta/llama-3.3-70b-instruct-maas",
                Some("meta/llama-3.3-70b-instruct-maas"),
            ),
            (
                "claude-sonnet-4-5@20250929",
                Some("claude-sonnet-4-5@20250929"),
            ),
            ("anthropic/claude", None),
            ("mistral-large@2411", None),
            ("text-embedding-005", None),
        ] {
            let (providers, own) = provider_for_model(own, Some("vertex_ai")).unwrap();
            assert_eq!(model(providers[0], own).as_deref(), name, "{own}");
        }
    }
}

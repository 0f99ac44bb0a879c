//! Models of Bedrock: the URL of the API that serves a model, and the model's name there.

use super::expanded;
use super::providers::LitellmProvider;
use crate::scalars;
use serde_json::Value;

/// How names of models begin that Bedrock serves by its OpenAI-compatible API, without region.
const CHAT_VENDORS: [&str; 9] = [
    "openai.",
    "qwen.",
    "deepseek.",
    "google.",
    "mistral.",
    "moonshot",
    "minimax.",
    "nvidia.",
    "zai.",
];
/// Routes of LiteLLM to an API of Bedrock, before the name of the model.
const ROUTES: [&str; 4] = ["converse/", "converse_like/", "invoke/", "mantle/"];
/// Regions of inference profiles.
const REGIONS: [&str; 7] = ["us.", "eu.", "apac.", "jp.", "au.", "us-gov.", "global."];

/// The URL of a provider's API in the region of the entry, without its path.
pub fn url(provider: &LitellmProvider, params: &Value) -> String {
    let region = scalars::text(&params["aws_region_name"]);
    let region = region.map_or_else(|| "${AWS_REGION:-us-west-2}".to_owned(), |it| expanded(&it));
    match provider.protocols.contains(&"messages") {
        true => format!("https://bedrock-mantle.{region}.api.aws"),
        false => format!("https://bedrock-runtime.{region}.amazonaws.com"),
    }
}

/// Bedrock's name of a model in the API of a provider, from that of its runtime; `None` if the API does not have it.
pub fn model(provider: &LitellmProvider, own: &str) -> Option<String> {
    let routed = ROUTES.iter().find_map(|route| own.strip_prefix(route));
    let own = routed.unwrap_or(own);
    if own == "*" {
        return Some(own.to_owned());
    }
    match provider.protocols.contains(&"messages") {
        true => claude(own),
        false => {
            let region = REGIONS.iter().find_map(|region| own.strip_prefix(region));
            let name = region.unwrap_or(own);
            let begins = |vendor: &&str| name.starts_with(*vendor);
            CHAT_VENDORS.iter().any(begins).then(|| own.to_owned())
        }
    }
}

/// The name of a model of Claude in the Messages API, which has no region, date and version.
fn claude(own: &str) -> Option<String> {
    let (_, name) = own.split_once("anthropic.")?;
    let is_old = ["claude-3", "claude-v", "claude-instant"]
        .iter()
        .any(|old| name.starts_with(old));
    // Of Claude 4 the date follows.
    let is_four = ["claude-opus-4-2", "claude-sonnet-4-2"]
        .iter()
        .any(|four| name.starts_with(four));
    let is_claude = name.starts_with("claude-") && !name.contains('*');
    if is_old || is_four || !is_claude {
        return None;
    }
    // `claude-haiku-4-5-20251001-v1:0` has a date and a version behind the name.
    let is_date = |part: &str| part.len() == 8 && part.starts_with("20");
    let is_version = |part: &str| part.starts_with('v');
    let parts = name.split('-');
    let parts: Vec<&str> = parts
        .take_while(|part| !is_date(part) && !is_version(part))
        .collect();
    Some(format!("anthropic.{}", parts.join("-")))
}

#[cfg(test)]
mod tests {
    use super::model;
    use crate::litellm::providers::provider_for_model;

    #[test]
    fn a_model_has_the_name_of_the_api_that_serves_it() {
        for (own, name) in [
            (
                "us.anthropic.claude-haiku-4-5-20251001-v1:0",
                Some("anthropic.claude-haiku-4-5"),
            ),
            (
                "converse/global.anthropic.claude-opus-4-7",
                Some("anthropic.claude-opus-4-7"),
            ),
            (
                "eu.anthropic.claude-opus-4-6-v1",
                Some("anthropic.claude-opus-4-6"),
            ),
            ("us.anthropic.claude-3-5-sonnet-20240620-v1:0", None),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", None),
            ("anthropic.claude", None),
            ("us.amazon.nova-premier-v1:0", None),
            ("anthropic.claude-*", None),
            ("openai.gpt-oss-120b-1:0", Some("openai.gpt-oss-120b-1:0")),
            ("converse/us.deepseek.v3-v1:0", Some("us.deepseek.v3-v1:0")),
            ("meta.llama3-1-8b-instruct-v1:0", None),
            ("*", Some("*")),
        ] {
            let named = Some("bedrock");
            let (providers, own) = provider_for_model(own, named).unwrap();
            assert_eq!(model(providers[0], own).as_deref(), name, "{own}");
        }
    }
}

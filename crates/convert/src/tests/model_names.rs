//! Tests of wildcards and fallbacks of LiteLLM.

use super::litellm;
use serde_json::json;

#[test]
fn a_wildcard_becomes_a_pattern_of_the_channel() {
    for (group, model, there) in [
        ("openai/*", "openai/*", Some("*")),
        ("*", "openai/gpt-*", Some("gpt-*")),
        ("cheap-*", "openai/gpt-4o-mini", Some("gpt-4o-mini")),
        ("a*b*", "openai/*", None),
        ("literal", "openai/*", None),
        ("*", "sagemaker/*", None),
    ] {
        let entry = json!({"model_name": group, "litellm_params": {"model": model}});
        let (yaml, _, parsed) = litellm(entry, json!({}));
        let channel = &parsed["channels"]["openai"];
        assert_eq!(channel["models"][group].as_str(), there, "{group} {yaml}");
        let unpriced = there.map(|_| "allow");
        assert_eq!(channel["unpriced"].as_str(), unpriced, "{group} {yaml}");
    }
}

#[test]
fn a_wildcard_is_a_pattern_of_each_api_of_the_provider() {
    for (model, name, urls) in [
        (
            "bedrock/*",
            "*",
            vec![
                "https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1",
                "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1",
            ],
        ),
        (
            "azure_ai/*",
            "*",
            vec![
                "https://r.example/openai/v1",
                "https://r.example/anthropic/v1",
            ],
        ),
        ("vertex_ai/*", "google/*", vec!["https://r.example"]),
    ] {
        let base = (model != "bedrock/*").then_some("https://r.example");
        let params = json!({"model": model, "aws_region_name": "eu-west-1", "api_base": base});
        let entry = json!({"model_name": "all/*", "litellm_params": params});
        let (yaml, _, parsed) = litellm(entry, json!({}));
        let channels = parsed["channels"].as_object().unwrap();
        let found: Vec<&str> = channels
            .values()
            .inspect(|channel| assert_eq!(channel["models"]["all/*"], name, "{yaml}"))
            .filter_map(|channel| channel["base_url"].as_str())
            .collect();
        assert_eq!(found, urls, "{yaml}");
    }
}

#[test]
fn fallbacks_become_those_of_the_model_by_their_cause() {
    let others = json!({
        "model_list": [
            {"model_name": "a", "litellm_params": {"model": "openai/a"}},
            {"model_name": "b", "litellm_params": {"model": "openai/b"}},
            {"model_name": "gpt-*", "litellm_params": {"model": "openai/gpt-*"}},
            {"model_name": "claude", "litellm_params": {"model": "anthropic/claude"}},
        ],
        "litellm_settings": {
            "fallbacks": [
                {"a": ["b", "gpt-4o", "a", "claude", "gone", {"model": "b"}]}, {"b": ["a"]},
                {"gpt-*": ["gpt-4o-mini"]},
            ],
            "context_window_fallbacks": [{"a": ["gpt-4o"]}],
            "content_policy_fallbacks": [{"b": ["gpt-4o"]}],
            "default_fallbacks": ["b"],
        },
    });
    let (yaml, _, parsed) = litellm(json!({}), others);
    assert_eq!(
        parsed["models"],
        json!({
            "a": {"fallback": {"any": ["b", "gpt-4o"], "context_too_long": ["gpt-4o"]}},
            "b": {"fallback": {"content_policy": ["gpt-4o"]}},
            "gpt-*": {"fallback": {"any": ["gpt-4o-mini"]}},
        }),
        "{yaml}"
    );
    // `claude` speaks another protocol, `gone` does not exist, and the others lead back.
    for path in [
        "fallbacks[0].a[3]",
        "fallbacks[0].a[4]",
        "fallbacks[0].a[5]",
        "fallbacks[1].b[0]",
        "default_fallbacks[0]",
    ] {
        let path = format!("litellm_settings.{path}");
        assert!(yaml.contains(&path), "{path}: {yaml}");
    }
    assert!(!yaml.contains("fallbacks[0].a[2]"), "{yaml}");
}

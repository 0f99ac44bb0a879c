//! Tests of how much a model should think, as each provider is asked for it.

use super::{sent, sent_to};
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages, Responses};
use serde_json::{Value, json};

/// The members of a request about thoughts.
fn asked(sent: &Value) -> Value {
    let mut asked = json!({});
    for name in [
        "thinking",
        "reasoning_effort",
        "reasoning",
        "enable_thinking",
        "thinking_budget",
        "chat_template_kwargs",
    ] {
        if let Some(value) = sent.get(name) {
            asked[name] = value.clone();
        }
    }
    asked
}

#[test]
fn each_provider_of_chat_is_asked_for_thoughts_in_its_own_form() {
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 2048}});
    let adaptive = json!({"thinking": {"type": "adaptive"}});
    let high = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}});
    let max = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}});
    let off = json!({"thinking": {"type": "disabled"}});
    let on = json!({"type": "enabled"});
    let template =
        |on: bool| json!({"chat_template_kwargs": {"enable_thinking": on, "thinking": on}});
    let cases = [
        (
            "deepseek",
            "deepseek-v4-pro",
            &adaptive,
            json!({"thinking": on}),
        ),
        (
            "deepseek",
            "deepseek-v4-pro",
            &high,
            json!({"thinking": on, "reasoning_effort": "high"}),
        ),
        (
            "deepseek",
            "deepseek-v4-pro",
            &max,
            json!({"thinking": on, "reasoning_effort": "max"}),
        ),
        (
            "deepseek",
            "deepseek-v4-pro",
            &budget,
            json!({"thinking": on, "reasoning_effort": "low"}),
        ),
        (
            "deepseek",
            "deepseek-v4-pro",
            &off,
            json!({"thinking": {"type": "disabled"}}),
        ),
        ("kimi", "kimi-k2.6", &high, json!({"thinking": on})),
        (
            "kimi",
            "kimi-k2.6",
            &off,
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            "kimi",
            "kimi-k3",
            &high,
            json!({"reasoning_effort": "high"}),
        ),
        ("glm", "glm-4.7", &budget, json!({"thinking": on})),
        (
            "glm",
            "glm-5.2",
            &max,
            json!({"thinking": on, "reasoning_effort": "max"}),
        ),
        (
            "qwen",
            "qwen3.6-plus",
            &budget,
            json!({"enable_thinking": true, "thinking_budget": 2048}),
        ),
        (
            "qwen",
            "qwen3.6-plus",
            &high,
            json!({"enable_thinking": true, "thinking_budget": 16384}),
        ),
        (
            "qwen",
            "qwen3.6-plus",
            &off,
            json!({"enable_thinking": false}),
        ),
        ("vllm", "Qwen/Qwen3-8B", &high, template(true)),
        ("vllm", "Qwen/Qwen3-8B", &off, template(false)),
        (
            "vllm",
            "openai/gpt-oss-20b",
            &max,
            json!({"reasoning_effort": "high"}),
        ),
        ("sglang", "Qwen/Qwen3-8B", &off, template(false)),
        (
            "openrouter",
            "z-ai/glm-5",
            &high,
            json!({"reasoning": {"enabled": true, "effort": "high"}}),
        ),
        (
            "openrouter",
            "z-ai/glm-5",
            &budget,
            json!({"reasoning": {"enabled": true, "max_tokens": 2048}}),
        ),
        (
            "openrouter",
            "z-ai/glm-5",
            &off,
            json!({"reasoning": {"effort": "none"}}),
        ),
        ("xai", "grok-4", &high, json!({})),
        (
            "xai",
            "grok-4.6",
            &max,
            json!({"reasoning_effort": "xhigh"}),
        ),
        ("mistral", "mistral-large-latest", &high, json!({})),
        (
            "mistral",
            "mistral-small-2603",
            &high,
            json!({"reasoning_effort": "high"}),
        ),
        ("azure", "gpt-5", &max, json!({"reasoning_effort": "high"})),
        ("azure", "gpt-4.1", &high, json!({})),
        (
            "standard",
            "gpt-5.6",
            &max,
            json!({"reasoning_effort": "max"}),
        ),
    ];
    for (dialect, model, more, expected) in cases {
        let (sent, ledger) = sent_to((dialect, model), more);
        assert_eq!(
            asked(&sent),
            expected,
            "{dialect} {model}: {more}: {ledger:?}"
        );
    }
}

#[test]
fn what_a_provider_cannot_be_asked_for_is_in_the_ledger() {
    let high = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}});
    let max = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}});
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 2048}});
    let cases = [
        (
            ("kimi", "kimi-k2.6"),
            &high,
            "Approximated output_config.effort is left to the model, which only thinks or does not",
        ),
        (
            ("xai", "grok-4"),
            &high,
            "Approximated output_config.effort is left to the model, whose provider has no way to ask for it",
        ),
        (
            ("azure", "gpt-5"),
            &max,
            "Approximated output_config.effort becomes `high`",
        ),
        (
            ("qwen", "qwen3.6-plus"),
            &high,
            "Approximated output_config.effort becomes a budget of tokens",
        ),
        (
            ("deepseek", "deepseek-v4-pro"),
            &budget,
            "Approximated thinking.budget_tokens becomes the nearest effort",
        ),
    ];
    for (provider, more, expected) in cases {
        let (_, ledger) = sent_to(provider, more);
        assert!(
            ledger.iter().any(|entry| entry == expected),
            "{provider:?}: {ledger:?}"
        );
    }
    let exact = [
        ("qwen", "qwen3.6-plus"),
        ("openrouter", "anthropic/claude-sonnet-4.5"),
    ];
    for provider in exact {
        assert_eq!(sent_to(provider, &budget).1, [""; 0], "{provider:?}");
    }
}

#[test]
fn claude_models_are_asked_in_the_form_of_their_generation() {
    let high = json!({"reasoning_effort": "high", "max_completion_tokens": 20000, "temperature": 0.5, "top_p": 0.9});
    let none = json!({"reasoning_effort": "none", "max_completion_tokens": 20000, "temperature": 0.5, "top_p": 0.9});
    let xhigh = json!({"reasoning_effort": "xhigh", "max_completion_tokens": 20000});
    let budget = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    let adaptive = json!({"type": "adaptive"});
    let null = Value::Null;
    let cases = [
        (
            "claude-3-5-haiku-20241022",
            &high,
            &null,
            &null,
            json!([0.5, 0.9]),
        ),
        (
            "claude-sonnet-4-20250514",
            &high,
            &budget(8192),
            &null,
            json!([null, null]),
        ),
        (
            "claude-sonnet-4-20250514",
            &none,
            &json!({"type": "disabled"}),
            &null,
            json!([0.5, 0.9]),
        ),
        (
            "claude-sonnet-4-5-20250929",
            &none,
            &json!({"type": "disabled"}),
            &null,
            json!([0.5, null]),
        ),
        (
            "claude-opus-4-5",
            &xhigh,
            &budget(10000),
            &json!("high"),
            json!([null, null]),
        ),
        (
            "claude-opus-4-6",
            &xhigh,
            &adaptive,
            &json!("high"),
            json!([null, null]),
        ),
        (
            "us.anthropic.claude-opus-4-7-v1",
            &xhigh,
            &adaptive,
            &json!("xhigh"),
            json!([null, null]),
        ),
        ("claude-opus-4-8", &none, &null, &null, json!([null, null])),
        (
            "claude-sonnet-5",
            &high,
            &adaptive,
            &json!("high"),
            json!([null, null]),
        ),
    ];
    for (model, more, thinking, effort, sampling) in cases {
        let (sent, ledger) = sent(Chat, Messages, ("standard", model), more);
        assert_eq!(&sent["thinking"], thinking, "{model}: {ledger:?}");
        assert_eq!(
            &sent["output_config"]["effort"], effort,
            "{model}: {ledger:?}"
        );
        assert_eq!(
            json!([sent["temperature"], sent["top_p"]]),
            sampling,
            "{model}: {ledger:?}"
        );
    }
}

#[test]
fn responses_channels_get_only_the_efforts_and_proofs_that_their_models_take() {
    let high = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}});
    let cases = [
        ("standard", "gpt-5", json!("high"), true),
        ("standard", "gpt-5.4", json!("xhigh"), true),
        ("standard", "gpt-4.1", Value::Null, false),
        ("xai", "grok-4", Value::Null, true),
        ("xai", "grok-4.5", json!("high"), true),
        ("deepseek", "deepseek-v4-pro", json!("max"), true),
    ];
    for (dialect, model, effort, has_proofs) in cases {
        let (sent, _) = sent(Messages, Responses, (dialect, model), &high);
        assert_eq!(sent["reasoning"]["effort"], effort, "{dialect} {model}");
        assert_eq!(
            sent.get("include").is_some(),
            has_proofs,
            "{dialect} {model}"
        );
    }
}

//! Tests of limits, sampling, forms of answers and other members, as each provider has them.

use super::{sent, sent_to};
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages, Responses};
use serde_json::{Value, json};

#[test]
fn the_limit_of_output_tokens_has_the_provider_s_name() {
    for (provider, name) in [
        ("standard", "max_completion_tokens"),
        ("azure", "max_completion_tokens"),
        ("kimi", "max_completion_tokens"),
        ("vllm", "max_completion_tokens"),
        ("xai", "max_completion_tokens"),
        ("deepseek", "max_tokens"),
        ("glm", "max_tokens"),
        ("mistral", "max_tokens"),
        ("openrouter", "max_tokens"),
        ("qwen", "max_tokens"),
        ("sglang", "max_tokens"),
    ] {
        let (sent, _) = sent_to((provider, "m"), &json!({}));
        assert_eq!(sent[name], 9000, "{provider}");
        let limits = ["max_tokens", "max_completion_tokens"].iter();
        let limits = limits.filter(|name| sent.get(**name).is_some());
        assert_eq!(limits.count(), 1, "{provider}");
    }
}

#[test]
fn members_that_a_provider_lacks_are_left_out_or_refused_and_in_the_ledger() {
    let cases = [
        (
            ("mistral", "m"),
            json!({"metadata": {"user_id": "u"}}),
            "user",
            Value::Null,
            "Dropped metadata.user_id is not a member that the channel's provider takes",
        ),
        (
            ("xai", "grok-4"),
            json!({"stop_sequences": ["END"]}),
            "stop",
            Value::Null,
            "Refused stop_sequences is not a member that the channel's provider takes",
        ),
        (
            ("kimi", "kimi-k2.6"),
            json!({"temperature": 0.5}),
            "temperature",
            Value::Null,
            "Approximated temperature is not a member that the channel's provider takes",
        ),
        (
            ("glm", "glm-5"),
            json!({"stop_sequences": ["a", "b"]}),
            "stop",
            json!(["a"]),
            "Refused stop_sequences has more texts than the provider takes: 1",
        ),
        (
            ("standard", "m"),
            json!({"top_k": 5}),
            "top_k",
            Value::Null,
            "Refused top_k has no counterpart in the chat protocol; remove it, or let the route drop it with `on_loss: drop`",
        ),
    ];
    for (provider, more, name, value, entry) in cases {
        let (sent, ledger) = sent_to(provider, &more);
        assert_eq!(sent[name], value, "{provider:?}");
        assert_eq!(ledger, [entry], "{provider:?}");
    }
}

#[test]
fn members_that_only_some_providers_have_are_carried_to_them() {
    let cases = [
        ("qwen", json!({"top_k": 5}), "top_k", json!(5)),
        ("vllm", json!({"top_k": 5}), "top_k", json!(5)),
        ("openrouter", json!({"top_k": 5}), "top_k", json!(5)),
        (
            "glm",
            json!({"metadata": {"user_id": "u"}}),
            "user_id",
            json!("u"),
        ),
        (
            "deepseek",
            json!({"stop_sequences": ["a", "b", "c", "d", "e"]}),
            "stop",
            json!(["a", "b", "c", "d", "e"]),
        ),
    ];
    for (provider, more, name, value) in cases {
        let (sent, ledger) = sent_to((provider, "m"), &more);
        assert_eq!(sent[name], value, "{provider}");
        assert_eq!(ledger, [""; 0], "{provider}");
    }
}

#[test]
fn usage_of_streams_is_asked_for_where_the_provider_takes_that() {
    for (provider, is_asked) in [("standard", true), ("deepseek", true), ("mistral", false)] {
        let (sent, _) = sent_to((provider, "m"), &json!({"stream": true}));
        assert_eq!(sent["stream"], true, "{provider}");
        assert_eq!(sent.get("stream_options").is_some(), is_asked, "{provider}");
    }
}

#[test]
fn a_schema_that_a_provider_does_not_enforce_is_an_instruction() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let format = json!({"text": {"format": {"type": "json_schema", "name": "n", "schema": schema}},
        "instructions": "Be brief."});
    let (sent_body, ledger) = sent(Responses, Chat, ("deepseek", "m"), &format);
    assert_eq!(sent_body["response_format"], json!({"type": "json_object"}));
    let system = sent_body["messages"][0]["content"].as_str().unwrap();
    assert!(
        system.starts_with("Be brief.\n\nAnswer with one JSON object"),
        "{system}"
    );
    assert!(system.ends_with(&schema.to_string()), "{system}");
    assert_eq!(
        ledger,
        [
            "Approximated text.format is sent as an instruction, since the channel's provider does not enforce it"
        ]
    );
    let (sent_body, ledger) = sent(Responses, Chat, ("mistral", "m"), &format);
    assert_eq!(sent_body["response_format"]["type"], "json_schema");
    assert_eq!(sent_body["messages"][0]["content"], "Be brief.");
    assert_eq!(ledger, [""; 0]);
}

#[test]
fn a_temperature_is_at_most_what_the_provider_takes() {
    let hot = json!({"temperature": 1.8});
    for (provider, temperature) in [
        ("glm", json!(1)),
        ("mistral", json!(1.5)),
        ("deepseek", json!(1.8)),
    ] {
        let (sent, ledger) = sent(Responses, Chat, (provider, "m"), &hot);
        assert_eq!(sent["temperature"], temperature, "{provider}");
        assert_eq!(ledger.is_empty(), temperature == json!(1.8), "{provider}");
    }
}

#[test]
fn parts_that_a_model_does_not_take_are_refused_by_name() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}});
    let document = json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}});
    let cases = [
        ("deepseek", &image, true),
        ("kimi", &image, false),
        ("kimi", &document, true),
        ("vllm", &document, true),
        ("openrouter", &document, false),
    ];
    for (provider, part, is_refused) in cases {
        let messages = json!({"messages": [{"role": "user", "content": [part]}]});
        let (_, ledger) = sent_to((provider, "m"), &messages);
        let entry = "Refused messages[0].content[0] is not among what the channel's model takes; send text, or use another model";
        assert_eq!(
            ledger.iter().any(|one| one == entry),
            is_refused,
            "{provider}: {ledger:?}"
        );
    }
}

#[test]
fn marks_of_cached_prefixes_have_the_provider_s_form() {
    let messages = json!({"messages": [{"role": "user", "content": [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]}]});
    let cases = [
        (
            ("openrouter", "anthropic/claude-sonnet-4.5"),
            json!({"type": "text", "text": "a",
            "cache_control": {"type": "ephemeral", "ttl": "1h"}}),
        ),
        (
            ("qwen", "qwen3.6-plus"),
            json!({"type": "text", "text": "a",
            "cache_control": {"type": "ephemeral", "ttl": "1h"}}),
        ),
        (
            ("standard", "gpt-5.6"),
            json!({"type": "text", "text": "a",
            "prompt_cache_breakpoint": {"mode": "explicit"}}),
        ),
    ];
    for (provider, part) in cases {
        let (sent, _) = sent_to(provider, &messages);
        assert_eq!(sent["messages"][0]["content"][0], part, "{provider:?}");
    }
    let (sent, ledger) = sent_to(("deepseek", "m"), &messages);
    assert_eq!(sent["messages"][0]["content"], "a");
    assert_eq!(ledger.len(), 1, "{ledger:?}");
    let responses = sent_in_responses(&messages);
    assert_eq!(
        responses["input"][0]["content"][0]["prompt_cache_breakpoint"],
        json!({"mode": "explicit"})
    );
}

fn sent_in_responses(messages: &Value) -> Value {
    sent(Messages, Responses, ("standard", "gpt-5.6"), messages).0
}

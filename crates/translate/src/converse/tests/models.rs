//! Tests of what becomes of settings that only some models take.

use super::{CLAUDE, translated_for, translated_with};
use crate::dialect::tests::shipped_dialect;
use crate::dialect::{ConverseDialect, ModelFamily, ModelFeatures};
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages};
use serde_json::{Value, json};

const NOVA: &str = "us.amazon.nova-pro-v1:0";
const GPT_OSS: &str = "openai.gpt-oss-120b-1:0";
const LLAMA: &str = "meta.llama3-3-70b-instruct-v1:0";

fn messages() -> Value {
    json!([{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}])
}

#[test]
fn settings_of_a_family_go_only_to_its_models() {
    let cache = "is left out, since the channel's model is not known to take it";
    let top_k = "is no setting that the channel's model is known to take; remove it, or let the route drop it with `on_loss: drop`";
    for (model, fields, has_cache, ledger) in [
        (CLAUDE, json!({"top_k": 5}), true, vec![]),
        (NOVA, json!({"inferenceConfig": {"topK": 5}}), true, vec![]),
        (
            GPT_OSS,
            Value::Null,
            false,
            vec![
                format!("Refused top_k {top_k}"),
                format!("Dropped messages[0].content[0].cache_control {cache}"),
            ],
        ),
        (
            LLAMA,
            Value::Null,
            false,
            vec![
                format!("Refused top_k {top_k}"),
                format!("Dropped messages[0].content[0].cache_control {cache}"),
            ],
        ),
    ] {
        let body = json!({"model": "m", "max_tokens": 9, "top_k": 5, "messages": messages()});
        let (sent, entries) = translated_for(model, Messages, &body);
        assert_eq!(sent["additionalModelRequestFields"], fields, "{model}");
        let content = sent["messages"][0]["content"].as_array().unwrap();
        assert_eq!(content.len(), 1 + usize::from(has_cache), "{model}");
        assert_eq!(entries, ledger, "{model}");
    }
}

#[test]
fn an_effort_becomes_what_the_model_takes() {
    let adaptive = json!({"thinking": {"type": "adaptive"}});
    for (model, effort, fields, named, losses) in [
        (CLAUDE, "high", adaptive.clone(), json!("high"), 0),
        (CLAUDE, "minimal", adaptive, json!("low"), 1),
        (
            CLAUDE,
            "none",
            json!({"thinking": {"type": "disabled"}}),
            Value::Null,
            0,
        ),
        (
            GPT_OSS,
            "high",
            json!({"reasoning_effort": "high"}),
            Value::Null,
            0,
        ),
        (
            GPT_OSS,
            "xhigh",
            json!({"reasoning_effort": "high"}),
            Value::Null,
            1,
        ),
        (LLAMA, "high", Value::Null, Value::Null, 1),
        (NOVA, "low", Value::Null, Value::Null, 1),
    ] {
        let body = json!({"model": "m", "reasoning_effort": effort, "messages": [{"role": "user", "content": "a"}]});
        let (sent, ledger) = translated_for(model, Chat, &body);
        assert_eq!(
            sent["additionalModelRequestFields"], fields,
            "{model} {effort}"
        );
        assert_eq!(sent["outputConfig"]["effort"], named, "{model} {effort}");
        assert_eq!(ledger.len(), losses, "{model} {effort}: {ledger:?}");
        assert!(
            ledger
                .iter()
                .all(|entry| entry.starts_with("Approximated reasoning_effort "))
        );
    }
}

#[test]
fn the_error_of_a_tool_is_a_line_where_models_take_no_status() {
    let body = json!({"model": "m", "max_tokens": 9, "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": "no"}]}]});
    let (sent, ledger) = translated_for(LLAMA, Messages, &body);
    assert_eq!(
        sent["messages"][2]["content"][0]["toolResult"],
        json!({"toolUseId": "t", "content": [{"text": "The tool reported an error:\n"}, {"text": "no"}]})
    );
    assert_eq!(ledger.len(), 1, "{ledger:?}");
    assert!(ledger[0].starts_with("Approximated messages[2].content[0] "));
}

#[test]
fn only_one_call_is_asked_for_where_models_take_that() {
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}], "tools": tools,
        "tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": false});
    let (sent, ledger) = translated_for(CLAUDE, Chat, &body);
    assert_eq!(
        sent["additionalModelRequestFields"],
        json!({"tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true}})
    );
    assert_eq!(sent["toolConfig"].get("toolChoice"), None);
    assert_eq!(ledger, [""; 0]);
    let (sent, ledger) = translated_for(NOVA, Chat, &body);
    assert_eq!(
        sent["toolConfig"]["toolChoice"],
        json!({"tool": {"name": "f"}})
    );
    assert!(
        ledger[0].starts_with("Refused parallel_tool_calls "),
        "{ledger:?}"
    );
}

#[test]
fn generations_of_claude_have_their_rules_by_their_ids() {
    let dialect = shipped_dialect("standard");
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 8192}});
    let adaptive = json!({"thinking": {"type": "adaptive"}});
    for (model, more, fields, config, losses) in [
        (
            CLAUDE,
            json!({"reasoning_effort": "high"}),
            budget,
            Value::Null,
            vec!["reasoning_effort"],
        ),
        (
            "anthropic.claude-3-5-haiku-20241022-v1:0",
            json!({"reasoning_effort": "high", "temperature": 0.5, "top_p": 0.5}),
            Value::Null,
            json!({"temperature": 0.5, "topP": 0.5}),
            vec!["reasoning_effort"],
        ),
        (
            "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
            json!({"temperature": 0.5, "top_p": 0.5}),
            Value::Null,
            json!({"temperature": 0.5}),
            vec!["top_p"],
        ),
        (
            "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-6-v1",
            json!({"reasoning_effort": "high"}),
            adaptive,
            Value::Null,
            vec![],
        ),
        (
            "global.anthropic.claude-opus-5-v1:0",
            json!({"reasoning_effort": "none", "temperature": 0.5, "top_p": 0.5}),
            Value::Null,
            Value::Null,
            vec!["reasoning_effort", "temperature", "top_p"],
        ),
    ] {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
        let members = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(members);
        let (sent, ledger) = translated_with(dialect.for_model(model), model, Chat, &body);
        assert_eq!(sent["additionalModelRequestFields"], fields, "{model}");
        assert_eq!(sent["inferenceConfig"], config, "{model}");
        let mut paths: Vec<&str> = ledger
            .iter()
            .map(|entry| {
                let path = entry.strip_prefix("Approximated ").expect(entry);
                path.split(' ').next().unwrap()
            })
            .collect();
        paths.sort_unstable();
        assert_eq!(paths, losses, "{model}");
    }
}

#[test]
fn a_dialect_names_the_family_of_a_profile_whose_id_does_not() {
    let profile = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2";
    let body = json!({"model": "m", "max_tokens": 9, "top_k": 5, "messages": messages()});
    let features = ModelFeatures {
        converse: ConverseDialect {
            family: Some(ModelFamily::Claude),
        },
        ..ModelFeatures::default()
    };
    let (sent, ledger) = translated_with(&features.into(), profile, Messages, &body);
    assert_eq!(sent["additionalModelRequestFields"], json!({"top_k": 5}));
    assert_eq!(ledger, [""; 0]);
    let (_, ledger) = translated_for(profile, Messages, &body);
    assert_eq!(ledger.len(), 2, "{ledger:?}");
}

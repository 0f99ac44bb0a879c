//! Tests of what becomes of settings that only some models take.

use super::{CLAUDE, translated_for};
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

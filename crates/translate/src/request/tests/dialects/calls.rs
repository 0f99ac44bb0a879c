//! Tests of tools, calls, their results and the thoughts before them, as each provider takes them.

use super::{sent, sent_to};
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages, Responses};
use serde_json::{Value, json};

fn with_tools(more: Value) -> Value {
    let mut body = json!({"tools": [
        {"name": "one", "input_schema": {"type": "object"}},
        {"name": "two", "input_schema": {"type": "object"}}]});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

fn called() -> Value {
    with_tools(json!({"messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_01ABC", "name": "one", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_01ABC", "content": "r"},
            {"type": "text", "text": "b"}]}]}))
}

#[test]
fn calls_have_ids_that_the_provider_takes() {
    for (provider, is_same) in [("deepseek", true), ("mistral", false)] {
        let (sent, _) = sent_to((provider, "m"), &called());
        let messages = sent["messages"].as_array().unwrap();
        let call = messages[1]["tool_calls"][0]["id"].as_str().unwrap();
        assert_eq!(messages[2]["tool_call_id"], call, "{provider}");
        match is_same {
            true => assert_eq!(call, "toolu_01ABC"),
            false => {
                assert_eq!(call.len(), 9, "{call}");
                assert!(
                    call.bytes().all(|letter| letter.is_ascii_alphanumeric()),
                    "{call}"
                );
            }
        }
    }
    // An id of the provider's own stays.
    let own = called().to_string().replace("toolu_01ABC", "D681PevKs");
    let (sent, _) = sent_to(("mistral", "m"), &serde_json::from_str(&own).unwrap());
    assert_eq!(sent["messages"][2]["tool_call_id"], "D681PevKs");
}

#[test]
fn a_message_stands_between_results_and_the_user_where_the_provider_demands_one() {
    let roles = |sent: &Value| -> Vec<String> {
        let messages = sent["messages"].as_array().unwrap().iter();
        messages
            .map(|message| message["role"].as_str().unwrap().to_owned())
            .collect()
    };
    let (sent, ledger) = sent_to(("mistral", "m"), &called());
    assert_eq!(
        roles(&sent),
        ["user", "assistant", "tool", "assistant", "user"]
    );
    let entry = "Approximated messages[2].content[1] follows a message of the assistant that the gateway adds, since the channel's provider takes none of the user directly after results";
    assert_eq!(ledger, [entry]);
    let (sent, _) = sent_to(("vllm", "m"), &called());
    assert_eq!(roles(&sent), ["user", "assistant", "tool", "user"]);
}

#[test]
fn a_call_without_thoughts_has_empty_ones_where_the_provider_demands_some() {
    for (provider, thoughts) in [
        ("deepseek", json!("")),
        ("kimi", json!("")),
        ("qwen", Value::Null),
    ] {
        let (sent, ledger) = sent_to((provider, "m"), &called());
        assert_eq!(
            sent["messages"][1]["reasoning_content"], thoughts,
            "{provider}"
        );
        let entry = "Approximated messages[1].content[0] is sent with empty thoughts, since the channel's provider demands some and there are none to give back";
        assert_eq!(
            ledger.iter().any(|one| one == entry),
            thoughts.is_string(),
            "{provider}: {ledger:?}"
        );
    }
}

#[test]
fn a_call_that_must_be_made_is_asked_for_as_the_provider_takes_it() {
    let any = with_tools(json!({"tool_choice": {"type": "any"}}));
    let one = with_tools(json!({"tool_choice": {"type": "tool", "name": "one"}}));
    let mut single = any.clone();
    single["tools"].as_array_mut().unwrap().truncate(1);
    let named = json!({"type": "function", "function": {"name": "one"}});
    let off = json!({"type": "disabled"});
    let refused = "Refused tool_choice demands a call of any tool, which the channel's provider does not take; name one, or send `auto`";
    let forced = "Refused tool_choice forces a call, which the channel's provider does not take; send `auto`";
    let quiet = "Approximated tool_choice is sent without thoughts, since the channel's model does not think before a call that it must make";
    let cases = [
        ("standard", &any, json!("required"), Value::Null, None),
        (
            "deepseek",
            &any,
            json!("required"),
            off.clone(),
            Some(quiet),
        ),
        ("deepseek", &one, named.clone(), off.clone(), Some(quiet)),
        ("kimi", &any, json!("auto"), off.clone(), Some(refused)),
        ("kimi", &single, named.clone(), off, Some(quiet)),
        ("glm", &one, json!("auto"), Value::Null, Some(forced)),
    ];
    for (provider, more, choice, thinking, entry) in cases {
        let (sent, ledger) = sent_to((provider, "m"), more);
        assert_eq!(sent["tool_choice"], choice, "{provider}");
        assert_eq!(sent["thinking"], thinking, "{provider}");
        assert_eq!(ledger.first().map(String::as_str), entry, "{provider}");
    }
}

#[test]
fn a_choice_of_several_tools_is_sent_as_these_tools_alone() {
    let tool = |name: &str| json!({"type": "function", "name": name, "parameters": {"type": "object"}, "strict": true});
    let more = json!({"tools": [tool("one"), tool("two")], "tool_choice": {"type": "allowed_tools",
        "mode": "auto", "tools": [{"type": "function", "name": "two"}]}});
    let (body, ledger) = sent(Responses, Chat, ("deepseek", "m"), &more);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(body["tools"][0]["function"]["name"], "two");
    assert_eq!(body["tools"][0]["function"]["strict"], Value::Null);
    assert_eq!(body["tool_choice"], "auto");
    assert_eq!(
        ledger,
        [
            "Approximated tools[1] is sent without `strict`, which the channel's provider does not have",
            "Approximated tool_choice is sent as these tools alone"
        ]
    );
    let (body, ledger) = sent(Responses, Chat, ("standard", "m"), &more);
    assert_eq!(body["tools"].as_array().unwrap().len(), 2);
    assert_eq!(body["tools"][0]["function"]["strict"], true);
    assert_eq!(body["tool_choice"]["type"], "allowed_tools");
    assert_eq!(ledger, [""; 0]);
}

#[test]
fn a_messages_provider_has_its_own_words_for_efforts() {
    let more = json!({"reasoning_effort": "medium", "max_completion_tokens": 9000});
    let (body, ledger) = sent(Chat, Messages, ("deepseek", "m"), &more);
    assert_eq!(body["output_config"]["effort"], "high");
    assert_eq!(body["thinking"]["type"], "enabled");
    assert!(
        ledger
            .iter()
            .any(|entry| entry.starts_with("Approximated reasoning_effort ")),
        "{ledger:?}"
    );
}

#[test]
fn models_that_do_not_think_beside_tools_are_asked_not_to() {
    let high = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}});
    let off = json!({"thinking": {"type": "disabled"}});
    let with = |more: &Value| with_tools(more.clone());
    for (model, more, effort, is_noted) in [
        ("gpt-5.6-terra", with(&json!({})), json!("none"), true),
        ("gpt-5.4", with(&high), json!("none"), true),
        ("gpt-5.5", with(&off), json!("none"), false),
        ("gpt-5.5", high.clone(), json!("high"), false),
        ("gpt-5.6", json!({}), Value::Null, false),
        ("gpt-5.3", with(&high), json!("high"), false),
        ("gpt-5.2", off.clone(), json!("none"), false),
    ] {
        let (sent, ledger) = sent_to(("standard", model), &more);
        assert_eq!(sent["reasoning_effort"], effort, "{model} {more}");
        let is_there = ledger
            .iter()
            .any(|entry| entry.starts_with("Approximated tools is sent without thoughts"));
        assert_eq!(is_there, is_noted, "{model}: {ledger:?}");
    }
    let (sent, _) = sent(Messages, Responses, ("standard", "gpt-5.6"), &with(&high));
    assert_eq!(sent["reasoning"]["effort"], "high");
}

#[test]
fn models_without_structured_outputs_are_asked_for_the_form_of_the_answer() {
    let schema =
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let function = json!({"name": "f", "parameters": schema, "strict": true});
    let more = json!({"tools": [{"type": "function", "function": function}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}});
    for (model, is_held) in [
        ("claude-sonnet-4-5", true),
        ("claude-3-7-sonnet-latest", false),
    ] {
        let (sent, ledger) = sent(Chat, Messages, ("standard", model), &more);
        assert_eq!(sent["output_config"]["format"].is_object(), is_held);
        assert_eq!(sent["tools"][0]["strict"] == true, is_held, "{sent}");
        let instruction = sent["system"][0]["text"].as_str().unwrap_or_default();
        assert_eq!(
            instruction.contains(&schema.to_string()),
            !is_held,
            "{sent}"
        );
        let mut noted = ledger
            .iter()
            .filter(|entry| entry.starts_with("Approximated tools[0]"));
        assert_eq!(noted.next().is_some(), !is_held, "{ledger:?}");
    }
}

#[test]
fn small_limits_and_long_ids_are_what_openai_takes() {
    let long = "c".repeat(80);
    let messages = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": long, "name": "one", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": long, "content": "r"}]}]);
    let more = with_tools(json!({"max_tokens": 1, "messages": messages}));
    let (sent_there, ledger) = sent(Messages, Responses, ("standard", "m"), &more);
    assert_eq!(sent_there["max_output_tokens"], 16);
    let entry = "Approximated max_tokens becomes 16, the least limit of the responses protocol";
    assert_eq!(ledger, [entry]);
    let ids = [1, 2].map(|item| sent_there["input"][item]["call_id"].as_str().unwrap());
    assert_eq!(ids[0], ids[1]);
    assert_eq!(ids[0].len(), 64);
    let (sent, _) = sent_to(("standard", "m"), &more);
    assert_eq!(sent["messages"][1]["tool_calls"][0]["id"], ids[0]);
    assert_eq!(sent["messages"][2]["tool_call_id"], ids[0]);
}

//! Requests that try to break a translation, or to make it slow.

use super::{pair, translated, translated_text};
use crate::{ModelFeatures, ProtocolPair};
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages, Responses};
use headgate_protocol::conversation::ProviderFormat;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PAIRS: [ProtocolPair; 4] = [
    pair(Messages, Chat),
    pair(Chat, Messages),
    pair(Responses, Chat),
    pair(Responses, Messages),
];

/// A conversation of calls and their results, in one turn each.
fn conversation(caller: ProtocolPair, calls: &[(String, String)]) -> Value {
    let user = json!({"role": "user", "content": "a"});
    let parsed = |arguments: &str| serde_json::from_str::<Value>(arguments).unwrap();
    match caller.caller {
        Chat => {
            let call = |(id, arguments): &(String, String)| {
                json!({"id": id, "type": "function",
                "function": {"name": "f", "arguments": arguments}})
            };
            let result = |(id, _): &(String, String)| json!({"role": "tool", "tool_call_id": id, "content": "x"});
            let all: Vec<Value> = calls.iter().map(call).collect();
            let mut messages = vec![user, json!({"role": "assistant", "tool_calls": all})];
            messages.extend(calls.iter().map(result));
            json!({"model": "m", "messages": messages})
        }
        Messages => {
            let call = |(id, arguments): &(String, String)| {
                json!({"type": "tool_use", "id": id, "name": "f",
                "input": parsed(arguments)})
            };
            let result = |(id, _): &(String, String)| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
            let all: Vec<Value> = calls.iter().map(call).collect();
            let results: Vec<Value> = calls.iter().map(result).collect();
            json!({"model": "m", "max_tokens": 9, "messages": [user, {"role": "assistant", "content": all},
                {"role": "user", "content": results}]})
        }
        Responses => {
            let call = |(id, arguments): &(String, String)| {
                json!({"type": "function_call", "call_id": id, "name": "f",
                "arguments": arguments})
            };
            let result = |(id, _): &(String, String)| json!({"type": "function_call_output", "call_id": id, "output": "x"});
            let mut input = vec![user];
            input.extend(calls.iter().map(call));
            input.extend(calls.iter().map(result));
            json!({"model": "m", "input": input})
        }
    }
}

/// How many calls and how many results a body has.
fn counts(sent: &Value) -> (usize, usize) {
    let text = sent.to_string();
    let count = |needle: &str| text.matches(needle).count();
    match text.contains("\"tool_calls\"") {
        true => (count("\"type\":\"function\""), count("\"role\":\"tool\"")),
        false => (
            count("\"type\":\"tool_use\""),
            count("\"type\":\"tool_result\""),
        ),
    }
}

#[test]
fn ten_thousand_calls_of_a_turn_take_linear_time() {
    let calls: Vec<_> = (0..10_000)
        .map(|call| (format!("call_{call}"), "{}".to_owned()))
        .collect();
    for pair in PAIRS {
        let start = Instant::now();
        let (sent, ledger) =
            translated(pair, &conversation(pair, &calls), ModelFeatures::default());
        assert_eq!(counts(&sent), (10_000, 10_000), "{pair:?}");
        assert!(ledger.len() <= 1, "{ledger:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{pair:?}");
    }
}

#[test]
fn ten_thousand_odd_ids_are_counted_in_linear_time() {
    let calls: Vec<_> = (0..10_000)
        .map(|_| ("c".to_owned(), "{}".to_owned()))
        .collect();
    for pair in PAIRS {
        let start = Instant::now();
        let translated = translated_text(
            pair,
            conversation(pair, &calls).to_string(),
            ModelFeatures::default(),
        );
        assert!(translated.ledger.unnamed() > 10_000, "{pair:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{pair:?}");
    }
}

#[test]
fn large_arguments_take_linear_time() {
    let large = json!({"text": "\"x\\".repeat(3 << 20)}).to_string();
    assert!(large.len() > 10 << 20);
    for pair in PAIRS {
        let start = Instant::now();
        let calls = [("c".to_owned(), large.clone())];
        let (sent, _) = translated(pair, &conversation(pair, &calls), ModelFeatures::default());
        let arguments = match pair.channel {
            ProviderFormat::Chat => sent["messages"][1]["tool_calls"][0]["function"]["arguments"]
                .as_str()
                .unwrap()
                .to_owned(),
            ProviderFormat::Messages
            | ProviderFormat::Responses
            | ProviderFormat::Gemini
            | ProviderFormat::Converse => sent["messages"][1]["content"][0]["input"].to_string(),
        };
        assert!(arguments == large, "{pair:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{pair:?}");
    }
}

#[test]
fn ids_that_come_again_in_later_turns_stay_apart() {
    let turns: Vec<Value> = (0..3)
        .flat_map(|_| {
            let function = json!({"name": "f", "arguments": "{}"});
            [json!({"role": "assistant", "tool_calls": [{"id": "call_0", "type": "function", "function": function}]}),
                json!({"role": "tool", "tool_call_id": "call_0", "content": "x"})]
        })
        .collect();
    let mut messages = vec![json!({"role": "user", "content": "a"})];
    messages.extend(turns);
    let body = json!({"model": "m", "max_tokens": 9, "messages": messages});
    let (sent, ledger) = translated(pair(Chat, Messages), &body, ModelFeatures::default());
    assert_eq!(ledger, [""; 0]);
    let messages = sent["messages"].as_array().unwrap();
    let ids: Vec<&Value> = messages[1..]
        .iter()
        .map(|message| {
            let block = &message["content"][0];
            block.get("id").unwrap_or(&block["tool_use_id"])
        })
        .collect();
    assert_eq!(ids.len(), 6);
    for pair in ids.chunks(2) {
        assert_eq!(pair[0], pair[1]);
    }
    assert!(ids[0] != ids[2] && ids[2] != ids[4] && ids[0] != ids[4]);
}

#[test]
fn an_id_has_one_meaning_in_every_spelling() {
    let odd = [
        "a b",
        "ä",
        "\"",
        "\\",
        "\n",
        "",
        "a/b",
        "a:b",
        "{}",
        &"x".repeat(300),
    ]
    .map(|id| (id.to_owned(), "{}".to_owned()));
    for pair in PAIRS {
        let (sent, ledger) = translated(pair, &conversation(pair, &odd), ModelFeatures::default());
        assert_eq!(counts(&sent), (odd.len(), odd.len()), "{pair:?}");
        assert!(
            !ledger.iter().any(|it| it.contains("Refused")),
            "{ledger:?}"
        );
        if pair.channel == ProviderFormat::Messages {
            let block = |message: usize, at: usize, member: &str| {
                sent["messages"][message]["content"][at][member]
                    .as_str()
                    .unwrap()
                    .to_owned()
            };
            for at in 0..odd.len() {
                let id = block(1, at, "id");
                assert_eq!(id, block(2, at, "tool_use_id"));
                assert!(!id.is_empty() && id.len() <= 256);
                assert!(
                    id.bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'),
                    "{id}"
                );
            }
        }
    }
    let escaped = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},
        {"role":"assistant","tool_calls":[{"id":"\u0061b","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a\u0062","content":"x"}]}"#;
    let translated = translated_text(
        pair(Chat, Messages),
        escaped.to_owned(),
        ModelFeatures::default(),
    );
    assert!(translated.ledger.is_empty(), "{:?}", translated.ledger);
}

#[test]
fn deep_and_long_values_do_no_harm() {
    let deep = format!("{}1{}", "[".repeat(50), "]".repeat(50));
    let arguments = format!("{{\"a\":{deep}}}");
    let many = format!("{{\"a\":[{}1]}}", "1,".repeat(50_000));
    for pair in PAIRS {
        for json in [&arguments, &many] {
            let calls = [("c".to_owned(), json.clone())];
            let body = conversation(pair, &calls).to_string();
            let translated = translated_text(pair, body, ModelFeatures::default());
            let sent: Value = serde_json::from_slice(&translated.body).unwrap();
            assert_eq!(counts(&sent), (1, 1), "{pair:?}");
        }
    }
}

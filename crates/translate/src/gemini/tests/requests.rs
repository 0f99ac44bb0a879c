//! What requests of callers become.

use crate::request::tests::channel;
use crate::{ModelFeatures, ProtocolPair, translate_request};
use bytes::Bytes;
use headgate_protocol::conversation::ConversationFormat::{self, Chat, Messages, Responses};
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};

/// What is sent to a model, and the ledger, a line for each entry.
pub(super) fn sent(caller: ConversationFormat, model: &str, body: &Value) -> (Value, Vec<String>) {
    let document = JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap();
    let pair = ProtocolPair {
        caller,
        channel: ProviderFormat::Gemini,
    };
    let mut channel = channel(ModelFeatures::default());
    channel.model = Bytes::from(json!(model).to_string());
    channel.has_call_ids = !model.starts_with("vertex/");
    let translated = translate_request(pair, &document, &channel);
    let entries = translated.ledger.entries().iter();
    let lines = entries.map(|entry| format!("{:?} {}", entry.outcome, entry.path));
    let body = serde_json::from_slice(&translated.body).unwrap();
    (body, lines.collect())
}

fn user(content: &Value) -> Value {
    json!([{"role": "user", "content": content}])
}

#[test]
fn authors_alternate_and_instructions_stand_apart() {
    let body = json!({"model": "m", "messages": [
        {"role": "system", "content": "one"}, {"role": "developer", "content": "two"},
        {"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c"}, {"role": "assistant", "content": "d"},
        {"role": "user", "content": "e"},
    ]});
    let (sent, ledger) = sent(Chat, "gemini-3-pro", &body);
    assert!(ledger.is_empty(), "{ledger:?}");
    assert_eq!(
        sent,
        json!({
            "systemInstruction": {"parts": [{"text": "one"}, {"text": "two"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
                {"role": "model", "parts": [{"text": "c"}, {"text": "d"}]},
                {"role": "user", "parts": [{"text": "e"}]},
            ],
        })
    );
}

#[test]
fn settings_have_the_names_of_the_protocol() {
    let body = json!({"model": "m", "messages": user(&json!("a")), "max_completion_tokens": 9, "temperature": 1.50, "top_p": 0.5,
        "stop": ["x", "y"], "seed": 7, "frequency_penalty": 0, "presence_penalty": null, "response_format": {"type": "json_schema",
            "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": true}}});
    let (sent, ledger) = sent(Chat, "gemini-3-pro", &body);
    assert_eq!(
        sent["generationConfig"],
        json!({"maxOutputTokens": 9, "temperature": 1.5, "topP": 0.5, "stopSequences": ["x", "y"],
        "seed": 7, "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "object"}})
    );
    let dropped = [
        "response_format.json_schema.name",
        "response_format.json_schema.strict",
    ];
    assert_eq!(ledger, dropped.map(|path| format!("Dropped {path}")));
}

#[test]
fn an_effort_becomes_what_the_model_takes() {
    let cases = [
        (
            "gemini-3-pro",
            "low",
            json!({"thinkingLevel": "LOW", "includeThoughts": true}),
            false,
        ),
        (
            "gemini-3-pro",
            "none",
            json!({"thinkingLevel": "LOW"}),
            true,
        ),
        (
            "gemini-3-pro",
            "minimal",
            json!({"thinkingLevel": "LOW", "includeThoughts": true}),
            true,
        ),
        (
            "gemini-3-flash",
            "minimal",
            json!({"thinkingLevel": "MINIMAL", "includeThoughts": true}),
            false,
        ),
        (
            "gemini-3-pro",
            "xhigh",
            json!({"thinkingLevel": "HIGH", "includeThoughts": true}),
            true,
        ),
        (
            "gemini-2.5-flash",
            "none",
            json!({"thinkingBudget": 0}),
            false,
        ),
        (
            "gemini-2.5-pro",
            "none",
            json!({"thinkingBudget": 128}),
            true,
        ),
        (
            "gemini-2.5-pro",
            "medium",
            json!({"thinkingBudget": 4096, "includeThoughts": true}),
            true,
        ),
        ("gemini-2.0-flash", "high", Value::Null, true),
    ];
    for (model, effort, config, is_noted) in cases {
        let body = json!({"model": "m", "messages": user(&json!("a")), "reasoning_effort": effort});
        let (sent, ledger) = sent(Chat, model, &body);
        assert_eq!(
            sent["generationConfig"]["thinkingConfig"], config,
            "{model} {effort}"
        );
        assert_eq!(!ledger.is_empty(), is_noted, "{model} {effort}: {ledger:?}");
    }
}

#[test]
fn a_budget_becomes_one_within_the_bounds_or_a_level() {
    let cases = [
        (
            "gemini-2.5-flash",
            json!({"type": "enabled", "budget_tokens": 2048}),
            json!({"thinkingBudget": 2048, "includeThoughts": true}),
            false,
        ),
        (
            "gemini-2.5-flash",
            json!({"type": "enabled", "budget_tokens": 99_000}),
            json!({"thinkingBudget": 24_576, "includeThoughts": true}),
            true,
        ),
        (
            "gemini-2.5-flash",
            json!({"type": "adaptive"}),
            json!({"thinkingBudget": -1, "includeThoughts": true}),
            false,
        ),
        (
            "gemini-2.5-flash",
            json!({"type": "disabled"}),
            json!({"thinkingBudget": 0}),
            false,
        ),
        (
            "gemini-3-pro",
            json!({"type": "adaptive"}),
            json!({"includeThoughts": true}),
            false,
        ),
        (
            "gemini-3-pro",
            json!({"type": "enabled", "budget_tokens": 2048}),
            json!({"thinkingLevel": "LOW", "includeThoughts": true}),
            true,
        ),
    ];
    for (model, thinking, config, is_noted) in cases {
        let body = json!({"model": "m", "max_tokens": 9, "messages": user(&json!("a")), "thinking": thinking});
        let (sent, ledger) = sent(Messages, model, &body);
        assert_eq!(
            sent["generationConfig"]["thinkingConfig"], config,
            "{model} {thinking}"
        );
        assert_eq!(
            !ledger.is_empty(),
            is_noted,
            "{model} {thinking}: {ledger:?}"
        );
    }
}

#[test]
fn files_are_inline_and_addresses_only_for_models_that_fetch_them() {
    let content = json!([
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,BB=="}},
        {"type": "input_audio", "input_audio": {"data": "CC==", "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "https://a.example/i.JPG?x=1"}},
        {"type": "image_url", "image_url": {"url": "https://a.example/i"}},
    ]);
    let body = json!({"model": "m", "messages": user(&content)});
    let (newest, ledger) = sent(Chat, "gemini-3-pro", &body);
    assert!(ledger.is_empty(), "{ledger:?}");
    let inline = [
        json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}}),
        json!({"inlineData": {"mimeType": "application/pdf", "data": "BB=="}}),
        json!({"inlineData": {"mimeType": "audio/wav", "data": "CC=="}}),
    ];
    let mut parts = inline.to_vec();
    parts.push(
        json!({"fileData": {"mimeType": "image/jpeg", "fileUri": "https://a.example/i.JPG?x=1"}}),
    );
    parts.push(json!({"fileData": {"fileUri": "https://a.example/i"}}));
    assert_eq!(newest["contents"][0]["parts"], json!(parts));
    let (older, ledger) = sent(Chat, "gemini-2.5-flash", &body);
    assert_eq!(older["contents"][0]["parts"], json!(inline));
    assert_eq!(
        ledger,
        [
            "Refused messages[0].content[3]",
            "Refused messages[0].content[4]"
        ]
    );
}

#[test]
fn images_of_tools_stay_in_results_or_are_named_as_what_they_are() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}});
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "2nd", "input": {}}]},
        {"role": "user", "content": [
            {"type": "text", "text": "b"},
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "c"}, image]},
        ]},
    ]});
    let name = "_2nd_6163601828866e9f";
    let inline = json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}});
    let (newest, _) = sent(Messages, "gemini-3-pro", &body);
    assert_eq!(
        newest["contents"][2]["parts"],
        json!([
            {"functionResponse": {"id": "t1", "name": name, "response": {"output": "c"}, "parts": [inline]}},
        ])
    );
    assert_eq!(
        newest["contents"][3],
        json!({"role": "user", "parts": [{"text": "b"}]})
    );
    let (older, ledger) = sent(Messages, "gemini-2.5-pro", &body);
    assert_eq!(
        older["contents"][2]["parts"],
        json!([
            {"functionResponse": {"id": "t1", "name": name, "response": {"output": "c"}}},
        ])
    );
    assert_eq!(
        older["contents"][3]["parts"],
        json!([
            {"text": format!("The next item is not from the user. The tool `{name}` returned it:")},
            inline,
            {"text": "b"},
        ])
    );
    assert_eq!(ledger, ["Approximated messages[2].content[1].content[1]"]);
}

#[test]
fn the_choice_of_tools_has_a_mode() {
    let schema = json!({"type": "object", "properties": {"a": {}}});
    let tool = |name: &str| json!({"type": "function", "name": name, "parameters": schema});
    let allowed = |mode: &str| json!({"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": "f"}]});
    for (choice, mode, names) in [
        (json!("auto"), "AUTO", Value::Null),
        (json!("none"), "NONE", Value::Null),
        (json!("required"), "ANY", Value::Null),
        (
            json!({"type": "function", "name": "f"}),
            "ANY",
            json!(["f"]),
        ),
        (allowed("required"), "ANY", json!(["f"])),
        (allowed("auto"), "VALIDATED", json!(["f"])),
    ] {
        let body = json!({"model": "m", "input": "a", "tools": [tool("f"), tool("g")], "tool_choice": choice});
        let (sent, _) = sent(Responses, "gemini-3-pro", &body);
        let config = &sent["toolConfig"]["functionCallingConfig"];
        assert_eq!(config["mode"], mode, "{choice}");
        assert_eq!(config["allowedFunctionNames"], names, "{choice}");
        assert_eq!(
            sent["tools"][0]["functionDeclarations"][1],
            json!({"name": "g", "parametersJsonSchema": schema})
        );
    }
}

#[test]
fn what_has_no_counterpart_is_refused() {
    let message = user(&json!("a"));
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "[1"}});
    for (member, value, refused) in [
        (
            "parallel_tool_calls",
            json!(false),
            "Refused parallel_tool_calls",
        ),
        ("n", json!(2), "Refused n"),
        ("frequency_penalty", json!(0.5), "Refused frequency_penalty"),
        ("logit_bias", json!({"1": 1}), "Refused logit_bias"),
        (
            "stop",
            json!(["1", "2", "3", "4", "5", "6"]),
            "Refused stop",
        ),
        (
            "messages",
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]),
            "Refused messages[1]",
        ),
        (
            "messages",
            json!([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}, {"role": "user", "content": "c"}]),
            "Refused messages[1]",
        ),
        (
            "messages",
            json!([{"role": "system", "content": "a"}]),
            "AlwaysRefused messages",
        ),
        (
            "messages",
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": ""}]),
            "AlwaysRefused messages[1].tool_calls[0]",
        ),
    ] {
        let mut body = json!({"model": "m", "messages": message});
        body[member] = value;
        let (_, ledger) = sent(Chat, "gemini-3-pro", &body);
        assert!(
            ledger.iter().any(|line| line == refused),
            "{refused}: {ledger:?}"
        );
    }
}

#[test]
fn values_of_wrong_types_do_not_panic() {
    let bodies = [
        json!({}),
        json!([]),
        json!({"messages": 7}),
        json!({"messages": [7, {"role": 1}, {"role": "user", "content": 5}]}),
        json!({"messages": [{"role": "assistant", "tool_calls": 1, "content": [[]]}], "seed": "x", "stop": {}, "tools": [1], "tool_choice": 1}),
    ];
    for body in bodies {
        for caller in ConversationFormat::ALL {
            sent(caller, "gemini-3-pro", &body);
        }
    }
}

#[test]
fn vertex_gets_calls_and_results_without_ids_in_the_order_of_the_calls() {
    let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"},
        {"role": "assistant", "content": null, "tool_calls": [call("c1", "look"), call("c2", "look")]},
        result("c2", "second"), result("c1", "first")]});
    for (model, has_ids) in [("gemini-3-pro", true), ("vertex/gemini-3-pro", false)] {
        let (sent, _) = sent(Chat, model, &body);
        let calls = sent["contents"][1]["parts"].as_array().unwrap().iter();
        let ids = calls.map(|part| part["functionCall"].get("id").cloned());
        let results = sent["contents"][2]["parts"].as_array().unwrap().iter();
        let results: Vec<_> = results.map(|part| &part["functionResponse"]).collect();
        let ids: Vec<_> = ids
            .chain(results.iter().map(|result| result.get("id").cloned()))
            .collect();
        let expected = ["c1", "c2", "c1", "c2"].map(|id| has_ids.then(|| json!(id)));
        assert_eq!(ids, expected, "{model}");
        let texts = results.iter().map(|result| &result["response"]["output"]);
        assert!(texts.eq(["first", "second"]), "{model}: {results:?}");
    }
}

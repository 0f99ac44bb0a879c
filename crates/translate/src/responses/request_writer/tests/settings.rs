//! Tools, the choice between them, and settings.

use super::*;
use crate::superset::{
    AnswerFormat, Grammar, ReasoningEffort, StreamSettings, Tool, ToolCallChoice, ToolSignature,
};

#[test]
fn tools_are_flat_and_have_their_strictness() {
    let document = parse(&json!({"x": {"type": "object", "properties": {}, "a": 1.0}}));
    let at = document.root().get("x").unwrap();
    let function = |name, strict| ToolSignature::Function {
        name: text(name),
        description: None,
        parameters: Some(at),
        strict,
    };
    let tool = |definition| Tool {
        at,
        definition,
        cache: None,
    };
    let mut request = request(ConversationFormat::Messages, document.root());
    request.tools = vec![
        tool(function("f", None)),
        tool(function("g", Some(true))),
        tool(ToolSignature::Provider(text("web_search_20260318"))),
        tool(ToolSignature::Custom {
            name: text("free"),
            description: Some(text("d")),
            grammar: Some(Grammar {
                syntax: text("regex"),
                definition: text("a+"),
            }),
        }),
        tool(ToolSignature::Function {
            name: text("h"),
            description: Some(text("d")),
            parameters: None,
            strict: Some(false),
        }),
    ];
    request.tool_choice = Some(ToolCallChoice::Allowed {
        names: vec![text("f"), text("free")],
        required: true,
    });
    request.parallel_tool_calls = Some(false);
    let (body, ledger) = write(&request);
    let expected = json!({"input": [], "parallel_tool_calls": false,
        "tool_choice": {"type": "allowed_tools", "mode": "required",
            "tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "free"}]},
        "tools": [
            {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}, "a": 1.0}, "strict": false},
            {"type": "function", "name": "g", "parameters": {"type": "object", "properties": {}, "a": 1.0}, "strict": true},
            {"type": "custom", "name": "free", "description": "d",
                "format": {"type": "grammar", "syntax": "regex", "definition": "a+"}},
            {"type": "function", "name": "h", "description": "d",
                "parameters": {"type": "object", "properties": {}}, "strict": false}]});
    assert_eq!(body, expected);
    let refused = "Refused x is of type `web_search_20260318`, which has no counterpart in the responses protocol";
    assert_eq!(ledger, [refused]);
    request.tools.truncate(3);
    request.tools.drain(..2);
    assert_eq!(
        write(&request).0,
        json!({"input": []}),
        "no choice without tools"
    );
}

#[test]
fn settings_are_those_of_the_caller() {
    let chat = parse(
        &json!({"metadata": {"a": "b"}, "service_tier": "flex", "prompt_cache_key": "k", "user": "u",
        "safety_identifier": "s", "verbosity": "low", "seed": 7, "prompt_cache_retention": null}),
    );
    let messages = parse(
        &json!({"metadata": {"user_id": "u"}, "service_tier": "standard_only", "verbosity": "low"}),
    );
    let numbers = parse(&json!({"a": 100, "budget": 5000}));
    let mut from_chat = request(ConversationFormat::Chat, chat.root());
    from_chat.user = Some(text("u"));
    from_chat.stream = Some(StreamSettings {
        includes_usage: false,
    });
    from_chat.sampling.max_output_tokens = numbers.root().get("a");
    from_chat.reasoning.effort = Some(ReasoningEffort::XHigh);
    from_chat.output_format = Some(AnswerFormat::JsonObject);
    let expected = json!({"input": [], "max_output_tokens": 100, "reasoning": {"effort": "xhigh"},
        "text": {"format": {"type": "json_object"}, "verbosity": "low"}, "stream": true, "metadata": {"a": "b"},
        "prompt_cache_key": "k", "safety_identifier": "s", "service_tier": "flex", "user": "u"});
    assert_eq!(write(&from_chat).0, expected);
    let schema = parse(&json!({"type": "object"}));
    let mut from_messages = request(ConversationFormat::Messages, messages.root());
    from_messages.user = Some(text("u"));
    from_messages.reasoning.budget = numbers.root().get("budget");
    from_messages.reasoning.is_enabled = Some(true);
    from_messages.output_format = Some(AnswerFormat::JsonSchema {
        name: None,
        description: None,
        schema: schema.root(),
        strict: None,
    });
    let expected = json!({"input": [], "reasoning": {"effort": "medium", "summary": "auto"}, "user": "u",
        "service_tier": "default",
        "text": {"format": {"type": "json_schema", "name": "response", "schema": {"type": "object"}}}});
    assert_eq!(write(&from_messages).0, expected);
    from_messages.reasoning.is_enabled = Some(false);
    assert_eq!(
        write(&from_messages).0["reasoning"],
        json!({"effort": "none"})
    );
}

#[test]
fn a_model_that_does_not_reason_is_not_asked_for_encrypted_thoughts() {
    let document = empty();
    let request = request(ConversationFormat::Chat, document.root());
    for (encrypted_reasoning, include) in [
        (true, Some(json!(["reasoning.encrypted_content"]))),
        (false, None),
    ] {
        let mut channel = channel(false);
        let features = Arc::get_mut(&mut channel.features).unwrap();
        features.responses.encrypted_reasoning = encrypted_reasoning;
        let body = write_request(&request, &channel, &mut Ledger::default());
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body.get("include"), include.as_ref());
    }
}

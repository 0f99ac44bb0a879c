//! Tools, the choice between them, and settings.

use super::*;
use crate::superset::{AnswerFormat, ToolSignature};
use crate::typed_value::json_text;
use bytes::Bytes;
use headgate_protocol::json::JsonLimits;

#[test]
fn functions_are_strict_by_default_as_far_as_their_schema_can_be() {
    let strict = json!({"type": "object", "properties": {"a": {"type": "string"}},
        "required": ["a"], "additionalProperties": false});
    let open =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let partial = json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"],
        "additionalProperties": false});
    let deep = json!({"type": "object", "properties": {"a": open}, "required": ["a"],
        "additionalProperties": false});
    let cases = [
        (json!({"parameters": strict}), true, 0),
        (json!({"parameters": strict, "strict": false}), false, 0),
        (json!({"parameters": open, "strict": true}), true, 0),
        (json!({"parameters": open}), false, 1),
        (json!({"parameters": partial, "strict": null}), false, 1),
        (json!({"parameters": deep}), false, 1),
        (json!({"parameters": null}), false, 0),
        (json!({}), false, 0),
    ];
    for (mut tool, expected, entries) in cases {
        tool["type"] = "function".into();
        tool["name"] = "f".into();
        let document = parse(&json!({"input": "a", "tools": [tool]}));
        let mut ledger = Ledger::default();
        let request = read_request(&document, &mut ledger);
        let ToolSignature::Function { strict, .. } = &request.tools[0].definition else {
            panic!("{tool} is {:?}", request.tools[0])
        };
        assert_eq!(*strict, Some(expected), "{tool}");
        assert_eq!(ledger.entries().len(), entries, "{tool}");
    }
}

#[test]
fn tools_are_functions_and_free_text_and_those_of_the_provider() {
    let document = parse(&json!({"input": "a", "tools": [
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": false},
        {"type": "custom", "name": "g", "format": {"type": "grammar", "syntax": "lark", "definition": "start: A"}},
        {"type": "custom", "name": "h", "description": "d", "format": {"type": "text"}},
        {"type": "web_search"},
        {"type": "custom"},
        "f",
    ]}));
    let mut ledger = Ledger::default();
    let request = read_request(&document, &mut ledger);
    let shown = request.tools.iter().map(|tool| match &tool.definition {
        ToolSignature::Function {
            name,
            description,
            parameters,
            ..
        } => format!(
            "{} {description:?} {:?}",
            name.decoded(),
            parameters.map(json_text)
        ),
        ToolSignature::Custom { name, grammar, .. } => format!(
            "{} {:?}",
            name.decoded(),
            grammar
                .as_ref()
                .map(|grammar| (grammar.syntax.decoded(), grammar.definition.decoded()))
        ),
        ToolSignature::Provider(name) => name.decoded().into_owned(),
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            r#"f Some(EscapedText("d")) Some("{\"type\":\"object\"}")"#,
            r#"g Some(("lark", "start: A"))"#,
            "h None",
            "web_search"
        ]
    );
    assert_eq!(request.custom_tools(), ["g".into(), "h".into()]);
    assert_eq!(
        entries(&ledger),
        [
            "AlwaysRefused tools[4].name is missing",
            "AlwaysRefused tools[5] must be an object, not a string"
        ]
    );
}

#[test]
fn a_tool_choice_is_a_mode_a_tool_or_several() {
    let cases = [
        (json!(null), "None", ""),
        (json!("auto"), "Some(Auto)", ""),
        (json!("none"), "Some(None)", ""),
        (json!("required"), "Some(Required)", ""),
        (
            json!({"type": "function", "name": "f"}),
            r#"Some(Function(EscapedText("f")))"#,
            "",
        ),
        (
            json!({"type": "custom", "name": "g"}),
            r#"Some(Function(EscapedText("g")))"#,
            "",
        ),
        (
            json!({"type": "allowed_tools", "mode": "required", "tools": [
                {"type": "function", "name": "f"}, {"type": "mcp", "server_label": "s"}]}),
            r#"Some(Allowed { names: [EscapedText("f")], required: true })"#,
            "Refused tool_choice.tools[1] is of type `mcp`, which no other protocol has",
        ),
        (
            json!({"type": "web_search_preview"}),
            "None",
            "Refused tool_choice names a tool of type `web_search_preview`, which no other protocol has",
        ),
        (
            json!("any"),
            "None",
            "AlwaysRefused tool_choice must be `auto`, `none`, `required` or an object, not a string",
        ),
        (
            json!([]),
            "None",
            "AlwaysRefused tool_choice must be a string or an object, not an array",
        ),
        (
            json!({"type": "function"}),
            "None",
            "AlwaysRefused tool_choice.name is missing",
        ),
    ];
    for (choice, expected, entry) in cases {
        let document = parse(&json!({"input": "a", "tool_choice": choice}));
        let mut ledger = Ledger::default();
        let request = read_request(&document, &mut ledger);
        assert_eq!(format!("{:?}", request.tool_choice), expected);
        assert_eq!(entries(&ledger).join("\n"), entry);
    }
}

#[test]
fn settings_keep_the_text_of_their_numbers() {
    let body = Bytes::from_static(
        br#"{"input":"a","max_output_tokens":1e3,"temperature":1.0,"top_p":0.50,"parallel_tool_calls":false,
        "stream":true,"safety_identifier":"u1","reasoning":{"effort":"xhigh","generate_summary":"auto"},
        "text":{"verbosity":"low","format":{"type":"json_schema","name":"n","strict":true,"schema":{"const":1.00}}}}"#,
    );
    let document = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
    let mut ledger = Ledger::default();
    let request = read_request(&document, &mut ledger);
    let number = |node: Option<DocumentNode<'_>>| {
        node.and_then(|node| node.number_text().map(str::to_owned))
    };
    assert_eq!(
        number(request.sampling.max_output_tokens).as_deref(),
        Some("1e3")
    );
    assert_eq!(number(request.sampling.temperature).as_deref(), Some("1.0"));
    assert_eq!(number(request.sampling.top_p).as_deref(), Some("0.50"));
    assert_eq!(request.parallel_tool_calls, Some(false));
    assert!(request.stream.is_some_and(|stream| stream.includes_usage));
    assert_eq!(request.user.unwrap().decoded(), "u1");
    assert_eq!(
        format!("{:?}", request.reasoning),
        r#"ReasoningSettings { effort: Some(XHigh), budget: None, is_enabled: None, summary: Some(EscapedText("auto")) }"#
    );
    let Some(AnswerFormat::JsonSchema {
        name,
        schema,
        strict,
        ..
    }) = &request.output_format
    else {
        panic!("{:?}", request.output_format)
    };
    assert_eq!(json_text(*schema), r#"{"const":1.00}"#);
    assert_eq!(
        format!("{name:?} {strict:?}"),
        r#"Some(EscapedText("n")) Some(true)"#
    );
    assert!(ledger.is_empty(), "{:?}", ledger.entries());
}

#[test]
fn a_response_repeats_what_the_request_sets() {
    let document = parse(
        &json!({"input": "a", "model": "m", "temperature": null, "user": "u",
        "tools": [{"type": "custom", "name": "f"}], "reasoning": {"effort": "low"}}),
    );
    let request = read_request(&document, &mut Ledger::default());
    let repeated = crate::responses::repeated_members(&request);
    let expected = [
        ("reasoning", r#"{"effort":"low"}"#.into()),
        ("tools", r#"[{"name":"f","type":"custom"}]"#.into()),
        ("user", r#""u""#.into()),
    ];
    assert_eq!(repeated, expected);
}

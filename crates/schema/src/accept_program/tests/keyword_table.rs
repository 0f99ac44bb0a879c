//! Schemas of each keyword with bodies at its edges.

use serde_json::{Value, json};

/// A schema, bodies that its program accepts, and bodies that it refuses.
pub type Row = (Value, Vec<&'static str>, Vec<&'static str>);

/// The schemas of all keywords.
pub fn table() -> Vec<Row> {
    let mut table = kinds_and_numbers();
    table.extend(texts_and_lists());
    table.extend(objects());
    table.extend(combinations());
    table
}

fn kinds_and_numbers() -> Vec<Row> {
    vec![
        (json!(true), vec!["1", "{}"], vec![]),
        (json!(false), vec![], vec!["null", "{}"]),
        (json!({}), vec!["null"], vec![]),
        (json!({"type": "null"}), vec!["null"], vec!["0", "false"]),
        (
            json!({"type": ["boolean", "array"]}),
            vec!["true", "[]"],
            vec!["{}", "null", "\"true\""],
        ),
        (
            json!({"type": "integer"}),
            vec![
                "0",
                "-0",
                "1.0",
                "1e2",
                "1E400",
                "-1e400",
                "0.0",
                "123456789012345678901234567890",
            ],
            vec!["1.5", "1e-1", "\"1\"", "null"],
        ),
        (
            json!({"type": ["number", "integer"]}),
            vec!["1.5"],
            vec!["\"\""],
        ),
        (
            json!({"allOf": [{"type": "number"}, {"type": "integer"}]}),
            vec!["1"],
            vec!["1.5"],
        ),
        (
            json!({"minimum": 0, "maximum": 2}),
            vec![
                "0",
                "-0",
                "-0.0",
                "2",
                "2.0",
                "2e0",
                "0.5",
                "\"3\"",
                "2.00000000000000000001",
            ],
            vec![
                "-1",
                "-0.1",
                "2.1",
                "3",
                "1e400",
                "-1e400",
                "123456789012345678901234567890",
            ],
        ),
        (
            json!({"exclusiveMinimum": 0, "exclusiveMaximum": 0.5}),
            vec!["0.1", "1e-5", "4.9e-1"],
            vec!["0", "-0.0", "0.5", "5e-1", "1"],
        ),
        (
            json!({"allOf": [{"minimum": 1}, {"exclusiveMinimum": 1}, {"minimum": -1}], "maximum": 4294967295_u32}),
            vec!["1.1", "4294967295"],
            vec!["1", "4294967296", "9007199254740993"],
        ),
        (
            json!({"minimum": 1}),
            vec!["1e400", "9007199254740993"],
            vec!["-1e400"],
        ),
        (json!({"multipleOf": 3}), vec!["9", "\"1\""], vec!["10"]),
    ]
}

fn texts_and_lists() -> Vec<Row> {
    vec![
        (
            json!({"minLength": 1}),
            vec!["\"a\"", r#""\n""#, "\"🦀\"", "1"],
            vec!["\"\""],
        ),
        (
            json!({"minLength": 1, "maxLength": 1}),
            vec![
                "\"a\"",
                "\"é\"",
                "\"🦀\"",
                r#""\ud83e\udd80""#,
                r#""\u0061""#,
            ],
            vec!["\"\"", "\"ab\"", "\"🦀🦀\""],
        ),
        (
            json!({"pattern": "^a"}),
            vec!["\"ab\"", r#""\u0061""#, "1"],
            vec!["\"b\""],
        ),
        (
            json!({"not": {"pattern": "^a"}}),
            vec!["\"b\""],
            vec!["\"ab\"", "1"],
        ),
        (json!({"format": "uri"}), vec!["\"no uri\"", "1"], vec![]),
        (
            json!({"enum": ["a", "", "eight888", "nine99999", "longer than sixteen bytes", null, 1, [1, {"a": 1.0}], {"b": null}]}),
            vec![
                "\"a\"",
                r#""\u0061""#,
                "\"\"",
                "\"eight888\"",
                "\"nine99999\"",
                "\"longer than sixteen bytes\"",
                "null",
                "1",
                "1.0",
                "1e0",
                "[1.0,{\"a\":1}]",
                "{\"b\":null}",
                r#"{"\u0062":null}"#,
            ],
            vec![
                "\"b\"",
                "\"A\"",
                "\"eight88 \"",
                "\"nine9_999\"",
                "\"longer than SIXTEEN bytes\"",
                "true",
                "2",
                "[]",
                "[1]",
                "{}",
                "{\"b\":1}",
                "{\"b\":null,\"c\":1}",
                "\"null\"",
            ],
        ),
        (
            json!({"const": true}),
            vec!["true"],
            vec!["false", "1", "\"true\""],
        ),
        (
            json!({"enum": [true, false]}),
            vec!["true", "false"],
            vec!["null"],
        ),
        (
            json!({"const": "日本"}),
            vec!["\"日本\"", r#""\u65e5\u672c""#],
            vec!["\"日木\""],
        ),
        (
            json!({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}),
            vec!["\"b\""],
            vec!["\"a\"", "\"c\""],
        ),
        (
            json!({"items": {"type": "integer"}, "minItems": 1, "maxItems": 2}),
            vec!["[1]", "[1,2.0]", "{}", "\"\""],
            vec!["[]", "[1,2,3]", "[\"1\"]", "[1,null]"],
        ),
        (json!({"items": false}), vec!["[]"], vec!["[1]"]),
        (
            json!({"uniqueItems": true}),
            vec!["[1,2]", "{}"],
            vec!["[1,1.0]"],
        ),
        (
            json!({"contains": {"const": 1}}),
            vec!["[2,1]", "{}"],
            vec!["[]", "[2]"],
        ),
        (
            json!({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}),
            vec!["[1,0,1]", "[1,1,1.0]"],
            vec!["[1]", "[1,1,1,1]"],
        ),
        (
            json!({"contains": {"const": 1}, "minContains": 0}),
            vec!["[]", "[2]"],
            vec![],
        ),
        (
            json!({"contains": {"const": 1}, "maxContains": 1}),
            vec!["[1]"],
            vec!["[]", "[1,1]"],
        ),
        (
            json!({"minContains": 5, "maxContains": 0, "then": false, "else": false}),
            vec!["[]", "[1]"],
            vec![],
        ),
    ]
}

fn objects() -> Vec<Row> {
    vec![
        (
            json!({"required": ["a", "b"]}),
            vec![r#"{"b":1,"a":null,"c":1}"#, r#"{"\u0061":1,"b":1}"#, "1"],
            vec![r#"{"a":1}"#, "{}"],
        ),
        (
            json!({"properties": {"a": {"type": "string"}, "role": {"const": "x"}, "a name of more than sixteen": {"type": "null"}}}),
            vec![
                "{}",
                "1",
                "[]",
                r#"{"a":"","b":1}"#,
                r#"{"role":"x"}"#,
                r#"{"a name of more than SIXTEEN":1}"#,
            ],
            vec![
                r#"{"a":1}"#,
                r#"{"\u0061":1}"#,
                r#"{"\u0072ole":"y"}"#,
                r#"{"a name of more than sixteen":1}"#,
            ],
        ),
        (
            json!({"properties": {"a": true}, "additionalProperties": false}),
            vec!["{}", r#"{"a":1}"#, r#"{"\u0061":1}"#],
            vec![
                r#"{"b":1}"#,
                r#"{"a":1,"":1}"#,
                r#"{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":1}"#,
            ],
        ),
        (
            json!({"properties": {"a": {"type": "string"}}, "allOf": [{"properties": {"b": {}}, "additionalProperties": {"type": ["string", "null"]}}]}),
            vec![r#"{"a":"x","b":1,"c":null}"#],
            vec![r#"{"a":null}"#, r#"{"c":1}"#],
        ),
        (
            json!({"minProperties": 1, "maxProperties": 2}),
            vec![r#"{"a":1}"#, "[]"],
            vec!["{}", r#"{"a":1,"b":1,"c":1}"#],
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            vec![r#"{"b":1}"#],
            vec![r#"{"a":1}"#],
        ),
        (
            json!({"$defs": {"tree": {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}}}, "$ref": "#/$defs/tree", "maxProperties": 1}),
            vec!["{}", r#"{"next":{"next":{"next":{"a":1,"b":1}}}}"#],
            vec![r#"{"next":{"next":1}}"#, r#"{"a":1,"b":1}"#],
        ),
    ]
}

fn combinations() -> Vec<Row> {
    let by_kind = json!({
        "if": {"required": ["kind"]},
        "then": {"allOf": [
            {"if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["x"]}},
            {"if": {"properties": {"kind": {"enum": ["b", null]}}}, "then": {"maxProperties": 1}, "else": {"maxProperties": 2}},
            {"if": {"properties": {"kind": {"not": {"const": "c"}}}}, "then": {"properties": {"kind": {"type": ["string", "null"]}}}},
        ]},
        "else": {"maxProperties": 0},
    });
    vec![
        (
            json!({"anyOf": [{"type": "string"}, {"minimum": 2}]}),
            vec!["\"\"", "2", "null"],
            vec!["1"],
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"minimum": 2}]}),
            vec!["1", "2.5", "\"\""],
            vec!["3", "1.5"],
        ),
        (
            json!({"not": {"required": ["a"]}}),
            vec!["{}"],
            vec![r#"{"a":1}"#, "1"],
        ),
        (
            json!({"if": {"type": "string"}, "then": {"enum": ["a"]}, "else": {"type": "null"}}),
            vec!["\"a\"", "null"],
            vec!["\"b\"", "1"],
        ),
        (
            json!({"if": true, "then": {"type": "null"}}),
            vec!["null"],
            vec!["1"],
        ),
        (
            by_kind,
            vec![
                "{}",
                r#"{"kind":"a","x":1}"#,
                r#"{"kind":"b"}"#,
                r#"{"kind":null}"#,
                r#"{"kind":"c","y":1}"#,
                r#"{"kind":"d"}"#,
                "[]",
                r#"{"\u006bind":"\u0061","x":1}"#,
            ],
            vec![
                r#"{"x":1}"#,
                r#"{"kind":"a"}"#,
                r#"{"kind":"\u0061"}"#,
                r#"{"kind":"b","y":1}"#,
                r#"{"kind":1}"#,
                r#"{"kind":"d","y":1,"z":1}"#,
                r#"{"\u006bind":"a"}"#,
            ],
        ),
        (
            json!({"if": {"required": ["on"], "properties": {"on": {"const": true}}}, "else": {"properties": {"with": {"type": "null"}}}}),
            vec![r#"{"on":true,"with":1}"#, r#"{"with":null}"#, "[]"],
            vec![
                r#"{"on":false,"with":1}"#,
                r#"{"with":1}"#,
                r#"{"on":"true","with":1}"#,
            ],
        ),
        (
            json!({"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}),
            vec![r#"{"a":1.0,"b":1}"#, r#"{"a":2}"#],
            vec![r#"{"a":1.0}"#, "{}"],
        ),
    ]
}

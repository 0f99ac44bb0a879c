//! An evaluation reads only what it reaches, and reports what it names.

use super::exchange::RecordedExchange;
use crate::{DocumentKind, EvaluationPhase, Expression, MapVariable, Variable};

fn reads(text: &str) -> Vec<String> {
    let exchange = RecordedExchange::default();
    let expression = Expression::compile(text, EvaluationPhase::ResponseBody).unwrap();
    let _ = expression.json(&exchange);
    exchange.read.take()
}

#[test]
fn only_what_an_evaluation_reaches_is_read() {
    let table: [(&str, &[&str]); 7] = [
        ("1 + 1", &[]),
        (
            r#"request.method == "GET" && json("/a") == 1"#,
            &["request.method"],
        ),
        (r#"caller == "team-a" || json("/a") == 1"#, &["caller"]),
        (r#"true ? caller : model"#, &["caller"]),
        (r#""A" in request.headers"#, &[r#"request.headers["a"]"#]),
        (
            r#"in_network(client.address, "10.0.0.0/8")"#,
            &["client.address"],
        ),
        (
            r#"[1, 2].exists(x, x == 1 && json("/a") == null)"#,
            &["Request"],
        ),
    ];
    for (text, read) in table {
        assert_eq!(reads(text), read, "{text}");
    }
}

#[test]
fn observed_lists_each_name_once_with_its_value() {
    let exchange = RecordedExchange::default();
    let text = r#"request.method == "GET" && request.headers["Authorization"] != "" && json("/messages").all(m, m.role != caller)
        && (has(json("/options")) || json("/absent") == 1) && request.method == "PUT" && usage.input_tokens > 1 && "via" in request.headers
        && request.headers[model] == """#;
    let expression = Expression::compile(text, EvaluationPhase::ResponseBody).unwrap();
    let observed = expression.observed(&exchange);
    let observed: Vec<(&str, &str)> = observed
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    assert_eq!(
        observed,
        [
            ("request.method", r#""POST""#),
            (r#"request.headers["authorization"]"#, "(hidden)"),
            (
                r#"json("/messages")"#,
                r#"[{"role":"system","content":"be brief"},{"role":"user","content"…"#
            ),
            ("caller", r#""team-a""#),
            (r#"json("/options")"#, r#"{"include_usage":true}"#),
            (r#"json("/absent")"#, "null"),
            ("usage.input_tokens", "12"),
            (r#"request.headers["via"]"#, r#""""#),
            ("model", r#""chat-large""#),
        ]
    );
}

#[test]
fn errors_never_contain_values_of_the_request() {
    let exchange = RecordedExchange {
        tier: "s3cret".into(),
        ..RecordedExchange::with_body(r#"{"s":"s3cret","o":{"s3cret":1},"l":["s3cret"]}"#)
    };
    let table = [
        r#"json("/s") > 1"#,
        r#"int(json("/s"))"#,
        r#"double(json("/s"))"#,
        r#"json("/o")[json("/s") + "x"]"#,
        r#"{"a": 1}[json("/s")]"#,
        r#"json("/o") + json("/s")"#,
        r#"-json("/s")"#,
        r#"json("/l").map(x, x * 2)"#,
        r#"json("/o").all(k, k)"#,
        r#"json("/s") && true"#,
        r#"json("/s") ? 1 : 2"#,
        r#"sample(json("/s"))"#,
        r#"{json("/s"): 1, json("/s"): 2}"#,
        r#"json("/s")[0]"#,
        r#"json("/s").a"#,
        r#"1 in json("/s")"#,
        r#"json("/l").join(json("/o"))"#,
    ];
    for text in table {
        let expression = Expression::compile(text, EvaluationPhase::Body).unwrap();
        let error = expression.json(&exchange).unwrap_err();
        assert!(!error.message.contains("s3cret"), "{text}: {error}");
    }
}

#[test]
fn every_name_of_an_expression_is_a_reference() {
    use crate::ExpressionReference::{Document, Entry, Variable as Single};
    let text = "caller == 'a' && has(request.headers.x_a) || request.query['b' + model] == '' \
                || in_network(client.address, '10.0.0.0/8') || json('/c') == 1 || sample(5, route)";
    let expression = Expression::compile(text, EvaluationPhase::Event).unwrap();
    let expected = [
        Single(Variable::Caller),
        Entry(MapVariable::RequestHeaders, Some("x_a")),
        Entry(MapVariable::RequestQuery, None),
        Single(Variable::Model),
        Single(Variable::ClientAddress),
        Document(DocumentKind::Request, "/c"),
        Single(Variable::Route),
    ];
    assert_eq!(expression.references(), expected);
}

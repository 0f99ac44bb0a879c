//! Every variable.

use super::exchange::{NOW, RecordedExchange, assert_values, evaluate_to_json};

#[test]
fn every_variable_has_the_value_of_the_exchange() {
    assert_values(&[
        ("request.method", r#""POST""#),
        ("request.path", r#""/v1/chat/completions""#),
        ("request.query_string", r#""a=1&b=2""#),
        ("request.id", r#""req-1""#),
        ("request.size", "300"),
        (r#"request.headers["X-Tier"]"#, r#""gold""#),
        ("request.headers.host", r#""example.com""#),
        (r#"request.headers["absent"]"#, r#""""#),
        (r#"request.headers["X-" + "Tier"]"#, r#""gold""#),
        (r#""X-TIER" in request.headers"#, "true"),
        (r#""absent" in request.headers"#, "false"),
        (r#"!("absent" in request.headers)"#, "true"),
        ("has(request.headers.host)", "true"),
        (r#"has(request.headers["nothing"])"#, "false"),
        (r#"request.params["id"]"#, r#""42""#),
        ("request.params.id", r#""42""#),
        (r#"request.query["a"]"#, r#""1""#),
        (r#""A" in request.query"#, "false"),
        ("client.address", r#""203.0.113.7""#),
        ("caller", r#""team-a""#),
        ("route", r#""chat""#),
        ("protocol", r#""chat""#),
        ("now.hour", "21"),
        ("now.minute", "35"),
        ("now.weekday", "0"),
        ("now.unix", &NOW.to_string()),
        ("model", r#""chat-large""#),
        ("channel", r#""west""#),
        ("channel_model", r#""""#),
        ("attempt", "2"),
        ("response.status", "200"),
        (
            r#"response.headers["Content-Type"]"#,
            r#""application/json""#,
        ),
        ("response.size", "500"),
        ("usage.input_tokens", "12"),
        ("usage.output_tokens", "24"),
        ("usage.total_tokens", "null"),
        ("event.type", r#""message_start""#),
    ]);
}

#[test]
fn what_does_not_exist_reads_as_empty_text_or_null() {
    let nothing = RecordedExchange {
        body: None,
        address: None,
        tokens: None,
        ..RecordedExchange::default()
    };
    let table = [
        ("client.address", r#""""#),
        ("usage.input_tokens", "null"),
        ("usage.input_tokens == null", "true"),
        (r#"json("/model")"#, "null"),
        (r#"has(json("/model"))"#, "false"),
        (r#"in_network(client.address, "0.0.0.0/0")"#, "false"),
    ];
    for (text, expected) in table {
        assert_eq!(evaluate_to_json(text, &nothing), expected, "{text}");
    }
}

#[test]
fn a_mapped_address_is_that_of_the_older_protocol() {
    let mapped = RecordedExchange {
        address: "::ffff:10.1.2.3".parse().ok(),
        ..RecordedExchange::default()
    };
    assert_eq!(evaluate_to_json("client.address", &mapped), r#""10.1.2.3""#);
    let inside = r#"in_network(client.address, "10.0.0.0/8")"#;
    assert_eq!(evaluate_to_json(inside, &mapped), "true");
}

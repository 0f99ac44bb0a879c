//! Tests of the scalar types, and that their schemas and parsers agree.

use super::*;
use schemars::JsonSchema;
use serde_json::{Value, json};

#[test]
fn spans_are_read_and_printed() {
    let cases = [
        ("250ms", 250, "250ms"),
        ("2s", 2_000, "2s"),
        ("5m", 300_000, "5m"),
        ("1h", 3_600_000, "1h"),
        ("1h30m", 5_400_000, "1h30m"),
        ("90s", 90_000, "1m30s"),
        ("1m0s5ms", 60_005, "1m5ms"),
    ];
    for (text, millis, printed) in cases {
        let span: HumanDuration = text.parse().unwrap();
        assert_eq!(span.duration().as_millis(), millis, "{text}");
        assert_eq!(span.to_string(), printed);
    }
    assert_eq!(HumanDuration::seconds(60).to_string(), "1m");
}

#[test]
fn sizes_are_read_and_printed() {
    let cases = [
        (json!("512KiB"), 512 << 10, "512KiB"),
        (json!("32MiB"), 32 << 20, "32MiB"),
        (json!("1GiB"), 1 << 30, "1GiB"),
        (json!("50MB"), 50_000_000, "50MB"),
        (json!("3KB"), 3_000, "3KB"),
        (json!("7B"), 7, "7"),
        (json!(1024), 1024, "1KiB"),
        (json!("1025"), 1025, "1025"),
    ];
    for (written, bytes, printed) in cases {
        let size: ByteSize = serde_json::from_value(written).unwrap();
        assert_eq!(size.bytes(), bytes);
        assert_eq!(size.to_string(), printed);
    }
}

#[test]
fn schema_and_parser_refuse_the_same() {
    let spans = [
        "",
        "0s",
        "5",
        "s",
        "1m1h",
        "1s1s",
        "-1s",
        "1.5s",
        "2 s",
        "1d",
        "0000000000s",
        "9999999999h",
    ];
    for text in spans {
        refused::<HumanDuration>(json!(text));
    }
    let sizes = [
        json!(""),
        json!(0),
        json!("0MiB"),
        json!("1TiB"),
        json!("MiB"),
        json!("1 MiB"),
        json!("1mib"),
        json!(-1),
        json!(1.5),
    ];
    for value in sizes {
        refused::<ByteSize>(value);
    }
    for value in [json!(""), json!(7), json!(null), json!(["x"])] {
        refused::<Secret>(value);
    }
}

#[test]
fn schema_and_parser_accept_the_same() {
    accepted::<HumanDuration>(json!("999999999h1ms"));
    accepted::<HumanDuration>(json!("0h1m"));
    accepted::<ByteSize>(json!("999999999GiB"));
    accepted::<ByteSize>(json!(u64::MAX));
    accepted::<Secret>(json!("x"));
}

#[test]
fn a_secret_is_never_shown() {
    let secret = Secret::new("sk-123").unwrap();
    assert_eq!(
        format!("{secret} {secret:?} {:?}", Some(&secret)),
        "[secret] [secret] Some([secret])"
    );
    assert_eq!(secret.expose(), "sk-123");
    let error = serde_json::from_value::<Secret>(json!(123_456)).unwrap_err();
    assert!(!error.to_string().contains("123"), "{error}");
}

fn by_schema<T: JsonSchema>(value: &Value) -> bool {
    let schema = schemars::schema_for!(T);
    jsonschema::is_valid(schema.as_value(), value)
}

fn refused<T: JsonSchema + serde::de::DeserializeOwned>(value: Value) {
    assert!(!by_schema::<T>(&value), "the schema accepts {value}");
    assert!(
        serde_json::from_value::<T>(value.clone()).is_err(),
        "the parser accepts {value}"
    );
}

fn accepted<T: JsonSchema + serde::de::DeserializeOwned>(value: Value) {
    assert!(by_schema::<T>(&value), "the schema refuses {value}");
    assert!(
        serde_json::from_value::<T>(value.clone()).is_ok(),
        "the parser refuses {value}"
    );
}

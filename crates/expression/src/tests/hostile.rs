//! Texts that nobody should write, and values that nobody should send.

use super::exchange::RecordedExchange;
use super::random::{ExpressionKind, SeededRandom};
use crate::allowance::{STEPS, TEXT_BYTES};
use crate::{CompileError, EvaluationPhase, Expression};

const RANDOM_TEXTS: usize = 10_000;

#[test]
fn random_texts_are_refused_with_a_position_or_compiled() {
    let mut random = SeededRandom(1);
    for round in 0..RANDOM_TEXTS {
        let text = match round % 3 {
            0 => random.tokens(),
            1 => random.characters(),
            _ => random.damaged(),
        };
        match Expression::compile(&text, EvaluationPhase::ResponseBody) {
            Ok(expression) => assert_bounded(&expression),
            Err(error) => assert_well_formed(&text, &error),
        }
    }
}

/// A panic of the parser would end the process, because release builds abort.
#[test]
fn no_text_of_tokens_makes_the_parser_panic() {
    const ROUNDS: usize = 20_000;
    let mut random = SeededRandom(3);
    let parse_all = move || {
        for round in 0..ROUNDS {
            let text = match round % 4 {
                0..=2 => random.tokens(),
                _ => random.numbers(),
            };
            if let Err(error) = Expression::compile(&text, EvaluationPhase::Event) {
                assert_well_formed(&text, &error);
            }
        }
        for text in deep_texts() {
            if let Err(error) = Expression::compile(&text, EvaluationPhase::Event) {
                assert_well_formed(&text, &error);
            }
        }
    };
    // The stack of a worker thread.
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread.spawn(parse_all).unwrap().join().unwrap();
}

/// Texts that nest as deep as their tokens allow.
fn deep_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "!", "-", "(", "[", "{\"a\":", "!-", "- ", "size(", "\"\"+", "1-", "true?1:",
    ]
    .iter()
    .flat_map(|part| [31, 32, 500, 1_023].map(|count| format!("{}1", part.repeat(count))))
    .collect();
    for (part, close) in [("(", ")"), ("[", "]"), ("size(", ")"), ("{\"a\":", "}")] {
        texts.extend(
            [31, 32].map(|count| format!("{}1{}", part.repeat(count), close.repeat(count))),
        );
    }
    for part in [
        "+1", ".a", "[0]", "&&true", "||true", "==1", " in []", "?1:1", ".a()",
    ] {
        texts.extend([32, 250, 500].map(|count| format!("a{}", part.repeat(count))));
    }
    texts
}

#[test]
fn random_expressions_stay_within_their_steps() {
    let mut random = SeededRandom(2);
    let mut compiled = 0;
    for _ in 0..RANDOM_TEXTS {
        let text = random.expression(ExpressionKind::Open, 5);
        match Expression::compile(&text, EvaluationPhase::ResponseBody) {
            Ok(expression) => {
                compiled += 1;
                assert_bounded(&expression);
            }
            Err(error) => assert_well_formed(&text, &error),
        }
    }
    assert!(compiled > RANDOM_TEXTS / 8, "{compiled} were compiled");
}

#[test]
fn work_beyond_the_steps_is_refused() {
    let text = format!("json(\"/l\").all(n, size([{}]) == 60)", ["n"; 60].join(","));
    let expression = Expression::compile(&text, EvaluationPhase::Body).unwrap();
    let is_true_of = |elements: usize| {
        let list = vec!["1"; elements].join(",");
        expression.is_true(&RecordedExchange::with_body(&format!("{{\"l\":[{list}]}}")))
    };
    assert!(is_true_of(10).unwrap());
    let error = is_true_of(1_000).unwrap_err();
    let expected = format!("the evaluation takes more than {STEPS} steps");
    assert!(error.message.contains(&expected), "{}", error.message);
}

fn assert_bounded(expression: &Expression) {
    let exchange = RecordedExchange::default();
    let text = expression.text();
    if let Ok(json) = expression.json(&exchange) {
        assert!(json.len() <= TEXT_BYTES, "{text}");
        serde_json::from_slice::<serde_json::Value>(&json)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    if let Err(error) = expression.is_true(&exchange) {
        assert_one_sentence(&error.message);
    }
    let _ = expression.text_value(&exchange);
    assert!(expression.observed(&exchange).len() <= 256, "{text}");
    let reads = exchange.read.borrow().len();
    assert!(reads <= 4 * STEPS as usize, "{text}: {reads} reads");
}

fn assert_well_formed(text: &str, error: &CompileError) {
    let lines: Vec<&str> = text.split('\n').collect();
    assert!(
        (1..=lines.len()).contains(&error.line),
        "{text:?}: {error:?}"
    );
    let columns = lines[error.line - 1].chars().count() + 1;
    assert!((1..=columns).contains(&error.column), "{text:?}: {error:?}");
    assert_one_sentence(&error.message);
}

fn assert_one_sentence(message: &str) {
    assert!(
        !message.is_empty() && !message.ends_with('.'),
        "{message:?}"
    );
    assert!(!message.contains(char::is_control), "{message:?}");
}

/// Bodies that are large in every way, each with a name.
pub fn hostile_bodies() -> Vec<(&'static str, RecordedExchange)> {
    let text = |bytes: usize, of: &str| of.repeat(bytes / of.len());
    let list = |count: usize, of: &str| vec![of; count].join(",");
    let members = |count: usize| {
        let members: Vec<String> = (0..count)
            .map(|index| format!(r#""k{index}":{index}"#))
            .collect();
        members.join(",")
    };
    let body = |s: &str, l: &str, o: &str| {
        RecordedExchange::with_body(&format!(r#"{{"s":"{s}","l":[{l}],"o":{{{o}}}}}"#))
    };
    vec![
        (
            "ascii 64 KiB",
            body(&text(65_000, "ab"), &list(1_000, "1"), &members(1_000)),
        ),
        (
            "utf-8 64 KiB",
            body(&text(65_000, "ü"), &list(1_000, r#""ü""#), &members(1_000)),
        ),
        (
            "escaped 64 KiB",
            body(
                &text(65_000, "\\u00fc"),
                &list(1_000, r#""\n""#),
                &members(1_000),
            ),
        ),
        (
            "texts in a list",
            body("", &list(1_000, &format!("\"{}\"", text(5_000, "ü"))), ""),
        ),
        (
            "4 MiB and a million",
            body(&text(4 << 20, "ü"), &list(400_000, "1"), &members(200_000)),
        ),
    ]
}

/// Expressions that would take very long or much without limits.
pub fn hostile_expressions() -> Vec<String> {
    let s = r#"json("/s")"#;
    let doubled =
        |times: usize| (0..times).fold(s.to_owned(), |text, _| format!("({text} + {text})"));
    let joined = |part: &str, with: &str, count: usize| vec![part; count].join(with);
    let mut all = vec![
        doubled(1),
        doubled(5),
        joined(s, " == ", 30),
        joined(&format!("{s} == {s}"), " && ", 40),
        joined(&format!("size({s}) > 0"), " && ", 40),
        joined(&format!("{s}.contains(\"xyz\")"), " || ", 42),
        joined(&format!("{s}.matches(\"(a|b|ab)*c\")"), " || ", 42),
        format!("{s}.matches(\"^(\\\\w+\\\\s?)*$\")"),
        format!("{s}.matches(\"(?:a?){{50}}a{{50}}\")"),
        format!("{s}.matches(\"\\\\b(x|y|z)\\\\b.*\\\\d{{20}}\")"),
        format!("{s}.matches(\"[\\\\pL\\\\d]{{1,40}}q\")"),
        format!("{s}.replace(\"a\", {s})"),
        format!("{s}.replace(\"\", \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\")"),
        format!("{s}.replace(\"a\", \"bb\").replace(\"b\", \"cc\").replace(\"c\", \"dd\")"),
        format!("{s}.split(\"\")"),
        format!("{s}.split(\"a\", 900).join({s})"),
        format!("{s}.upperAscii().lowerAscii().upperAscii().lowerAscii()"),
        format!("{s}.substring(60000)"),
        joined(&format!("json(\"/l\").exists(x, x == {s})"), " || ", 20),
        joined("json(\"/l\").all(x, x != 5)", " && ", 20),
        "json(\"/l\").map(x, [x, x, x, x, x, x, x, x])".into(),
        format!("json(\"/l\").map(x, {s})"),
        format!("json(\"/l\").map(x, x + {s})"),
        format!("json(\"/l\").map(x, {s} + {s}).join({s})"),
        "json(\"/l\").map(x, json(\"/l\"))".into(),
        "json(\"/l\").map(x, json(\"/l\") == json(\"/l\"))".into(),
        "json(\"/l\").exists(x, x.contains(\"zzz\"))".into(),
        "json(\"/l\").all(x, x.matches(\"[^z]*\"))".into(),
        joined("json(\"/o/k199999\") == 1", " || ", 42),
        "json(\"/o\").all(k, k in json(\"/o\"))".into(),
        joined("json(\"/o\") == json(\"/o\")", " && ", 30),
        "json(\"/l\").all(x, json(\"/o/k999\") == 999)".into(),
        "json(\"/l\").exists(x, 1 / 0 == x)".into(),
        joined("(1 / 0 == 1)", " || ", 42),
        format!("size({s}) + size(json(\"/l\")) + size(json(\"/o\"))"),
        format!("sample(50, {s})"),
        format!("[{}]", joined("json(\"/o\")", ", ", 60)),
        "json(\"/l\") + json(\"/l\") + json(\"/l\")".into(),
    ];
    all.push(format!(
        "[{}].map(x, [{}])",
        joined("1", ",", 64),
        joined("x", ",", 64)
    ));
    all
}

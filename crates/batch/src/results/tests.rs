//! Tests of mapped lines: cut at every place, longer than the limit, and with names of several models.

use super::*;
use crate::batch_record::{BatchRecord, RecordedModel};
use headgate_core::catalog::token_prices::{LongInputRates, TokenPrices, TokenRates};
use headgate_protocol::Protocol;
use headgate_protocol::usage::TokenUsage;

fn record(models: &[(&str, &str)]) -> BatchRecord {
    let models = models.iter().map(|(name, channel_name)| RecordedModel {
        name: (*name).into(),
        channel_name: (*channel_name).into(),
        tokens: 1,
        price: None,
    });
    BatchRecord {
        endpoint: "/v1/chat/completions".into(),
        models: models.collect(),
        price_percent: 50,
        ..BatchRecord::default()
    }
}

fn counts(models: &[(&str, &str)], protocol: Protocol) -> LineCounts {
    LineCounts {
        names: PlatformModelNames::new(&record(models)),
        shape: Some(ChannelProtocol::for_caller(protocol).usage()),
        prices: vec![None; models.len()],
        by_model: vec![UsageByLength::new(); models.len()],
        unknown_models: 0,
        implausible: None,
        unmetered: 0,
    }
}

/// What is sent in place of pieces.
fn mapped(pieces: &[&[u8]], lines: &mut LineReader, counts: &mut LineCounts) -> Vec<u8> {
    let mut sent = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let is_last = index + 1 == pieces.len();
        let mapped = lines.read(piece, is_last, |line, mapped| counts.add(line, mapped));
        sent.extend_from_slice(&mapped);
    }
    sent
}

#[test]
fn results_are_the_same_wherever_they_are_cut() {
    let chat = r#"{"id":"x","custom_id":"a","response":{"status_code":200,"body":{"id":"c","model" : "large-2026-08-01","choices":[{"message":{"content":"\"model\":\"large\"\n{"}}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}},"error":null}"#;
    let error = r#"{"id":"y","custom_id":"b","response":{"status_code":400,"body":{"error":{"message":"model"}}},"error":null}"#;
    let long = chat.replace("\"id\":\"x\"", &format!("\"id\":\"{}\"", "x".repeat(900)));
    let results =
        format!("{chat}\r\n\n{error}\n{long}\nnot JSON \u{e4}\n{chat}\n{{\"custom_id\":\"c\"}}");
    let plain = chat.replace("\"large-2026-08-01\"", "\"demo\"");
    let expected = results.replace(&format!("{chat}\r\n"), &format!("{plain}\r\n"));
    let expected = expected.replace(&format!("\u{e4}\n{chat}"), &format!("\u{e4}\n{plain}"));
    let whole = results.as_bytes();
    let models = [("demo", "large"), ("other", "small")];
    let mut cuts: Vec<Vec<&[u8]>> = (0..=whole.len())
        .map(|at| vec![&whole[..at], &whole[at..]])
        .collect();
    cuts.extend([1, 2, 3, 7, 64, 700, 899].map(|size| whole.chunks(size).collect::<Vec<_>>()));
    cuts.push([whole.chunks(5).collect(), vec![&b""[..]]].concat());
    for pieces in cuts {
        let mut counts = counts(&models, Protocol::Chat);
        let mut lines = LineReader::new(900);
        let sent = mapped(&pieces, &mut lines, &mut counts);
        assert_eq!(String::from_utf8(sent).unwrap(), expected);
        assert_eq!((lines.passed, counts.unknown_models), (1, 0));
        let usage = counts.by_model[0][&0];
        assert_eq!((usage.input_tokens, usage.total()), (Some(14), 20));
        assert!(counts.by_model[1].is_empty());
    }
}

#[test]
fn results_of_messages_have_the_names_of_their_models() {
    let line = |model: &str| {
        format!(
            r#"{{"custom_id":"a","result":{{"type":"succeeded","message":{{"model":"{model}","usage":{{"input_tokens":4,"output_tokens":2,"cache_read_input_tokens":1}}}}}}}}"#
        )
    };
    let models = [
        ("demo", "claude-x-latest"),
        ("small", "claude-x-mini"),
        ("cheap", "haiku"),
    ];
    for (models, named, expected) in [
        (&models[..], "claude-x-20260801", Some("demo")),
        (&models, "claude-x-latest", Some("demo")),
        (&models, "claude-x-mini-20260801", Some("small")),
        (&models, "haiku", Some("cheap")),
        (&models, "haikus", None),
        (&models, "vendor-default", None),
        // Of a batch with one model, every name is that model's.
        (&models[..1], "vendor-default", Some("demo")),
    ] {
        let mut counts = counts(models, Protocol::Messages);
        let body = line(named);
        let sent = mapped(&[body.as_bytes()], &mut LineReader::new(900), &mut counts);
        let expected_line = line(expected.unwrap_or(named));
        assert_eq!(String::from_utf8(sent).unwrap(), expected_line, "{named}");
        assert_eq!(
            counts.unknown_models,
            u64::from(expected.is_none()),
            "{named}"
        );
        let known = counts.by_model.iter().flat_map(UsageByLength::values);
        let input: u64 = { known }.filter_map(TokenUsage::input_with_cache).sum();
        assert_eq!(input, if expected.is_some() { 5 } else { 0 }, "{named}");
    }
}

#[test]
fn the_usage_of_a_batch_is_shared_out_by_estimates() {
    let mut record = record(&[("demo", "large"), ("other", "small")]);
    record.models[0].tokens = 30;
    record.models[1].tokens = 10;
    let total = TokenUsage {
        input_tokens: Some(400),
        output_tokens: Some(40),
        total_tokens: Some(440),
        ..TokenUsage::default()
    };
    let used = BatchUsage::from_total(total, &record);
    let inputs: Vec<_> = used
        .by_model
        .iter()
        .flat_map(UsageByLength::values)
        .map(|sum| sum.input_tokens)
        .collect();
    assert_eq!(inputs, [Some(300), Some(100)]);
}

#[test]
fn lines_with_a_long_input_are_added_up_by_their_own_prices() {
    let rates = |input| TokenRates {
        input,
        cached_input: input,
        cache_write: input,
        output: 0,
        reasoning: 0,
    };
    let price = ModelPrice {
        tokens: Some(TokenPrices {
            base: rates(1),
            long_input: vec![LongInputRates {
                above: 100,
                rates: rates(2),
            }],
        }),
        ..ModelPrice::none("USD".into())
    };
    let mut counts = counts(&[("demo", "large")], Protocol::Chat);
    counts.prices = vec![Some(Arc::new(price))];
    for tokens in [100, 101, 7, 500, 93] {
        let line = format!(
            "{{\"response\":{{\"body\":{{\"model\":\"large\",\"usage\":{{\"prompt_tokens\":{tokens},\"completion_tokens\":1}}}}}}}}\n"
        );
        counts.add(line.as_bytes(), &mut BytesMut::new());
    }
    let sums = counts.by_model[0].iter();
    let sums: Vec<_> = sums
        .map(|(length, sum)| (*length, sum.input_tokens))
        .collect();
    assert_eq!(sums, [(0, Some(200)), (101, Some(601))]);
}

#[test]
fn the_total_of_a_batch_has_the_prices_of_its_average_request() {
    for (requests, length) in [(0, 0), (1, 400), (4, 100)] {
        let record = BatchRecord {
            requests,
            ..record(&[("demo", "large")])
        };
        let total = TokenUsage {
            input_tokens: Some(400),
            ..TokenUsage::default()
        };
        let used = BatchUsage::from_total(total, &record);
        let lengths: Vec<_> = used.by_model[0].keys().copied().collect();
        assert_eq!(lengths, [length], "{requests}");
    }
}

#[test]
fn usage_that_cannot_be_true_is_not_added_up() {
    let line = |tokens: u64| {
        format!(
            "{{\"response\":{{\"body\":{{\"model\":\"large\",\"usage\":{{\"prompt_tokens\":{tokens},\"completion_tokens\":1}}}}}}}}\n"
        )
    };
    let mut counts = counts(&[("demo", "large")], Protocol::Chat);
    let results = [7, 100_000_001, u64::MAX, 5].map(line).concat();
    let sent = mapped(
        &[results.as_bytes()],
        &mut LineReader::new(900),
        &mut counts,
    );
    assert_eq!(
        String::from_utf8(sent).unwrap(),
        results.replace("large", "demo")
    );
    assert_eq!(counts.implausible, Some("input_tokens"));
    let sum = counts.by_model[0][&0];
    assert_eq!((sum.input_tokens, sum.output_tokens), (Some(12), Some(2)));
    // What a whole batch has used may be as much for each of its requests.
    let mut record = record(&[("demo", "large")]);
    for (requests, expected) in [(1, Some("input_tokens")), (2, None), (0, None)] {
        record.requests = requests;
        let total = TokenUsage {
            input_tokens: Some(200_000_000),
            ..TokenUsage::default()
        };
        let used = BatchUsage::from_total(total, &record);
        assert_eq!(
            (used.implausible, used.is_complete),
            (expected, expected.is_none())
        );
    }
}

#[test]
fn responses_without_usage_are_counted_and_errors_are_not() {
    let of_file = |body: &str| format!("{{\"response\":{{\"body\":{body}}}}}\n");
    for (line, unmetered) in [
        (of_file(r#"{"model":"large","error":null}"#), 1),
        (of_file(r#"{"model":"large","usage":null}"#), 1),
        (
            of_file(r#"{"model":"large","usage":{"prompt_tokens":1}}"#),
            0,
        ),
        (of_file(r#"{"error":{"message":"model"}}"#), 0),
        (
            r#"{"response":null,"error":{"code":"batch_expired"}}"#.into(),
            0,
        ),
        (r#"{"result":{"type":"errored","error":{}}}"#.into(), 0),
        (r#"{"result":{"message":{"model":"large"}}}"#.into(), 1),
    ] {
        let mut counts = counts(&[("demo", "large")], Protocol::Chat);
        counts.add(line.as_bytes(), &mut BytesMut::new());
        assert_eq!(counts.unmetered, unmetered, "{line}");
    }
}

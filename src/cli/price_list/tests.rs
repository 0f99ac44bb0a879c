//! Tests of what a list says of a model, and of lists that are refused.

use super::*;

fn found(list: &PriceListFile, names: &[&str]) -> (Vec<(&'static str, u64)>, Vec<String>) {
    match list.find(names).unwrap() {
        PriceLookup::Found { prices, others, .. } => {
            assert_eq!(prices.long_input, BTreeMap::new());
            (prices.base.into_iter().collect(), others)
        }
        other => panic!("{names:?}: {other:?}"),
    }
}

#[test]
fn costs_become_prices_and_what_has_no_price_here_is_named() {
    let list = PriceListFile::parse(
        r#"{
        "sample_spec": {"input_cost_per_token": -1, "mode": "one of"},
        "gpt-4o": {"input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05, "mode": "chat",
            "cache_read_input_token_cost": 1.25e-06, "input_cost_per_token_batches": 1.25e-06,
            "search_context_cost_per_query": {"search_context_size_low": 0.03}},
        "x/flux": {"output_cost_per_image": 0.04}, "y/flux": {"output_cost_per_image": 0.04},
        "x/sora": {"output_cost_per_second": 0.1}, "y/sora": {"output_cost_per_second": 0.2},
        "whisper-1": {"input_cost_per_second": 0.0001}}"#,
    );
    let list = list.unwrap_or_else(|error| panic!("{error}"));
    let (prices, others) = found(&list, &["gpt-4o", "chat"]);
    let million = [
        ("cached_input", 1_250_000_000),
        ("input", 2_500_000_000),
        ("output", 10_000_000_000),
    ];
    assert_eq!(prices, million);
    assert_eq!(
        others,
        ["search_context_cost_per_query"],
        "tokens of batches at half are what they cost here"
    );
    assert_eq!(found(&list, &["flux"]).0, [("image", 40_000_000)]);
    assert_eq!(
        found(&list, &["none", "whisper-1"]).0,
        [("audio_minute", 6_000_000)]
    );
    assert!(matches!(list.find(&["sora"]), Ok(PriceLookup::Ambiguous(names)) if names.len() == 2));
    assert!(matches!(list.find(&["gpt"]), Ok(PriceLookup::Absent)));
}

#[test]
fn costs_above_a_number_of_tokens_become_prices_of_a_long_input() {
    let list = PriceListFile::parse(
        r#"{"large": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
            "input_cost_per_token_above_200k_tokens": 6e-06,
            "output_cost_per_token_above_200k_tokens": 2.25e-05,
            "output_cost_per_token_above_1000k_tokens": 4e-05,
            "cache_read_input_token_cost_above_200k_tokens": 6e-07,
            "output_cost_per_image_above_512k_tokens": 1,
            "input_cost_per_token_above_0k_tokens": 1e-06,
            "input_cost_per_token_above_200k_tokens_priority": 1e-06,
            "input_cost_per_token_above_200k_tokens_batches": 3e-06,
            "input_cost_per_token_batches": 2e-06},
            "embedding": {"input_cost_per_token": 1e-06, "output_cost_per_token_above_128k_tokens": 1e-06}}"#,
    );
    let list = list.unwrap_or_else(|error| panic!("{error}"));
    let Ok(PriceLookup::Found { prices, others, .. }) = list.find(&["large"]) else {
        panic!("no price");
    };
    let long: Vec<(u64, Vec<_>)> = { prices.long_input.into_iter() }
        .map(|(above, rates)| (above, rates.into_iter().collect()))
        .collect();
    let at_200k = vec![
        ("cached_input", 600_000_000),
        ("input", 6_000_000_000),
        ("output", 22_500_000_000),
    ];
    let at_million = vec![("output", 40_000_000_000)];
    assert_eq!(long, [(200_000, at_200k), (1_000_000, at_million)]);
    let expected = [
        "input_cost_per_token_above_0k_tokens",
        "input_cost_per_token_above_200k_tokens_priority",
        "input_cost_per_token_batches",
        "output_cost_per_image_above_512k_tokens",
    ];
    assert_eq!(others, expected);
    let (prices, others) = found(&list, &["embedding"]);
    assert_eq!(prices, [("input", 1_000_000_000)]);
    assert_eq!(others, ["output_cost_per_token_above_128k_tokens"]);
}

#[test]
fn a_list_with_an_amount_that_cannot_be_meant_is_refused_whole_with_its_place() {
    for (list, words) in [
        ("", "not JSON"),
        ("[]", "expected an object"),
        (r#"{"a": 1}"#, "a: expected an object"),
        (
            r#"{"a": {"input_cost_per_token": NaN}}"#,
            "line 1 column 32",
        ),
        (
            r#"{"a": {}, "b": {"input_cost_per_token": -1e-6}}"#,
            "b.input_cost_per_token: -0.000001 is negative",
        ),
        (
            r#"{"a": {"output_cost_per_token": 2.5}}"#,
            "a.output_cost_per_token: 2.5 is more than 0.01",
        ),
        (
            r#"{"a": {"output_cost_per_token_above_200k_tokens": 22.5}}"#,
            "a.output_cost_per_token_above_200k_tokens: 22.5 is more than 0.01",
        ),
        (
            r#"{"a": {"input_cost_per_token_above_200k_tokens": -1e-6}}"#,
            "a.input_cost_per_token_above_200k_tokens: -0.000001 is negative",
        ),
        (
            r#"{"a": {"output_cost_per_token": "1e-6"}}"#,
            "expected a number",
        ),
        (r#"{"a": {"output_cost_per_token": 1e999}}"#, "out of range"),
        (
            r#"{"a": {"other_cost": -3}}"#,
            "a.other_cost: -3 is negative",
        ),
    ] {
        let error = PriceListFile::parse(list).err().expect(list);
        assert!(error.contains(words), "{list}: {error}");
    }
    let list = PriceListFile::parse(r#"{"a": {"cost_per_banana": 1}}"#)
        .ok()
        .unwrap();
    let error = list.find(&["a"]).unwrap_err();
    assert_eq!(error, "a.cost_per_banana: a cost of an unknown unit");
}

#[test]
fn a_price_with_too_many_decimal_places_is_rounded_up_and_never_free() {
    for (cost, nanos, is_exact) in [
        ("2.5e-06", 2_500_000_000, true),
        ("0", 0, true),
        ("1e-15", 1, true),
        ("7.7e-08", 77_000_000, true),
        ("1e-300", 1, false),
        ("1.00000000049e-06", 1_000_000_001, false),
    ] {
        let text = format!(r#"{{"a": {{"input_cost_per_token": {cost}}}}}"#);
        let list = PriceListFile::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let Ok(PriceLookup::Found {
            prices, rounded, ..
        }) = list.find(&["a"])
        else {
            panic!("{cost}")
        };
        assert_eq!(prices.base["input"], nanos, "{cost}");
        assert_eq!(rounded.is_empty(), is_exact, "{cost}");
    }
}

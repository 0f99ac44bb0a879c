//! Tests of `headgate check` on prices: it reports those that cannot be meant, and models without one.

use super::check::{GOOD, check};

/// The valid file with `prices:` and these lines at its end.
fn priced(lines: &str) -> String {
    format!("{GOOD}prices:\n{lines}")
}

#[test]
fn prices_for_all_models_are_good_without_a_warning() {
    for lines in [
        "  currency: EUR\n  models:\n    demo-small: {input: 0.15, output: 0.6}\n    demo-large: {input: 2.5, cached_input: \"1.25\", output: 10}\n",
        "  models: {\"*\": {input: 0}}\n",
        "  models: {\"*\": {input: 3, output: 15, long_input: [{above: 200000, input: 6, cached_input: 0.6}, {above: 500000, output: 30}]}}\n",
        "  models: {\"*\": {image: 0.04, video_second: {720p: 0.1, \"*\": 0.2}, video_default_seconds: 5}}\n",
    ] {
        let printed = check(&priced(lines));
        assert!(printed.success, "{}", printed.stderr);
        assert_eq!(
            printed.stdout.lines().count(),
            1,
            "{lines}{}",
            printed.stdout
        );
    }
}

#[test]
fn a_price_that_cannot_be_meant_is_an_error_at_its_place() {
    for (lines, place, reason) in [
        (
            "  models: {\"*\": {input: -1}}\n",
            "(prices.models[\"*\"].input)",
            "must be at least 0",
        ),
        (
            "  models: {\"*\": {input: 1e12}}\n",
            "(prices.models[\"*\"].input)",
            "must be at most 999999999",
        ),
        (
            "  models: {\"*\": {input: free}}\n",
            "(prices.models[\"*\"].input)",
            "expected an amount",
        ),
        (
            "  models: {\"*\": {input: $2.50}}\n",
            "(prices.models[\"*\"].input)",
            "expected an amount",
        ),
        (
            "  models: {\"*\": {input: 1.0000000001x}}\n",
            "(prices.models[\"*\"].input)",
            "expected an amount",
        ),
        (
            "  models: {\"*\": {inputs: 1}}\n",
            "(prices.models[\"*\"]",
            "input",
        ),
        (
            "  models: {\"*\": {}}\n",
            "(prices.models[\"*\"]",
            "the entry has no price",
        ),
        (
            "  models: {\"*\": {cached_input: 1}}\n",
            "(prices.models[\"*\"].cached_input)",
            "`cached_input` requires `input`",
        ),
        (
            "  models: {\"*\": {input: 1, reasoning: 1}}\n",
            "(prices.models[\"*\"].reasoning)",
            "`reasoning` requires `output`",
        ),
        (
            "  models: {\"*\": {input: 1, video_default_seconds: 5}}\n",
            "video_default_seconds",
            "requires `video_second`",
        ),
        (
            "  models: {\"*\": {video_second: {720p: 1, 720P: 2}}}\n",
            "video_second",
            "duplicate resolution",
        ),
        (
            "  models: {\"*\": {input: 1, long_input: [{above: 0, input: 2}]}}\n",
            "long_input[0].above)",
            "must be at least 1",
        ),
        (
            "  models: {\"*\": {input: 1, long_input: [{input: 2}]}}\n",
            "long_input[0]",
            "above",
        ),
        (
            "  models: {\"*\": {input: 1, long_input: [{above: 9, input: 2}, {above: 9, input: 3}]}}\n",
            "long_input[1].above)",
            "`above` must be more than 9",
        ),
        (
            "  models: {\"*\": {input: 1, long_input: [{above: 9, input: 2}, {above: 8, input: 3}]}}\n",
            "long_input[1].above)",
            "`above` must be more than 9",
        ),
        (
            "  models: {\"*\": {input: 1, long_input: [{above: 9, input: -2}]}}\n",
            "long_input[0].input)",
            "must be at least 0",
        ),
        (
            "  models: {\"*\": {input: 1, long_input: [{above: 9}]}}\n",
            "long_input[0])",
            "the entry has no price",
        ),
        (
            "  models: {\"*\": {input: 1, long_input: [{above: 9, output: 2}]}}\n",
            "long_input[0].output)",
            "`output` requires `output` of the model",
        ),
        (
            "  models: {\"*\": {output: 1, long_input: [{above: 9, cached_input: 2}]}}\n",
            "long_input[0].cached_input)",
            "`cached_input` requires `input` of the model",
        ),
        (
            "  currency: US Dollar\n  models: {\"*\": {input: 1}}\n",
            "prices.currency",
            "expected one word",
        ),
    ] {
        let printed = check(&priced(lines));
        assert!(!printed.success, "{lines}{}", printed.stdout);
        assert!(printed.stderr.contains(place), "{lines}{}", printed.stderr);
        assert!(printed.stderr.contains(reason), "{lines}{}", printed.stderr);
    }
}

#[test]
fn models_without_a_price_and_prices_without_a_model_are_warnings() {
    for (lines, reason) in [
        (
            "  models: {demo-small: {input: 1}}\n",
            "models without a price: `demo-large`; their requests have no cost",
        ),
        (
            "  models: {\"*\": {input: 1}, demo-larg: {input: 1}}\n",
            "no channel serves model `demo-larg`",
        ),
    ] {
        let printed = check(&priced(lines));
        let text = format!("{}{}", printed.stdout, printed.stderr);
        assert!(printed.success, "{lines}{text}");
        assert!(text.contains(reason), "{lines}{text}");
    }
    let own = GOOD.replacen(
        "    models:\n      demo-small",
        "    prices: {large-2026: {input: 1}, \"*\": {input: 1}}\n    models:\n      demo-small",
        1,
    );
    let printed = check(&own);
    let text = format!("{}{}", printed.stdout, printed.stderr);
    assert!(printed.success, "{text}");
    assert!(
        text.contains("the channel does not serve model `large-2026`"),
        "{text}"
    );
}

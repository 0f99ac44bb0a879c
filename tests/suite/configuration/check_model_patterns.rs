//! Tests of `headgate check` with patterns in the `models` of a channel.

use super::check::{GOOD, check};

/// The configuration with this in place of a channel's model.
fn with_model(entry: &str) -> String {
    GOOD.replace(
        "      demo-small: small-2026\n",
        &format!("      {entry}\n"),
    )
}

#[test]
fn a_pattern_that_cannot_be_meant_is_an_error_with_its_place() {
    for (entry, place, complaints) in [
        (
            "\"a*b*\": \"*\"",
            "13:7",
            &["`a*b*` has more than one `*`", "openai/*"][..],
        ),
        ("\"a*\": \"*-*\"", "13:13", &["`*-*` has more than one `*`"]),
        (
            "demo-small: small-*",
            "13:19",
            &["`small-*` has a `*`, and `demo-small` has none"],
        ),
        (
            "\"*\": \"*\"",
            "13:7",
            &["pattern `*` serves no model", "unpriced: allow"],
        ),
    ] {
        let printed = check(&with_model(entry));
        assert!(!printed.success, "{entry}: {}", printed.stdout);
        for complaint in complaints.iter().chain([&place]) {
            assert!(
                printed.stderr.contains(complaint),
                "{entry}: no {complaint} in {}",
                printed.stderr
            );
        }
    }
}

#[test]
fn a_pattern_with_prices_is_valid_and_counted() {
    let text = with_model("\"demo-s*\": \"small*\"");
    let priced = format!("{text}prices: {{models: {{\"*\": {{input: 1}}}}}}\n");
    let printed = check(&priced);
    assert!(printed.success, "{}", printed.stderr);
    assert!(
        printed.stdout.contains("2 models and 1 pattern of models"),
        "{}",
        printed.stdout
    );
    assert!(!printed.stdout.contains("warning"), "{}", printed.stdout);
}

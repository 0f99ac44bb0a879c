//! Tests of `headgate check` on budgets in money: what a request can cost must be known before it is sent.

use super::check::{GOOD, check};

/// The valid file with these limits of its caller, `rate_limit` on all routes, and these lines at its end.
fn budgeted(limits: &str, lines: &str) -> String {
    let models = "    models: [demo-small]\n";
    let text = GOOD.replacen(models, &format!("{models}    limits: {limits}\n"), 1);
    let text = text.replace("{use: body}", "{use: body}, rate_limit");
    format!("{text}{lines}")
}

const PRICES: &str = "prices: {models: {\"*\": {input: 1, output: 2}}}\n";
const OUTPUT: &str = "models: {demo-small: {max_output_tokens: 4096}}\n";

#[test]
fn budgets_of_models_whose_requests_have_a_bound_are_good() {
    for (limits, lines) in [
        ("{cost_per_day: 10.50}", format!("{PRICES}{OUTPUT}")),
        ("{cost_total: 9000000}", format!("{PRICES}{OUTPUT}")),
        (
            "{models: {demo-small: {cost_per_month: 0.000000001}}}",
            format!("{PRICES}{OUTPUT}"),
        ),
        // Nothing of the output has a price.
        (
            "{cost_per_day: 1}",
            "prices: {models: {\"*\": {input: 1}}}\n".to_owned(),
        ),
    ] {
        let printed = check(&budgeted(limits, &lines));
        assert!(printed.success, "{limits}{}", printed.stderr);
        assert_eq!(printed.stdout.lines().count(), 1, "{}", printed.stdout);
    }
}

#[test]
fn cut_streams_without_a_budget_beside_it_is_warned_of() {
    for (limits, place) in [
        (
            "{cut_streams: true, tokens_per_day: 9}",
            Some("limits.cut_streams)"),
        ),
        (
            "{cost_total: 1, models: {demo-small: {cut_streams: true}}}",
            Some("demo-small.cut_streams)"),
        ),
        ("{cost_total: 1, cut_streams: true}", None),
        (
            "{models: {demo-small: {cost_total: 1, cut_streams: true}}}",
            None,
        ),
    ] {
        let printed = check(&budgeted(limits, &format!("{PRICES}{OUTPUT}")));
        assert!(printed.success, "{limits}{}", printed.stderr);
        let warned = format!("{}{}", printed.stdout, printed.stderr);
        match place {
            Some(place) => assert!(warned.contains(place), "{limits}: {warned}"),
            None => assert!(!warned.contains("cut_streams"), "{limits}: {warned}"),
        }
    }
}

#[test]
fn a_budget_that_cannot_hold_is_an_error_at_its_place() {
    let credits = "prices: {models: {\"*\": {credit: 1}}}\n";
    for (limits, lines, place, reason) in [
        (
            "{cost_per_day: \"9000000.000000001\"}",
            format!("{PRICES}{OUTPUT}"),
            "(callers[0].limits.cost_per_day)",
            "at most 9000000",
        ),
        (
            "{models: {demo-small: {cost_total: 9000001}}}",
            format!("{PRICES}{OUTPUT}"),
            "cost_total)",
            "at most 9000000",
        ),
        (
            "{cost_per_day: 10 USD}",
            format!("{PRICES}{OUTPUT}"),
            "(callers[0].limits.cost_per_day)",
            "expected an amount",
        ),
        (
            "{cost_per_month: 10}",
            OUTPUT.to_owned(),
            "(callers[0].limits.cost_per_month)",
            "requires `prices`",
        ),
        (
            "{cost_total: 10}",
            PRICES.to_owned(),
            "(callers[0].limits.cost_total)",
            "`max_output_tokens`: `demo-small`",
        ),
        (
            "{models: {\"demo-*\": {cost_per_day: 10}}}",
            PRICES.to_owned(),
            "cost_per_day)",
            "`max_output_tokens`: `demo-small`",
        ),
        (
            "{cost_per_day: 10}",
            format!("{credits}{OUTPUT}"),
            "(callers[0].limits.cost_per_day)",
            "a price of credits",
        ),
    ] {
        let printed = check(&budgeted(limits, &lines));
        assert!(!printed.success, "{limits}{}", printed.stdout);
        assert!(printed.stderr.contains(place), "{limits}{}", printed.stderr);
        assert!(
            printed.stderr.contains(reason),
            "{limits}{}",
            printed.stderr
        );
    }
}

#[test]
fn a_route_on_which_a_budget_is_not_enforced_is_a_warning() {
    let text = budgeted("{cost_per_day: 10}", &format!("{PRICES}{OUTPUT}"));
    let printed = check(&text.replacen(
        "{use: body}, rate_limit, validate",
        "{use: body}, validate",
        1,
    ));
    assert!(printed.success, "{}", printed.stderr);
    let warnings = printed.stdout + &printed.stderr;
    assert!(
        warnings.contains("no budget holds on route `chat`"),
        "{warnings}"
    );
    assert!(!warnings.contains("`legacy`"), "{warnings}");
}

#[test]
fn a_route_of_batches_on_which_a_budget_is_not_enforced_is_a_warning() {
    let batches = "  - name: batches
    match: POST /v1/batches
    protocol: batches
    request: [require_json, authenticate, {limit_body: 1MiB}, follow_ids, {check_batch: {input: file_id}}]
    response: [remember_ids]
";
    for (limit, is_warned) in [("", true), (", rate_limit", false)] {
        let batches = batches.replace("file_id}}", &format!("file_id}}}}{limit}"));
        let text = budgeted("{cost_per_day: 10}", &format!("{batches}{PRICES}{OUTPUT}"));
        let text = text.replace("protocols: [chat]", "protocols: [chat, batches]");
        let printed = check(&text);
        assert!(printed.success, "{}{}", printed.stdout, printed.stderr);
        let warnings = printed.stdout + &printed.stderr;
        let warning = warnings.contains("no budget holds on route `batches`");
        assert_eq!(warning, is_warned, "{warnings}");
    }
}

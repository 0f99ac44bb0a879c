//! Tests of `headgate check` on affinity: it reports what cannot keep sessions together.

use super::check::{GOOD, changed, check};

/// A valid file with these properties of `demo-small`.
fn with(properties: &str) -> String {
    format!("{GOOD}models:\n  demo-small: {properties}\n")
}

#[test]
fn each_source_is_good_without_a_warning() {
    for properties in [
        "{affinity: {by: caller}}",
        "{affinity: {by: prefix, share: true}}",
        "{affinity: {by: {header: X-Session}, hash_balance_factor: 100}}",
        "{affinity: {by: {pointer: /metadata/session}, hash_balance_factor: 1000}}",
        "{affinity: {by: prefix}, balance: latency}",
    ] {
        let printed = check(&with(properties));
        assert!(printed.success, "{properties}: {}", printed.stderr);
        let lines = printed.stdout.lines().count();
        assert_eq!(lines, 1, "{properties}: {}", printed.stdout);
    }
}

#[test]
fn what_cannot_work_is_an_error_with_its_place() {
    for (properties, place, words) in [
        ("{affinity: {}}", "affinity", "missing required key `by`"),
        ("{affinity: {by: session}}", "affinity.by", "session"),
        (
            "{affinity: {by: {header: \"x session\"}}}",
            "affinity.by.header",
            "`x session` is not a header name",
        ),
        (
            "{affinity: {by: {pointer: metadata}}}",
            "affinity.by.pointer",
            "write it as `/metadata/session_id`",
        ),
        (
            "{affinity: {by: caller, share: true}}",
            "affinity.share",
            "all requests have the same key",
        ),
        (
            "{affinity: {by: prefix, hash_balance_factor: 99}}",
            "affinity.hash_balance_factor",
            "must be at least 100",
        ),
        ("{balance: fastest}", "balance", "latency"),
    ] {
        let printed = check(&with(properties));
        assert!(!printed.success, "{properties}");
        let place = format!("(models.demo-small.{place})");
        let printed = printed.stderr;
        assert!(
            printed.contains(&place) && printed.contains(words),
            "{properties}: {printed}"
        );
    }
}

#[test]
fn a_prefix_needs_a_protocol_with_messages() {
    let images = changed("protocols: [chat]", "protocols: [image_edit]");
    let printed = check(&format!(
        "{images}models:\n  demo-small: {{affinity: {{by: prefix}}}}\n"
    ));
    assert!(!printed.success);
    let words = "no protocol of the channels of `demo-small` has prompts";
    assert!(printed.stderr.contains(words), "{}", printed.stderr);
}

#[test]
fn gateways_with_a_store_in_common_need_keys_in_common() {
    let shared =
        with("{affinity: {by: caller}}") + "state: {redis: {url: \"redis://127.0.0.1:6379/0\"}}\n";
    let printed = |text: &str| {
        let printed = check(text);
        assert!(printed.success, "{}", printed.stderr);
        printed.stdout + &printed.stderr
    };
    let words = "without `task_keys` each gateway orders channels by a secret of its own";
    assert!(printed(&shared).contains(words), "{}", printed(&shared));
    let keys = format!("{shared}task_keys: [\"{}\"]\n", "k".repeat(32));
    assert!(!printed(&keys).contains(words));
}

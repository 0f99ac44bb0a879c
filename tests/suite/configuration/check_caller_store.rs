//! Tests of `headgate check` on callers in the state store: it reports what they need besides.

use super::check::{GOOD, check};

#[test]
fn callers_in_the_state_store_need_keys_for_seals_and_a_state_that_lasts() {
    let keys = format!("task_keys: [\"{}\"]\n", "k".repeat(32));
    for (added, is_good, words) in [
        (
            "caller_sources: {store: {}}\n".to_owned(),
            false,
            "sealed with `task_keys`",
        ),
        (
            format!("{keys}state: memory\ncaller_sources: {{store: {{}}}}\n"),
            true,
            "lost when the process ends",
        ),
        (
            format!("{keys}state: memory\ncaller_sources: {{store: {{}}}}\n"),
            true,
            "no key of `server.admin_keys` has the role `issue`",
        ),
        (
            format!("{keys}caller_sources: {{store: {{most: 0}}}}\n"),
            false,
            "caller_sources.store.most",
        ),
        (
            format!("{keys}caller_sources: {{stores: {{}}}}\n"),
            false,
            "did you mean `store`",
        ),
    ] {
        let printed = check(&format!("{GOOD}{added}"));
        let text = format!("{}{}", printed.stdout, printed.stderr);
        assert_eq!(printed.success, is_good, "{added}: {text}");
        assert!(text.contains(words), "{added}: {text}");
    }
}

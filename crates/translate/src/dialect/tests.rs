//! Tests of dialects: how they are read, and that the shipped ones can be built.

use super::config::DialectConfig;
use super::{Dialect, SHIPPED_DIALECTS};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The shipped dialects as written.
fn shipped() -> BTreeMap<&'static str, DialectConfig> {
    let read = |(name, text): (&'static str, &str)| {
        let config = serde_saphyr::from_str(text);
        (
            name,
            config.unwrap_or_else(|error| panic!("{name}: {error}")),
        )
    };
    SHIPPED_DIALECTS.into_iter().map(read).collect()
}

/// A shipped dialect, built.
pub(crate) fn shipped_dialect(name: &str) -> Dialect {
    let shipped = shipped();
    let whole = shipped[name].with_bases(|base| shipped.get(base).ok_or(None));
    whole
        .unwrap()
        .build()
        .unwrap_or_else(|faults| panic!("{name}: {faults:?}"))
}

fn read(value: Value) -> DialectConfig {
    serde_json::from_value(value).unwrap()
}

#[test]
fn each_shipped_dialect_can_be_built_and_has_something_for_chat() {
    let shipped = shipped();
    let names: Vec<&str> = shipped.keys().copied().collect();
    assert_eq!(names, SHIPPED_DIALECTS.map(|(name, _)| name));
    for (name, text) in SHIPPED_DIALECTS {
        shipped_dialect(name);
        assert!(text.starts_with('#'), "{name} cites its sources");
        let whole = shipped[name]
            .with_bases(|base| shipped.get(base).ok_or(None))
            .unwrap();
        assert!(whole.chat.is_some(), "{name}");
    }
}

#[test]
fn a_dialect_has_what_its_base_has_and_tables_are_merged_by_key() {
    let base = read(json!({
        "chat": {"output_limit": "max_tokens", "stop_max": 1, "lacks": {"user": "dropped", "stop": "refused"}},
        "models": [{"names": ["old*"], "chat": {"top_k": true}}]}));
    let switch = |name: &str| json!({"chat": {"reasoning": {"on": {(name): true}}}});
    let whole = read(switch("a")).with_bases(|_| Err(None)).unwrap();
    let mut other = read(switch("b"));
    other.based_on = Some("switch".into());
    let other = other.with_bases(|_| Ok(&whole)).unwrap();
    assert_eq!(
        other,
        read(json!({"chat": {"reasoning": {"on": {"b": true}}}, "models": []}))
    );
    let own = read(json!({
        "based_on": "base",
        "chat": {"stop_max": 2, "lacks": {"stop": "dropped", "metadata": "dropped"}},
        "models": [{"names": ["old-2"], "chat": {"stop_max": 3}}]}));
    let whole = own.with_bases(|name| (name == "base").then_some(&base).ok_or(None));
    let whole = serde_json::to_value(whole.unwrap()).unwrap();
    assert_eq!(whole["chat"]["output_limit"], "max_tokens");
    assert_eq!(whole["chat"]["stop_max"], 2);
    let lacks = json!({"user": "dropped", "stop": "dropped", "metadata": "dropped"});
    assert_eq!(whole["chat"]["lacks"], lacks);
    assert_eq!(whole["models"][0]["names"], json!(["old-2"]));
    assert_eq!(whole["models"][1]["names"], json!(["old*"]));

    let built = read(whole).build().unwrap();
    let of_model = |name: &str| {
        let chat = &built.for_model(name).chat;
        (chat.stop_max, chat.top_k)
    };
    assert_eq!(of_model("new"), (2, false));
    assert_eq!(of_model("old-1"), (2, true));
    // The first entry that matches counts, those of the dialect's own first.
    assert_eq!(of_model("old-2"), (3, false));
}

#[test]
fn dialects_that_are_based_on_each_other_are_refused() {
    let one = read(json!({"based_on": "two"}));
    let two = read(json!({"based_on": "one"}));
    let find = |name: &str| Ok(if name == "one" { &one } else { &two });
    let fault = one.with_bases(find).unwrap_err();
    assert_eq!(fault.pointer, "/based_on");
    assert!(fault.reason.starts_with("circular reference"), "{fault:?}");
    let unknown = one.with_bases(|_| Err(Some("did you mean `three`?".into())));
    assert_eq!(unknown.unwrap_err().reason, "there is no dialect `two`");
}

#[test]
fn each_fault_of_a_dialect_is_reported_where_it_is() {
    let cases = [
        (
            json!({"chat": {"renames": {"a": "b c"}}}),
            "/chat/renames/a",
        ),
        (
            json!({"chat": {"adds": {"model": "x"}}}),
            "/chat/adds/model",
        ),
        (json!({"chat": {"adds": {"a": {"": 1}}}}), "/chat/adds/a/"),
        (
            json!({"chat": {"reasoning": {"effort": "effort"}}}),
            "/chat/reasoning/effort",
        ),
        (
            json!({"chat": {"reasoning": {"budget": "/a/b/c"}}}),
            "/chat/reasoning/budget",
        ),
        (
            json!({"chat": {"reasoning": {"on": {"stream": true}}}}),
            "/chat/reasoning/on/stream",
        ),
        (
            json!({"chat": {"reasoning": {"off": {"a\"": true}}}}),
            "/chat/reasoning/off/a\"",
        ),
        (
            json!({"messages": {"renames": {"a": ""}}}),
            "/messages/renames/a",
        ),
        (
            json!({"responses": {"renames": {"a": "input"}}}),
            "/responses/renames/a",
        ),
        (
            json!({"models": [{"names": ["x"], "chat": {"renames": {"a": "!"}}}]}),
            "/models/0/chat/renames/a",
        ),
    ];
    for (config, pointer) in cases {
        let faults = read(config.clone()).build().unwrap_err();
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, [pointer], "{config}");
    }
}

//! Tests of bodies of requests that make or change a caller.

use super::*;
use serde_json::json;

/// The pointers of problems, or `unreadable`.
fn refused<T>(result: Result<T, ChangeRefusal>) -> String {
    match result {
        Ok(_) => String::new(),
        Err(ChangeRefusal::Invalid(problems)) => {
            let pointers = problems.iter().map(|problem| problem.pointer.as_str());
            pointers.collect::<Vec<_>>().join(" ")
        }
        Err(_) => "unreadable".into(),
    }
}

#[test]
fn a_name_needs_no_escapes_and_is_none_of_a_claim() {
    for name in [
        "ann",
        "Ann.B-c_1",
        "a",
        "7",
        "ann@example.com",
        &"a".repeat(128),
    ] {
        assert!(is_caller_name(name), "{name}");
    }
    for name in [
        "",
        ".",
        "..",
        "../etc",
        "a/b",
        "a%2fb",
        "a b",
        "-a",
        "_a",
        "@a",
        "iss:ann",
        "group:a",
        "ann~2",
        "änn",
        "a\0",
        "a\n",
        "а",
        "a?b",
        "a#b",
        "a;b",
        "a\\b",
        &"a".repeat(129),
        &"a".repeat(10_000),
    ] {
        assert!(!is_caller_name(name), "{name:?}");
    }
}

#[test]
fn a_body_without_keys_gets_one_and_none_brings_its_own() {
    let (name, draft) = read_new_caller(br#"{"name":"ann","models":["*"]}"#, "today").unwrap();
    assert_eq!(name, "ann");
    let [made] = &draft.new_keys[..] else {
        panic!()
    };
    assert!(
        made.key.starts_with("sk-hg-") && made.key.len() == 38,
        "{}",
        made.key.len()
    );
    let keys = json!([{"label": "today", "key_sha256": made.digest()}]);
    assert_eq!(draft.entry["keys"], keys);
    for (body, expected) in [
        (json!({"models": []}), "/name"),
        (json!({"name": 7}), "/name"),
        (
            json!({"name": "a:b", "key_sha256": "00"}),
            "/name /key_sha256",
        ),
        (
            json!({"name": "a", "keys": [{"label": "x", "key_sha256": "00"}]}),
            "/keys/0/key_sha256",
        ),
        (
            json!({"name": "a", "webhook_secrets": ["x", {"file": "/etc/passwd"}]}),
            "/webhook_secrets/1",
        ),
        (
            json!({"name": "a", "keys": vec![json!({"label": "x"}); 33]}),
            "/keys",
        ),
        (json!([]), "unreadable"),
        (json!("ann"), "unreadable"),
    ] {
        let body = body.to_string();
        assert_eq!(
            refused(read_new_caller(body.as_bytes(), "today")),
            expected,
            "{body}"
        );
    }
    let deep = format!(
        "{{\"name\":\"a\",\"models\":{}{}}}",
        "[".repeat(16),
        "]".repeat(16)
    );
    let wide = format!("{{\"name\":\"a\",\"models\":[{}0]}}", "0,".repeat(10_000));
    for body in [
        "",
        "{",
        "{}x",
        r#"{"name":"a","name":"b"}"#,
        r#"{"name":"\ud800"}"#,
        "\u{feff}{}",
        &deep,
        &wide,
    ] {
        assert_eq!(
            refused(read_new_caller(body.as_bytes(), "today")),
            "unreadable",
            "{body:.60}"
        );
    }
}

#[test]
fn a_patch_merges_and_has_keys_by_label() {
    let entry = json!({
        "models": ["a"], "group": "g", "limits": {"concurrent": 2, "requests_per_minute": 3},
        "keys": [{"label": "old", "key_sha256": "00"}, {"label": "kept", "key_sha256": "11"}]
    });
    let entry = entry.as_object().unwrap();
    let patch = json!({
        "models": ["b", "c"], "group": null, "limits": {"concurrent": 5},
        "keys": {"old": null, "kept": {"not_after": "2030-01-01T00:00:00Z"}, "new": {"routes": ["chat"]}}
    });
    let draft = apply_patch(entry.clone(), patch.to_string().as_bytes()).unwrap();
    let [made] = &draft.new_keys[..] else {
        panic!()
    };
    assert_eq!(made.label, "new");
    let expected = json!({
        "models": ["b", "c"], "limits": {"concurrent": 5, "requests_per_minute": 3},
        "keys": [
            {"label": "kept", "key_sha256": "11", "not_after": "2030-01-01T00:00:00Z"},
            {"label": "new", "routes": ["chat"], "key_sha256": made.digest()}
        ]
    });
    assert_eq!(Value::Object(draft.entry), expected);
    for (patch, expected) in [
        (json!({"name": "bob"}), "/name"),
        (json!({"key_sha256": "22"}), "/key_sha256"),
        (json!({"keys": [{"label": "new"}]}), "/keys"),
        (json!({"keys": {"none": null}}), "/keys/none"),
        (json!({"keys": {"old": 7}}), "/keys/old"),
        (
            json!({"keys": {"old": {"key_sha256": "22"}}}),
            "/keys/old/key_sha256",
        ),
        (
            json!({"keys": {"new": {"key_sha256": "22"}}}),
            "/keys/new/key_sha256",
        ),
        (
            json!({"keys": {"new": {"label": "other"}}}),
            "/keys/new/label",
        ),
        (
            json!({"webhook_secrets": [{"file": "x"}]}),
            "/webhook_secrets/0",
        ),
        (json!({"webhook_secrets": {"0": "x"}}), ""),
    ] {
        let body = patch.to_string();
        assert_eq!(
            refused(apply_patch(entry.clone(), body.as_bytes())),
            expected,
            "{body}"
        );
    }
}

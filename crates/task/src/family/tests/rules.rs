//! Tests of rules between fields.

use super::language::with;
use super::*;
use crate::generic::{FieldError, GenericVideoRequest};

const RULES: &str = r#"
request:
  model: /model
  prompt: /prompt
  duration: {to: /duration, allowed: [4, 6, 8]}
  resolution: {to: /resolution, allowed: [720p, 1080p]}
  seed: /seed
  medias: {first_frame: /first, last_frame: /last}
  rules:
    - {if: 'json("/resolution") == "1080p"', reason: at 1080p, limits: {duration: {allowed: [8]}}}
    - {if: 'json("/duration") > 6', limits: {seed: {min: 3, max: 5}}}
    - {if: '!json("/medias").exists(m, m.role == "first_frame")', limits: {last_frame: {refuse: needs a first frame}}}
    - {if: 'json("/prompt") == null', reason: without a prompt, limits: {seed: {required: true}, first_frame: {required: true}}}
    - {if: 'json("/medias").missing', limits: {prompt: {refuse: is never refused}}}
  models:
    "big*":
      rules: [{if: 'json("/channel_model") == "big-1"', reason: of this size, limits: {resolution: {allowed: [720p]}}}]
"#;

fn mapped(
    create: Value,
    model: &str,
    unsupported: UnsupportedFieldPolicy,
) -> Result<(Value, Vec<String>), FieldError> {
    let family = with(RULES).unwrap();
    let mut create = create;
    create["model"] = json!("demo");
    let create = JsonDocument::parse(create.to_string().into(), &JsonLimits::default()).unwrap();
    let create = GenericVideoRequest::read(&create).unwrap();
    let mapped = family.request(&create, model, unsupported)?;
    let ignored = mapped.ignored.into_iter().map(|field| field.param);
    Ok((
        serde_json::from_slice(&mapped.body).unwrap(),
        ignored.collect(),
    ))
}

#[test]
fn a_value_that_does_not_work_with_the_others_is_refused_with_the_nearest_that_does() {
    let last = json!([{"type": "image", "role": "last_frame", "url": "u"}]);
    for (create, model, param, message) in [
        (
            json!({"prompt": "a", "resolution": "1080p", "duration": 6}),
            "m",
            "duration",
            "`duration` of model `demo` must be 8 at 1080p; the nearest is 8",
        ),
        (
            json!({"prompt": "a", "duration": 8, "seed": 9}),
            "m",
            "seed",
            "`seed` of model `demo` must be from 3 to 5 with the other fields; the nearest is 5",
        ),
        (
            json!({"prompt": "a", "medias": last}),
            "m",
            "medias[0]",
            "`medias[0]`: model `demo` needs a first frame",
        ),
        (
            json!({"seed": 4}),
            "m",
            "medias",
            "model `demo` needs a medium with the role `first_frame` without a prompt",
        ),
        (
            json!({"medias": [{"type": "image", "role": "first_frame", "url": "u"}]}),
            "m",
            "seed",
            "missing required field `seed`: model `demo` needs it without a prompt",
        ),
        (
            json!({"prompt": "a", "resolution": "1080p"}),
            "big-1",
            "resolution",
            "`resolution` of model `demo` must be 720p of this size; the nearest is 720p",
        ),
    ] {
        let refused = mapped(create.clone(), model, UnsupportedFieldPolicy::Refuse).unwrap_err();
        assert_eq!(
            (&*refused.param, &*refused.message),
            (param, message),
            "{create}"
        );
    }
}

#[test]
fn a_rule_applies_only_while_its_condition_is_true() {
    for (create, model) in [
        (
            json!({"prompt": "a", "resolution": "1080p", "duration": 8}),
            "m",
        ),
        (
            json!({"prompt": "a", "resolution": "720p", "duration": 6}),
            "m",
        ),
        (json!({"prompt": "a", "resolution": "1080p"}), "m"),
        // Without a duration the condition has no value.
        (json!({"prompt": "a", "seed": 9}), "m"),
        (json!({"prompt": "a", "resolution": "1080p"}), "big-2"),
    ] {
        let accepted = mapped(create.clone(), model, UnsupportedFieldPolicy::Refuse);
        assert!(accepted.is_ok(), "{create}: {accepted:?}");
    }
}

#[test]
fn a_refused_value_is_left_out_where_unsupported_fields_are_ignored() {
    let create = json!({"prompt": "a", "resolution": "1080p", "duration": 6});
    let (body, ignored) = mapped(create, "m", UnsupportedFieldPolicy::Ignore).unwrap();
    let expected = json!({"model": "m", "prompt": "a", "resolution": "1080p"});
    assert_eq!((body, ignored), (expected, vec!["duration".to_owned()]));
}

#[test]
fn a_rule_that_cannot_work_is_refused_at_its_place() {
    for (rule, pointer) in [
        ("{if: '1 +', limits: {seed: {min: 1}}}", "/if"),
        ("{if: 'caller == \"a\"', limits: {seed: {min: 1}}}", "/if"),
        ("{if: 'true', limits: {}}", "/limits"),
        ("{if: 'true', limits: {sead: {min: 1}}}", "/limits/sead"),
        ("{if: 'true', limits: {seed: {}}}", "/limits/seed"),
        (
            "{if: 'true', limits: {seed: {min: 1, refuse: has none}}}",
            "/limits/seed",
        ),
        (
            "{if: 'true', limits: {seed: {min: 2, max: 1}}}",
            "/limits/seed/min",
        ),
    ] {
        let sections = format!("request: {{model: /model, seed: /seed, rules: [{rule}]}}");
        let refused = with(&sections).map(|family| family.name).unwrap_err();
        let expected = format!("/request/rules/0{pointer}");
        let pointers: Vec<_> = refused.iter().map(|fault| fault.pointer.as_str()).collect();
        assert!(pointers.contains(&&*expected), "{rule}: {refused:?}");
    }
}

#[test]
fn rules_can_be_shown_in_words() {
    let family = with(RULES).unwrap();
    let rules = family.rule_descriptions("big-1");
    let expected = r#"`duration` must be 8 at 1080p; if json("/resolution") == "1080p""#;
    assert!(rules.contains(&expected.to_owned()), "{rules:?}");
    assert_eq!(rules.len(), family.rule_descriptions("m").len() + 1);
}

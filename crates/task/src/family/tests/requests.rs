//! Tests of generic creates mapped to both families, field by field.

use super::*;
use crate::generic::{FieldError, GenericVideoRequest};

fn mapped(
    family: &VideoFamily,
    body: &Value,
    unsupported: UnsupportedFieldPolicy,
) -> Result<MappedRequest, FieldError> {
    let document = document(body);
    let request = GenericVideoRequest::read(&document)?;
    family.request(&request, "provider-model", unsupported)
}

#[test]
fn the_prompt_comes_before_media_and_texts_stay_as_they_are_written() {
    let body = br#"{"model":"demo","medias":[{"role":"first_frame","url":"https:\/\/m\/1"}],"prompt":"\u00fc --rs 720p"}"#;
    let document = JsonDocument::parse(body.to_vec().into(), &JsonLimits::default()).unwrap();
    let request = GenericVideoRequest::read(&document).unwrap();
    let family = family("family-a");
    let mapped = family
        .request(&request, "provider-model", UnsupportedFieldPolicy::Refuse)
        .unwrap();
    let expected = concat!(
        r#"{"model":"provider-model","content":[{"text":"\u00fc --rs 720p","type":"text"},"#,
        r#"{"image_url":{"url":"https:\/\/m\/1"},"role":"first_frame","type":"image_url"}]}"#,
    );
    assert_eq!(mapped.body, expected);
}

#[test]
fn a_lenient_route_leaves_out_what_a_family_cannot_do_and_names_it() {
    let body = json!({
        "model": "demo", "prompt": "a cat", "resolution": "4k", "ratio": "21:9", "seed": 1,
        "callback_url": "https://c/1", "shots": 3, "no header\r\nname": 1,
    });
    let mapped = mapped(&family("family-b"), &body, UnsupportedFieldPolicy::Ignore).unwrap();
    let expected = json!({
        "model": "provider-model", "input": {"prompt": "a cat"}, "parameters": {"seed": 1},
    });
    assert_eq!(
        serde_json::from_slice::<Value>(&mapped.body).unwrap(),
        expected
    );
    let names: Vec<&str> = mapped
        .ignored
        .iter()
        .map(|ignored| &*ignored.param)
        .collect();
    assert_eq!(names, ["resolution", "ratio", "callback_url", "shots"]);
    assert!(
        mapped.ignored[0]
            .message
            .contains("`resolution` of model `demo`")
    );
}

#[test]
fn a_callback_url_is_ignored_by_a_family_that_calls_nobody() {
    let body = json!({"model": "demo", "callback_url": "https://c/1"});
    let mapped = mapped(&family("family-b"), &body, UnsupportedFieldPolicy::Refuse).unwrap();
    assert_eq!(mapped.ignored[0].param, "callback_url");
}

#[test]
fn a_callback_url_lies_in_a_member_of_its_own() {
    let omni = shipped("gemini-omni").unwrap();
    for (place, member) in [
        (
            "/webhook_config/uris/-",
            Some(("webhook_config", json!({"uris": ["u"]}))),
        ),
        (
            "/webhook_config/0/uri",
            Some(("webhook_config", json!([{"uri": "u"}]))),
        ),
        ("/webhook", Some(("webhook", json!("u")))),
        // With an element before it, and with other fields.
        ("/webhook_config/1/uri", None),
        ("/response_format/uri", None),
    ] {
        let definition = omni.replace("/webhook_config/uris/-", place);
        let family = VideoFamily::new("omni", &config(&definition)).unwrap();
        let written = family.callback_target().map(|target| match target {
            CallbackTarget::Body(to) => {
                let (name, value) = to.member_with(br#""u""#);
                (name, serde_json::from_slice::<Value>(&value).unwrap())
            }
            CallbackTarget::Query(name) => panic!("{name}"),
        });
        assert_eq!(written, member, "{place}");
        assert_eq!(family.passes_callback_url_on(), member.is_none(), "{place}");
    }
}

#[test]
fn violations_of_the_mapped_request_name_the_callers_fields() {
    let body = json!({
        "model": "demo", "prompt": "a cat", "duration": 99,
        "medias": [{"role": "first_frame", "url": "u"}, {"role": "last_frame", "url": "v"}],
    });
    let of_a = mapped(&family("family-a"), &body, UnsupportedFieldPolicy::Refuse).unwrap();
    let of_b = mapped(&family("family-b"), &body, UnsupportedFieldPolicy::Refuse).unwrap();
    let table = [
        (&of_a, "/content/0/text", Some("prompt")),
        (&of_a, "/content/1/image_url/url", Some("medias[0]")),
        (&of_a, "/content/2", Some("medias[1]")),
        (&of_a, "/duration", Some("duration")),
        (&of_a, "/model", Some("model")),
        (&of_b, "/input/media/1/url", Some("medias[1]")),
        (&of_b, "/input/media/1", Some("medias[1]")),
        (&of_b, "/input/media", Some("medias")),
        (&of_b, "/parameters/duration", Some("duration")),
        (&of_b, "/parameters/durations", None),
        (&of_b, "", None),
    ];
    for (mapped, pointer, param) in table {
        assert_eq!(mapped.param_at(pointer), param, "{pointer}");
    }
}

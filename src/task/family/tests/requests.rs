//! Generic creates in the words of both families, field by field.

use super::*;
use crate::task::generic::{GenericRequest, Refused};

fn mapped(family: &Family, body: &Value, unsupported: Unsupported) -> Result<Mapped, Refused> {
    let document = document(body);
    let request = GenericRequest::read(&document)?;
    family.request(&request, "provider-model", unsupported)
}

fn sent(family: &Family, fields: &Value) -> Value {
    let mut body = fields.clone();
    body["model"] = json!("demo");
    let mapped = mapped(family, &body, Unsupported::Refuse).unwrap();
    assert_eq!(mapped.ignored, [], "{body}");
    let mut sent: Value = serde_json::from_slice(&mapped.body).unwrap();
    let members = sent.as_object_mut().unwrap();
    assert_eq!(members.remove("model"), Some(json!("provider-model")));
    sent
}

fn refused(family: &Family, fields: &Value) -> Refused {
    let mut body = fields.clone();
    body["model"] = json!("demo");
    mapped(family, &body, Unsupported::Refuse).unwrap_err()
}

#[test]
fn every_field_goes_to_its_place_in_family_a() {
    let family = family("family-a");
    let media = |kind: &str, role: &str| {
        let mut element = json!({"type": kind, "role": role});
        element[kind] = json!({"url": "https://m/1"});
        json!({"content": [element]})
    };
    let of = |role: &str| json!({"medias": [{"role": role, "url": "https://m/1"}]});
    let table = [
        (json!({}), json!({})),
        (
            json!({"prompt": "a cat"}),
            json!({"content": [{"type": "text", "text": "a cat"}]}),
        ),
        (of("first_frame"), media("image_url", "first_frame")),
        (of("last_frame"), media("image_url", "last_frame")),
        (of("reference_image"), media("image_url", "reference_image")),
        (of("reference_video"), media("video_url", "reference_video")),
        (of("reference_audio"), media("audio_url", "reference_audio")),
        (json!({"duration": 5}), json!({"duration": 5})),
        (json!({"duration": -1}), json!({"duration": -1})),
        (json!({"resolution": "480p"}), json!({"resolution": "480p"})),
        (
            json!({"resolution": "1080P"}),
            json!({"resolution": "1080p"}),
        ),
        (json!({"resolution": "4K"}), json!({"resolution": "4k"})),
        (json!({"ratio": "21:9"}), json!({"ratio": "21:9"})),
        (json!({"ratio": "adaptive"}), json!({"ratio": "adaptive"})),
        (
            json!({"generate_audio": false}),
            json!({"generate_audio": false}),
        ),
        (json!({"watermark": true}), json!({"watermark": true})),
        (
            json!({"seed": 4_294_967_295_u64}),
            json!({"seed": 4_294_967_295_u64}),
        ),
        (
            json!({"callback_url": "https://c/1"}),
            json!({"callback_url": "https://c/1"}),
        ),
        (json!({"negative_prompt": null}), json!({})),
    ];
    for (fields, expected) in table {
        assert_eq!(sent(&family, &fields), expected, "{fields}");
    }
}

#[test]
fn every_field_goes_to_its_place_in_family_b() {
    let family = family("family-b");
    let kinds = [
        "first_frame",
        "last_frame",
        "reference_image",
        "reference_video",
        "reference_audio",
    ];
    for kind in kinds {
        let fields = json!({"medias": [{"role": kind, "url": "https://m/1"}]});
        let expected = json!({"input": {"media": [{"type": kind, "url": "https://m/1"}]}});
        assert_eq!(sent(&family, &fields), expected);
    }
    let table = [
        (json!({}), json!({})),
        (
            json!({"prompt": "a cat"}),
            json!({"input": {"prompt": "a cat"}}),
        ),
        (
            json!({"negative_prompt": "a dog"}),
            json!({"input": {"negative_prompt": "a dog"}}),
        ),
        (
            json!({"duration": 30}),
            json!({"parameters": {"duration": 30}}),
        ),
        (
            json!({"duration": -1}),
            json!({"parameters": {"duration": -1}}),
        ),
        (
            json!({"resolution": "480p"}),
            json!({"parameters": {"resolution": "480P"}}),
        ),
        (
            json!({"resolution": "720P"}),
            json!({"parameters": {"resolution": "720P"}}),
        ),
        (
            json!({"resolution": "1080p"}),
            json!({"parameters": {"resolution": "1080P"}}),
        ),
        (
            json!({"ratio": "9:16"}),
            json!({"parameters": {"ratio": "9:16"}}),
        ),
        (
            json!({"ratio": "adaptive"}),
            json!({"parameters": {"ratio": "adaptive"}}),
        ),
        (
            json!({"generate_audio": true}),
            json!({"parameters": {"audio": true}}),
        ),
        (
            json!({"watermark": false}),
            json!({"parameters": {"watermark": false}}),
        ),
        (json!({"seed": -1}), json!({"parameters": {"seed": -1}})),
    ];
    for (fields, expected) in table {
        assert_eq!(sent(&family, &fields), expected, "{fields}");
    }
}

#[test]
fn a_whole_request_keeps_the_order_of_its_media() {
    let fields = json!({
        "prompt": "as in video 1", "negative_prompt": "rain", "duration": 8.0, "resolution": "720p",
        "medias": [
            {"type": "video", "url": "https://m/v"},
            {"type": "image", "role": "reference_image", "url": "data:image/png;base64,AAAA"},
            {"type": "reference_image", "url": "https://m/i"},
        ],
    });
    let sent = sent(&family("family-b"), &fields);
    let expected = json!({
        "input": {
            "prompt": "as in video 1",
            "negative_prompt": "rain",
            "media": [
                {"type": "reference_video", "url": "https://m/v"},
                {"type": "reference_image", "url": "data:image/png;base64,AAAA"},
                {"type": "reference_image", "url": "https://m/i"},
            ],
        },
        "parameters": {"duration": 8, "resolution": "720P"},
    });
    assert_eq!(sent, expected);
}

#[test]
fn the_prompt_comes_before_media_and_texts_stay_as_they_are_written() {
    let body = br#"{"model":"demo","medias":[{"role":"first_frame","url":"https:\/\/m\/1"}],"prompt":"\u00fc --rs 720p"}"#;
    let document = Document::parse(body.to_vec().into(), &Limits::default()).unwrap();
    let request = GenericRequest::read(&document).unwrap();
    let family = family("family-a");
    let mapped = family
        .request(&request, "provider-model", Unsupported::Refuse)
        .unwrap();
    let expected = concat!(
        r#"{"model":"provider-model","content":[{"text":"\u00fc --rs 720p","type":"text"},"#,
        r#"{"image_url":{"url":"https:\/\/m\/1"},"role":"first_frame","type":"image_url"}]}"#,
    );
    assert_eq!(mapped.body, expected);
}

#[test]
fn what_a_family_cannot_do_is_refused_with_field_and_model() {
    let table = [
        (
            "family-a",
            json!({"negative_prompt": "rain"}),
            "negative_prompt",
            "say in `prompt`",
        ),
        (
            "family-b",
            json!({"resolution": "4k"}),
            "resolution",
            "is one of 480p, 720p, 1080p",
        ),
        (
            "family-b",
            json!({"resolution": "360p"}),
            "resolution",
            "is one of",
        ),
        (
            "family-b",
            json!({"ratio": "21:9"}),
            "ratio",
            "16:9, 4:3, 1:1, 3:4, 9:16, adaptive",
        ),
        (
            "family-b",
            json!({"medias": [{"type": "hologram", "url": "u"}]}),
            "medias[0].type",
            "image, video",
        ),
    ];
    for (name, fields, param, words) in table {
        let refused = refused(&family(name), &fields);
        assert_eq!(refused.param, param, "{fields}");
        assert!(refused.message.contains(words), "{refused}");
        assert!(refused.message.contains(param), "{refused}");
        let names_model = refused.message.contains("model `demo`");
        assert!(names_model || param.starts_with("medias"), "{refused}");
    }
}

#[test]
fn a_lenient_route_leaves_out_what_a_family_cannot_do_and_names_it() {
    let body = json!({
        "model": "demo", "prompt": "a cat", "resolution": "4k", "ratio": "21:9", "seed": 1,
        "callback_url": "https://c/1", "shots": 3, "no header\r\nname": 1,
    });
    let mapped = mapped(&family("family-b"), &body, Unsupported::Ignore).unwrap();
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
    let mapped = mapped(&family("family-b"), &body, Unsupported::Refuse).unwrap();
    assert_eq!(mapped.ignored[0].param, "callback_url");
    assert!(!family("family-b").takes_callback_url());
    assert!(family("family-a").takes_callback_url());
}

#[test]
fn the_gateways_callback_url_takes_the_place_of_the_callers() {
    for callers in [json!({}), json!({"callback_url": "https://c/1"})] {
        let mut body = callers;
        body["model"] = json!("demo");
        let document = document(&body);
        let mut request = GenericRequest::read(&document).unwrap();
        request.set_callback_url("https://gate/token");
        let family = family("family-a");
        let mapped = family.request(&request, "m", Unsupported::Refuse).unwrap();
        let sent: Value = serde_json::from_slice(&mapped.body).unwrap();
        assert_eq!(
            sent,
            json!({"model": "m", "callback_url": "https://gate/token"})
        );
    }
}

#[test]
fn what_is_found_wrong_with_the_mapped_request_is_told_in_the_callers_words() {
    let body = json!({
        "model": "demo", "prompt": "a cat", "duration": 99,
        "medias": [{"role": "first_frame", "url": "u"}, {"role": "last_frame", "url": "v"}],
    });
    let of_a = mapped(&family("family-a"), &body, Unsupported::Refuse).unwrap();
    let of_b = mapped(&family("family-b"), &body, Unsupported::Refuse).unwrap();
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
        assert_eq!(mapped.param_of(pointer), param, "{pointer}");
    }
}

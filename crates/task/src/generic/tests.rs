//! Tests of generic creates: media under all their names, and types of fields.

use super::*;
use headgate_protocol::json::JsonLimits;
use serde_json::{Value, json};

fn document(body: &Value) -> JsonDocument {
    JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap()
}

fn kinds(medias: Value) -> Result<Vec<&'static str>, String> {
    let body = document(&json!({"model": "m", "medias": medias}));
    let request = GenericVideoRequest::read(&body).map_err(|refused| refused.param)?;
    Ok(request
        .medias
        .iter()
        .map(|media| media.kind.name())
        .collect())
}

#[test]
fn a_medium_is_known_by_type_role_or_both() {
    let names = MediaRole::ALL.map(MediaRole::name);
    let matters = ["image", "image", "image", "video", "audio"];
    for (name, media_type) in names.into_iter().zip(matters) {
        let matter_url = format!("{media_type}_url");
        for media in [
            json!({"role": name, "url": "u"}),
            json!({"type": name, "url": "u"}),
            json!({"type": name, "role": name, "url": "u"}),
            json!({"type": name, "role": null, "url": "u"}),
            json!({"type": name, "role": "", "url": "u"}),
            json!({"type": media_type, "role": name, "url": "u"}),
            json!({"type": matter_url, "role": name, "url": "u"}),
        ] {
            assert_eq!(kinds(json!([media])), Ok(vec![name]), "{media}");
        }
    }
}

#[test]
fn a_role_may_be_left_out_where_only_one_can_be_meant() {
    let table = [
        (json!([{"type": "image", "url": "u"}]), vec!["first_frame"]),
        (
            json!([{"type": "image_url", "url": "u"}]),
            vec!["first_frame"],
        ),
        (
            json!([{"type": "video", "url": "u"}]),
            vec!["reference_video"],
        ),
        (
            json!([{"type": "video_url", "url": "u"}, {"type": "audio", "url": "u"}]),
            vec!["reference_video", "reference_audio"],
        ),
        (
            json!([{"type": "audio_url", "url": "u"}]),
            vec!["reference_audio"],
        ),
        (json!([]), vec![]),
        (json!(null), vec![]),
        (json!(""), vec![]),
        (
            json!([{"type": "image", "role": "", "url": "u"}]),
            vec!["first_frame"],
        ),
        (
            json!([{"type": "", "role": "last_frame", "url": "u"}]),
            vec!["last_frame"],
        ),
    ];
    for (medias, expected) in table {
        assert_eq!(kinds(medias.clone()), Ok(expected), "{medias}");
    }
}

#[test]
fn media_of_no_known_kind_are_refused_by_name() {
    let image = json!({"type": "image", "url": "u"});
    let table = [
        (json!("u"), "medias"),
        (json!({"type": "image", "url": "u"}), "medias"),
        (json!(["u"]), "medias[0].type"),
        (json!([{"url": "u"}]), "medias[0].type"),
        (json!([{"type": "hologram", "url": "u"}]), "medias[0].type"),
        (json!([{"type": 1, "url": "u"}]), "medias[0].type"),
        (
            json!([{"role": "middle_frame", "url": "u"}]),
            "medias[0].role",
        ),
        (
            json!([{"role": ["first_frame"], "url": "u"}]),
            "medias[0].role",
        ),
        (
            json!([{"type": "video", "role": "first_frame", "url": "u"}]),
            "medias[0].role",
        ),
        (
            json!([{"type": "image", "role": "reference_audio", "url": "u"}]),
            "medias[0].role",
        ),
        (
            json!([{"type": "first_frame", "role": "last_frame", "url": "u"}]),
            "medias[0].role",
        ),
        (json!([image, image]), "medias[0].role"),
        (
            json!([{"type": "video", "url": "u"}, image]),
            "medias[1].role",
        ),
        (json!([{"type": "image"}]), "medias[0].url"),
        (json!([{"type": "image", "url": " "}]), "medias[0].url"),
        (
            json!([{"type": "image", "url": {"url": "u"}}]),
            "medias[0].url",
        ),
    ];
    for (medias, param) in table {
        assert_eq!(kinds(medias.clone()), Err(param.to_string()), "{medias}");
    }
}

#[test]
fn a_field_of_another_type_is_refused_by_name() {
    let table = [
        ("model", json!(3)),
        ("model", json!("")),
        ("model", json!(null)),
        ("prompt", json!(["a"])),
        ("negative_prompt", json!(1)),
        ("duration", json!("5")),
        ("duration", json!(5.5)),
        ("duration", json!(0)),
        ("duration", json!(0.0)),
        ("resolution", json!(720)),
        ("ratio", json!(1.5)),
        ("generate_audio", json!("yes")),
        ("watermark", json!(0)),
        ("seed", json!("x")),
        ("seed", json!(0.5)),
        ("callback_url", json!({})),
    ];
    for (field, value) in table {
        let mut body = json!({"model": "m"});
        body[field] = value;
        let body = document(&body);
        let refused = GenericVideoRequest::read(&body).unwrap_err();
        assert_eq!(refused.param, field);
        assert!(refused.message.contains(&format!("`{field}`")), "{refused}");
    }
    let list = document(&json!(["m"]));
    assert!(GenericVideoRequest::read(&list).is_err());
}

#[test]
fn fields_are_kept_as_written_but_for_the_tier() {
    let body = br#"{"model": "m", "seed": 4294967295, "duration": 5.0, "resolution": "1080P",
        "prompt": "\u00fc \" \\", "ratio": null, "callback_url": "", "negative_prompt": "", "shot": 1}"#;
    let body = JsonDocument::parse(body.to_vec().into(), &JsonLimits::default()).unwrap();
    let request = GenericVideoRequest::read(&body).unwrap();
    let fields: Vec<_> = request
        .fields
        .iter()
        .map(|(field, fragment)| {
            (
                field.name(),
                String::from_utf8(fragment.clone().into_json().into_owned()).unwrap(),
            )
        })
        .collect();
    let expected = [
        ("prompt", r#""\u00fc \" \\""#),
        ("duration", "5"),
        ("resolution", r#""1080p""#),
        ("seed", "4294967295"),
    ];
    assert_eq!(
        fields,
        expected.map(|(name, json)| (name, json.to_string()))
    );
    let unknown: Vec<_> = request.unknown.iter().map(UnknownField::param).collect();
    assert_eq!(unknown, ["shot"]);
    assert_eq!(request.ratio(), None);
}

#[test]
fn only_width_to_height_is_a_ratio() {
    let table = [
        (json!("16:9"), Some("16:9")),
        (json!("21:9"), Some("21:9")),
        (json!("adaptive"), None),
        (json!("16:"), None),
        (json!("9".repeat(100)), None),
        (json!(null), None),
    ];
    for (ratio, expected) in table {
        let body = document(&json!({"model": "m", "ratio": ratio}));
        let request = GenericVideoRequest::read(&body).unwrap();
        assert_eq!(request.ratio().as_deref(), expected, "{ratio}");
    }
}

#[test]
fn an_empty_text_is_nothing_in_every_optional_field() {
    for field in GenericField::ALL {
        let mut body = json!({"model": "m", "medias": ""});
        body[field.name()] = json!("");
        let body = document(&body);
        let request = GenericVideoRequest::read(&body).unwrap();
        assert!(request.fields.is_empty(), "{}", field.name());
    }
}

#[test]
fn an_unknown_field_is_named_with_the_one_that_is_probably_meant() {
    let image = r#"in `medias`, as `[{"type": "image", "url": …}]`"#;
    let first = r#"[{"type": "image", "role": "first_frame", "url": …}]"#;
    let video = r#"[{"type": "video", "url": …}]"#;
    let audio = r#"[{"type": "audio", "url": …}]"#;
    for (field, advice) in [
        ("image_url", image),
        ("image", image),
        ("imageUrl", image),
        ("first_frame_url", first),
        ("reference_video", video),
        ("audio_url", audio),
        ("media", image),
        ("promt", "`prompt`"),
        ("Prompt", "`prompt`"),
        ("text", "`prompt`"),
        ("negativePrompt", "`negative_prompt`"),
        ("seconds", "`duration`"),
        ("video_length", "`duration`"),
        ("num_frames", "`duration`"),
        ("aspect_ratio", "`ratio`"),
        ("size", "`resolution`"),
        ("resolutoin", "`resolution`"),
        ("with_audio", "`generate_audio`"),
        ("webhook_url", "`callback_url`"),
        ("random_seed", "`seed`"),
        ("camera", "the fields are `model`, `medias`, `prompt`, "),
    ] {
        let body = document(&json!({"model": "m", field: {"a": 1}}));
        let request = GenericVideoRequest::read(&body).unwrap();
        let [unknown] = request.unknown.as_slice() else {
            panic!("{field}: {:?}", request.unknown)
        };
        assert_eq!(unknown.param(), field);
        let message = UnknownField::refusal(&request.unknown).unwrap().message;
        assert!(
            message.contains(&format!("unknown field `{field}`")),
            "{message}"
        );
        assert!(message.contains(advice), "{message}");
        assert!(message.contains("the fields are `model`, "), "{message}");
    }
    for (field, advice) in [
        ("image_url", "`url`"),
        ("URL", "`url`"),
        ("rol", "`role`"),
        (
            "weight",
            "the fields of an entry of `medias` are `type`, `url`, `role`",
        ),
    ] {
        let media = json!({"type": "image", "url": "u", field: 1});
        let body = document(&json!({"model": "m", "medias": [media]}));
        let request = GenericVideoRequest::read(&body).unwrap();
        let unknown = &request.unknown[0];
        assert_eq!(unknown.param(), format!("medias[0].{field}"));
        let message = UnknownField::refusal(&request.unknown).unwrap().message;
        assert!(message.contains(advice), "{message}");
    }
}

#[test]
fn all_unknown_fields_are_in_one_error() {
    let body = document(
        &json!({"model": "m", "size": "720p", "seconds": 5, "fps": 24,
        "medias": [{"type": "image", "url": "u", "weight": 1}]}),
    );
    let request = GenericVideoRequest::read(&body).unwrap();
    let error = UnknownField::refusal(&request.unknown).unwrap();
    assert_eq!(error.param, request.unknown[0].param());
    for part in [
        "unknown field `size` (did you mean `resolution`?)",
        "unknown field `seconds` (did you mean `duration`?)",
        "unknown field `fps`",
        "unknown field `medias[0].weight`",
    ] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    assert!(UnknownField::refusal(&[]).is_none());
}

#[test]
fn an_empty_unknown_field_is_ignored_and_an_unusual_name_is_not_repeated() {
    let body = document(&json!({"model": "m", "shot": null, "style": "",
        "medias": [{"type": "image", "url": "u", "weight": null}]}));
    assert_eq!(GenericVideoRequest::read(&body).unwrap().unknown, []);
    let long = "x".repeat(1 << 16);
    for name in ["a\r\nb", "", "ä", long.as_str()] {
        let body = document(&json!({"model": "m", name: 1}));
        let request = GenericVideoRequest::read(&body).unwrap();
        let unknown = &request.unknown[0];
        assert_eq!(unknown.param(), "");
        assert!(!unknown.has_plain_name());
        assert!(unknown.message().len() < 300, "{}", unknown.message());
    }
}

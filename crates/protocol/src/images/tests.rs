//! Tests of image edits: from form to JSON and back, and completion of responses.

use super::*;
use crate::form::MultipartForm;
use crate::json::edit::JsonEdits;
use crate::json::{JsonDocument, JsonLimits};
use bytes::Bytes;
use serde_json::{Value, json};

const AS_IT_IS: ImageRequestRewrite<'static> = ImageRequestRewrite::NONE;
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\r\n--";

/// A form; a name that ends with `!` is a file.
fn form(fields: &[(&str, &[u8])]) -> MultipartForm {
    let mut body = Vec::new();
    for (name, value) in fields {
        let (name, file) = match name.strip_suffix('!') {
            Some(name) => (name, "; filename=\"f\""),
            None => (*name, ""),
        };
        let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--b--\r\n");
    MultipartForm::parse(body.into(), "b").unwrap()
}

fn document(json: &Value) -> JsonDocument {
    JsonDocument::parse(Bytes::from(json.to_string()), &JsonLimits::default()).unwrap()
}

fn json_with(
    form: &MultipartForm,
    files: FileRepresentation<'_>,
    rewrite: ImageRequestRewrite<'_>,
) -> Value {
    serde_json::from_slice(&encode_json(form, files, rewrite).unwrap()).unwrap()
}

#[test]
fn a_form_is_converted_to_the_equivalent_json() {
    let form = form(&[
        ("model", b"m"),
        ("prompt", "a \"gate\" \u{2014} ä\n".as_bytes()),
        ("image[]!", PNG),
        ("image[]!", b"\xFF\xD8\xFF"),
        ("mask!", b"plain"),
        ("n", b"2"),
        ("stream", b"true"),
        ("response_format", b"url"),
        ("tags[]", b"x"),
    ]);
    assert_eq!(
        json_with(&form, FileRepresentation::DataUrls, AS_IT_IS),
        json!({
            "model": "m", "prompt": "a \"gate\" \u{2014} ä\n", "n": 2, "stream": true,
            "response_format": "url", "tags": ["x"],
            "images": [{"image_url": "data:image/png;base64,iVBORw0KGgoADQotLQ=="},
                {"image_url": "data:image/jpeg;base64,/9j/"}],
            "mask": {"image_url": "data:application/octet-stream;base64,cGxhaW4="},
        })
    );
    let rewrite = ImageRequestRewrite {
        model: Some("theirs"),
        keep_response_format: false,
    };
    let described = json_with(&form, FileRepresentation::StandIns, rewrite);
    assert_eq!(described["model"], "theirs");
    assert_eq!(
        described["images"][1]["image_url"],
        "data:image/png;base64,"
    );
    assert!(described.get("response_format").is_none());
}

#[test]
fn only_what_reads_as_a_number_or_a_truth_value_becomes_one() {
    for (name, text, value) in [
        ("n", "10", json!(10)),
        ("n", "-1", json!(-1)),
        ("n", "01", json!("01")),
        ("n", "1.5", json!("1.5")),
        ("n", "", json!("")),
        ("n", "99999999999999999999", json!("99999999999999999999")),
        ("output_compression", "0", json!(0)),
        ("partial_images", "3", json!(3)),
        ("stream", "false", json!(false)),
        ("stream", "True", json!("True")),
        ("size", "10", json!("10")),
        ("background", "opaque", json!("opaque")),
    ] {
        let form = form(&[("image!", PNG), (name, text.as_bytes())]);
        let json = json_with(&form, FileRepresentation::StandIns, AS_IT_IS);
        assert_eq!(json[name], value, "{name}={text}");
    }
}

#[test]
fn fields_that_two_readers_could_read_differently_are_refused_by_name() {
    type Fields = &'static [(&'static str, &'static [u8])];
    let cases: [(Fields, &str); 25] = [
        (&[], "image"),
        (
            &[("model", b"a"), ("image!", b""), ("model", b"b")],
            "model",
        ),
        (&[("image!", b""), ("image[0]!", b"")], "image"),
        (&[("image[0]!", b""), ("image!", b"")], "image"),
        (&[("image!", b""), ("image[]!", b"")], "image"),
        (&[("image[]!", b""), ("image!", b"")], "image"),
        (&[("image[]!", b""), ("image[0]!", b"")], "image"),
        (&[("image[1]!", b"")], "image[1]"),
        (&[("image[0]!", b""), ("image[2]!", b"")], "image[2]"),
        (&[("image[0]!", b""), ("image[0]!", b"")], "image[0]"),
        (&[("image[1]!", b""), ("image[0]!", b"")], "image[1]"),
        (&[("image[00]!", b"")], "image[00]"),
        (&[("image[0]", b"x")], "image[0]"),
        (&[("image!", b""), ("image[0][url]", b"x")], "image[0][url]"),
        (&[("image!", b""), ("model[0]", b"x")], "model[0]"),
        (
            &[("image!", b""), ("mask.image_url", b"x")],
            "mask.image_url",
        ),
        (&[("image!", b""), ("prompt[][a]", b"x")], "prompt[][a]"),
        (&[("image!", b""), ("mask!", b""), ("mask!", b"")], "mask"),
        (
            &[("image!", b""), ("tags", b"1"), ("tags[]", b"2")],
            "tags[]",
        ),
        (
            &[
                ("image!", b""),
                ("background!", b""),
                ("background", b"auto"),
            ],
            "background",
        ),
        (&[("image", b"https://x.example/a.png")], "image"),
        (&[("image!", b""), ("mask", b"x")], "mask"),
        (&[("image!", b""), ("prompt!", b"x")], "prompt"),
        (&[("image!", b""), ("images", b"x")], "images"),
        (&[("image!", b""), ("prompt", b"\xFF")], "prompt"),
    ];
    for (fields, param) in cases {
        let unfit = encode_json(&form(fields), FileRepresentation::StandIns, AS_IT_IS).unwrap_err();
        assert_eq!(unfit.param, param, "{fields:?}: {}", unfit.message);
    }
    let nested = form(&[("image!", b""), ("metadata[a]", b"x")]);
    assert_eq!(fits_json(&nested).unwrap_err().param, "metadata[a]");
    assert_eq!(fits_json(&form(&[("image[]!", b"")])), Ok(()));
}

#[test]
fn json_is_written_as_a_form_and_reads_back_the_same() {
    let request = json!({
        "model": "m", "prompt": "line\r\n\"quoted\" ä", "n": 2, "stream": false, "size": null,
        "images": [{"image_url": "data:image/png;base64,iVBORw0KGgoADQotLQ=="},
            {"image_url": "data:image/jpeg;base64,/9j/"}],
        "mask": {"image_url": "data:image/png;base64,iVBORw0KGgoADQotLQ"},
        "response_format": "url",
    });
    let rewrite = ImageRequestRewrite {
        model: Some("theirs"),
        keep_response_format: false,
    };
    let written = encode_form(&document(&request), rewrite, "req_12-34").unwrap();
    let boundary = written.content_type.split_once("boundary=").unwrap().1;
    let form = MultipartForm::parse(written.body, boundary).unwrap();
    let names: Vec<&str> = form.parts().iter().map(|part| &*part.name).collect();
    assert_eq!(
        names,
        [
            "image[]", "image[]", "mask", "model", "n", "prompt", "stream"
        ]
    );
    assert_eq!(form.value(&form.parts()[0]), PNG);
    assert_eq!(form.parts()[1].content_type.as_deref(), Some("image/jpeg"));
    assert_eq!(form.value(form.part("mask").unwrap()), PNG);
    let json = json_with(&form, FileRepresentation::DataUrls, AS_IT_IS);
    assert_eq!(json["prompt"], request["prompt"]);
    assert_eq!((&json["model"], &json["n"]), (&json!("theirs"), &json!(2)));
}

#[test]
fn a_boundary_that_a_file_contains_is_not_taken() {
    let text = "--headgate-seed-0 and headgate-seed-1";
    let request = json!({"prompt": text, "images": [{"image_url": "data:image/png;base64,"}]});
    let written = encode_form(&document(&request), AS_IT_IS, "seed").unwrap();
    assert!(written.content_type.ends_with("boundary=headgate-seed-2"));
}

#[test]
fn what_has_no_place_in_a_form_is_named() {
    let image = json!({"image_url": "data:image/png;base64,AAAA"});
    for (request, param) in [
        (
            json!({"images": [image, {"image_url": "https://x.example/a.png"}]}),
            "images[1].image_url",
        ),
        (
            json!({"images": [{"file_id": "file-1"}]}),
            "images[0].file_id",
        ),
        (
            json!({"images": [image], "mask": {"file_id": "file-1"}}),
            "mask.file_id",
        ),
        (
            json!({"images": [image], "metadata": {"a": "b"}}),
            "metadata",
        ),
        // To some parser each of these would be another field.
        (json!({"images": [image], "model\0": "x"}), "model\0"),
        (
            json!({"images": [image], "a\"; name=\"b": "x"}),
            "a\"; name=\"b",
        ),
        (json!({"images": [image], "mod%65l": "x"}), "mod%65l"),
        (json!({"images": [image], "model\\": "x"}), "model\\"),
        (json!({"images": [image], "model[]": "x"}), "model[]"),
        (json!({"images": [image], "image": "x"}), "image"),
        (
            json!({"images": [{"image_url": "data:a\r\nb;base64,AAAA"}]}),
            "images[0].image_url",
        ),
    ] {
        let unfit = fits_form(&document(&request)).unwrap_err();
        assert_eq!(unfit.param, param, "{}", unfit.message);
    }
    let broken = document(&json!({"images": [{"image_url": "data:image/png;base64,?"}]}));
    assert_eq!(fits_form(&broken), Ok(()));
    let unfit = encode_form(&broken, AS_IT_IS, "seed").unwrap_err();
    assert_eq!(unfit.param, "images[0].image_url");
}

fn completed(response: &Value, request: &Value) -> Value {
    let response = document(response);
    let mut edits = JsonEdits::default();
    complete(&mut edits, &response, &document(request), 7);
    serde_json::from_slice(&edits.apply(response.body()).to_bytes()).unwrap()
}

#[test]
fn an_answer_gets_what_the_protocol_promises_and_keeps_what_it_has() {
    let zeros = json!({"image_tokens": 0, "text_tokens": 0});
    let request = json!({"size": "auto", "quality": "low", "background": "x".repeat(65)});
    let response = completed(&json!({"data": []}), &request);
    assert_eq!(
        response,
        json!({"data": [], "created": 7, "size": "auto", "quality": "low", "usage": {
            "input_tokens": 0, "output_tokens": 0, "total_tokens": 0,
            "input_tokens_details": zeros, "output_tokens_details": zeros}})
    );
    let partly = json!({"created": 1, "size": "1024x1024", "quality": null, "usage":
        {"input_tokens": 3, "output_tokens": 4, "input_tokens_details": {"text_tokens": 3}}});
    let response = completed(&partly, &request);
    assert_eq!(
        response["usage"],
        json!({"input_tokens": 3, "output_tokens": 4, "total_tokens": 7,
        "input_tokens_details": {"text_tokens": 3, "image_tokens": 0}, "output_tokens_details": zeros})
    );
    assert_eq!(
        (&response["created"], &response["size"]),
        (&json!(1), &json!("1024x1024"))
    );
    assert_eq!(response["quality"], "low");
    assert_eq!(completed(&response, &request), response);
    assert_eq!(completed(&json!([1]), &request), json!([1]));
}

#[test]
fn images_in_a_mismatched_format_are_found() {
    let response = document(
        &json!({"data": [{"url": "https://x.example/1"}, {"b64_json": "AAAA"},
        {"url": "https://x.example/2", "b64_json": ""}, {"url": "u", "b64_json": "b"}, {}]}),
    );
    let urls = |wanted: RequestedImageDelivery| {
        let found = wanted.mismatched_images(&response);
        found
            .iter()
            .map(|unlike| unlike.url.as_deref().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let url = |n: u8| Some(format!("https://x.example/{n}"));
    assert_eq!(urls(RequestedImageDelivery::Base64), [url(1), url(2)]);
    assert_eq!(urls(RequestedImageDelivery::Url), [None]);
    let mut edits = JsonEdits::default();
    for unlike in RequestedImageDelivery::Base64.mismatched_images(&response) {
        unlike.inline(&mut edits, "\"QQ==\"".into());
    }
    let response: Value = serde_json::from_slice(&edits.apply(response.body()).to_bytes()).unwrap();
    assert_eq!(response["data"][0], json!({"b64_json": "QQ=="}));
    assert_eq!(response["data"][2], json!({"b64_json": "QQ=="}));
    for (format, wanted) in [
        ("url", Some(RequestedImageDelivery::Url)),
        ("b64_json", Some(RequestedImageDelivery::Base64)),
        ("x", None),
    ] {
        let request = document(&json!({"response_format": format}));
        assert_eq!(RequestedImageDelivery::requested_by(&request), wanted);
    }
}

#[test]
fn several_images_are_a_list_under_each_of_their_names() {
    for names in [
        ["image[]!", "image[]!"],
        ["image!", "image!"],
        ["image[0]!", "image[1]!"],
    ] {
        let form = form(&[("model", b"m"), (names[0], PNG), (names[1], b"two")]);
        let json = json_with(&form, FileRepresentation::DataUrls, AS_IT_IS);
        let images = json["images"].as_array().unwrap();
        assert_eq!(images.len(), 2, "{names:?}");
        assert!(images[1]["image_url"].as_str().unwrap().ends_with("dHdv"));
        assert_eq!(fits_json(&form), Ok(()));
        let mut edits = JsonEdits::default();
        name_as_list(&form, &mut edits);
        let sent = edits.apply(form.body()).to_bytes();
        let sent = MultipartForm::parse(sent, "b").unwrap();
        let sent: Vec<&str> = sent.parts().iter().map(|part| &*part.name).collect();
        assert_eq!(sent, ["model", "image[]", "image[]"], "{names:?}");
        let field = |index| field_of_image(&form, index).to_owned();
        assert_eq!(field(Some(1)), names[1].trim_end_matches('!'));
        assert_eq!(field(None) == "image[]", names[0] == "image[]!");
    }
    let unquoted =
        "--b\r\nContent-Disposition: form-data; name=image; filename=a\r\n\r\n1\r\n".repeat(2);
    let form = MultipartForm::parse(format!("{unquoted}--b--").into(), "b").unwrap();
    let mut edits = JsonEdits::default();
    name_as_list(&form, &mut edits);
    let sent = edits.apply(form.body()).to_bytes();
    assert_eq!(
        MultipartForm::parse(sent, "b").unwrap().parts()[1].name,
        "image[]"
    );
}

#[test]
fn an_image_by_itself_keeps_its_name_unless_it_is_an_index() {
    for (name, sent) in [
        ("image!", "image"),
        ("image[]!", "image[]"),
        ("image[0]!", "image[]"),
    ] {
        let form = form(&[(name, PNG)]);
        let mut edits = JsonEdits::default();
        name_as_list(&form, &mut edits);
        let body = edits.apply(form.body()).to_bytes();
        assert_eq!(
            MultipartForm::parse(body, "b").unwrap().parts()[0].name,
            sent
        );
    }
}

#[test]
fn the_images_of_a_response_are_counted() {
    for (body, count) in [
        (r#"{"data": []}"#, Some(0)),
        (
            r#"{"created": 1, "data": [{"b64_json": "a,]b"}, {"url": "x"}], "usage": {"data": [1]}}"#,
            Some(2),
        ),
        (r#"{"data": {"b64_json": "a"}}"#, None),
        (r#"{"error": {"data": [1]}}"#, None),
        ("data", None),
    ] {
        assert_eq!(super::image_count(body.as_bytes()), count, "{body}");
    }
}

#[test]
fn only_the_last_event_of_an_image_counts() {
    for (name, data, counts) in [
        (Some("image_edit.completed"), "{}", true),
        (Some("image_generation.completed"), "{}", true),
        (
            Some("image_edit.partial_image"),
            r#"{"type": "image_edit.completed"}"#,
            false,
        ),
        (
            None,
            r#"{"b64_json": "a", "type": "image_edit.completed"}"#,
            true,
        ),
        (None, r#"{"type": "image_edit.partial_image"}"#, false),
        (None, "[DONE]", false),
    ] {
        let is_last = super::is_image_event(name.map(str::as_bytes), data.as_bytes());
        assert_eq!(is_last, counts, "{name:?} {data}");
    }
}

//! Tests of image edits in JSON and as a form, whole and as a stream of partial images.

use super::{ReadResponse, post, request, send, simulator, with};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const PATH: &str = "/v1/images/edits";

fn body() -> Value {
    json!({"model": "image-1", "prompt": "Add a boat", "size": "1024x1536", "quality": "low",
        "images": [{"image_url": "https://example.com/a.png"}]})
}

fn image(base64: &Value) -> Vec<u8> {
    STANDARD.decode(base64.as_str().unwrap()).unwrap()
}

async fn post_form(fields: &[(&str, &str)]) -> (ReadResponse, Value) {
    let simulator = simulator();
    let mut form: String = fields
        .iter()
        .map(|(name, value)| {
            let file = if name.starts_with("image") {
                "; filename=\"a.png\""
            } else {
                ""
            };
            format!(
                "--b\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n"
            )
        })
        .collect();
    form.push_str("--b--\r\n");
    let mut request = request("POST", PATH, form);
    let content_type = "multipart/form-data; boundary=b".parse().unwrap();
    request.headers_mut().insert("content-type", content_type);
    let seen = send(&simulator, request).await;
    let records = super::get(&simulator, "/_simulate/requests").await.json();
    (seen, records[0].clone())
}

#[tokio::test]
async fn an_edit_is_answered_with_a_png_and_its_usage() {
    let simulator = simulator();
    let json = post(&simulator, PATH, &with(&body(), &json!({"n": 2})))
        .await
        .json();
    let data = json["data"].as_array().unwrap();
    assert_eq!(data.len(), 2);
    let image = image(&data[0]["b64_json"]);
    assert!(image.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(image[16..24], [0, 0, 4, 0, 0, 0, 6, 0]);
    let reported = ["size", "quality", "background", "output_format"].map(|name| &json[name]);
    assert_eq!(reported, ["1024x1536", "low", "opaque", "png"]);
    let usage = &json["usage"];
    let number = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(
        number("total_tokens"),
        number("input_tokens") + number("output_tokens")
    );
    assert_eq!(usage["input_tokens_details"]["image_tokens"], 323);
}

#[tokio::test]
async fn a_form_is_read_as_the_sdks_write_it() {
    let (seen, record) = post_form(&[
        ("model", "image-1"),
        ("prompt", "Add a boat"),
        ("image[]", "\u{89}PNG 1"),
        ("image[]", "\u{89}PNG 2"),
        ("n", "2"),
        ("quality", "high"),
    ])
    .await;
    assert_eq!(seen.status, 200);
    let json = seen.json();
    assert_eq!(json["data"].as_array().unwrap().len(), 2);
    assert_eq!(json["usage"]["input_tokens_details"]["image_tokens"], 646);
    assert_eq!(
        (&record["endpoint"], &record["model"]),
        (&json!("images.edit"), &json!("image-1"))
    );
    let (seen, _) = post_form(&[
        ("prompt", "x"),
        ("image", "y"),
        ("stream", "true"),
        ("partial_images", "1"),
    ])
    .await;
    assert_eq!(
        seen.names(),
        ["image_edit.partial_image", "image_edit.completed"]
    );
}

#[tokio::test]
async fn a_stream_has_its_partial_images_and_then_the_whole_one() {
    let simulator = simulator();
    for count in 0..=3_usize {
        let body = with(&body(), &json!({"stream": true, "partial_images": count}));
        let events = post(&simulator, PATH, &body).await.events();
        let (completed, partial) = events.split_last().unwrap();
        assert_eq!(partial.len(), count);
        for (index, (name, data)) in partial.iter().enumerate() {
            assert_eq!(
                (name.as_str(), &data["type"]),
                ("image_edit.partial_image", &json!(name))
            );
            assert_eq!(data["partial_image_index"], index);
        }
        assert_eq!(completed.0, "image_edit.completed");
        assert!(completed.1["usage"]["total_tokens"].is_u64());
        assert!(image(&completed.1["b64_json"]).starts_with(b"\x89PNG"));
    }
}

#[tokio::test]
async fn directives_shape_the_answer() {
    let simulator = simulator();
    let large = post(
        &simulator,
        &format!("/~body_bytes=3000000;no_usage{PATH}"),
        &body(),
    )
    .await
    .json();
    assert_eq!(image(&large["data"][0]["b64_json"]).len(), 3_000_000);
    assert!(large.get("usage").is_none());
    let path = format!("/~takes_response_format{PATH}");
    let url = post(
        &simulator,
        &path,
        &with(&body(), &json!({"response_format": "url"})),
    )
    .await
    .json();
    let url = url["data"][0]["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix("http://localhost").unwrap();
    let picture = super::get(&simulator, path).await;
    assert_eq!(
        (picture.status, &picture.headers["content-type"]),
        (200, &"image/png".parse().unwrap())
    );
    let stream = with(&body(), &json!({"stream": true, "partial_images": 2}));
    let broken = post(&simulator, &format!("/~error_event_after=1{PATH}"), &stream).await;
    assert_eq!(broken.names(), ["image_edit.partial_image", "error"]);
    assert!(broken.events()[1].1["error"]["message"].is_string());
    let cut = post(&simulator, &format!("/~cut_after=1{PATH}"), &stream).await;
    assert!(cut.was_cut);
}

#[tokio::test]
async fn what_the_real_provider_refuses_is_refused() {
    let simulator = simulator();
    for (more, param, code) in [
        (
            json!({"response_format": "url"}),
            "response_format",
            "unknown_parameter",
        ),
        (
            json!({"response_format": "b64_json"}),
            "response_format",
            "unknown_parameter",
        ),
        (
            json!({"prompt": ""}),
            "prompt",
            "missing_required_parameter",
        ),
        (
            json!({"images": []}),
            "images",
            "missing_required_parameter",
        ),
        (
            json!({"images": [{"image_url": "x", "file_id": "y"}]}),
            "images",
            "invalid_value",
        ),
        (json!({"n": 11}), "n", "invalid_value"),
        (
            json!({"partial_images": 4}),
            "partial_images",
            "invalid_value",
        ),
    ] {
        let seen = post(&simulator, PATH, &with(&body(), &more)).await;
        let error = &seen.json()["error"];
        assert_eq!(seen.status, 400, "{more}");
        assert_eq!(
            (&error["param"], &error["code"]),
            (&json!(param), &json!(code)),
            "{more}"
        );
    }
    let stranger = with(&body(), &json!({"images": [{"file_id": "file-never"}]}));
    assert_eq!(post(&simulator, PATH, &stranger).await.status, 404);
}

//! Tests of what images of an edit contain: nothing but images is sent, and paid for.

use crate::harness::error_shape::assert_error_body;
use crate::harness::images::{FIELDS, MODEL, PATH, PNG, PNG_BASE64, form, image_config, json_body};
use crate::harness::{Gateway, Request, Simulator};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Contents that are no images.
const OTHERS: [&[u8]; 6] = [
    b"",
    b"a picture of a gate",
    b"\0\x01\x02\x03\x04\x05\x06\x07 garbage",
    b"%PDF-1.7\n",
    b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42",
];

#[tokio::test]
async fn what_is_no_image_is_refused_before_it_is_paid_for() {
    let simulator = Simulator::start().await;
    for format in ["unchanged", "json", "multipart"] {
        let image_edit = match format {
            "unchanged" => json!({}),
            format => json!({"body": format}),
        };
        let gateway = Gateway::start(&image_config(&simulator, "", image_edit)).await;
        for other in OTHERS {
            let file = form(&[
                ("image[]!", PNG),
                ("image[]!", other),
                ("model", MODEL.as_bytes()),
                ("prompt", b"x"),
            ]);
            let uri = format!("data:image/png;base64,{}", STANDARD.encode(other));
            let (mut image, mut mask) = (json_body(), json_body());
            image["images"][0]["image_url"] = json!(uri);
            mask["mask"]["image_url"] = json!(uri);
            for (request, field) in [
                (file, "image[]"),
                (
                    Request::post(PATH, image.to_string()),
                    "images[0].image_url",
                ),
                (Request::post(PATH, mask.to_string()), "mask.image_url"),
            ] {
                let refused = gateway.ask(&request).await;
                let message = assert_error_body(Protocol::ImageEdit, &refused, 400);
                assert!(message.contains("must be an image"), "{format}: {message}");
                assert_eq!(refused.json()["error"]["param"], field, "{message}");
            }
        }
        let mut body = json_body();
        body["images"][0]["image_url"] = json!("data:image/png;base64,iVBOR*w0");
        let refused = gateway.ask(&Request::post(PATH, body.to_string())).await;
        let message = assert_error_body(Protocol::ImageEdit, &refused, 400);
        assert!(message.contains("base64"), "{message}");
    }
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn data_uris_of_every_spelling_reach_the_provider_in_one() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    for head in [
        "data:image/png;base64,",
        "DATA:image/PNG;Base64,",
        "data:image/png;charset=utf-8;base64,",
        "data:image/png;name=\"a, b.png\";base64,",
    ] {
        let mut body = json_body();
        body["images"][0]["image_url"] = json!(format!("{head}{PNG_BASE64}"));
        let edited = gateway.ask(&Request::post(PATH, body.to_string())).await;
        assert_eq!(edited.status, 200, "{head}: {}", edited.text());
        let sent: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        let expected = format!("data:image/png;base64,{PNG_BASE64}");
        assert_eq!(sent["images"][0]["image_url"], expected, "{head}");
    }
    let edited = gateway.ask(&form(FIELDS)).await;
    assert_eq!(edited.status, 200, "{}", edited.text());
}

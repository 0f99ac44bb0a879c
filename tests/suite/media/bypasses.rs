//! Tests of data URIs in places, roles and spellings that checks could miss.

use crate::harness::free_port::free_port;
use crate::harness::media::{create_with, data_uri, downloads, file, media_config, start};
use crate::harness::video::{FAMILY_A, FAMILY_B, creates};
use crate::harness::{Gateway, Request, Simulator};
use serde_json::json;

#[tokio::test]
async fn the_lists_and_fields_of_older_generations_are_checked_too() {
    let (simulator, gateway) = start().await;
    let video = data_uri("video/mp4", &file("video", 100_000, 1));
    let audio = data_uri("audio/wav", &file("audio", 100_000, 2));
    let body = json!({"model": "demo-video-b", "input": {
        "prompt": "a gate", "reference_video_urls": ["https://x.example/a.mp4", video], "audio_url": audio,
    }});
    let made = gateway
        .ask(&Request::post(FAMILY_B, body.to_string()))
        .await;
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(downloads(&simulator, 2).await.len(), 2);
    let sent = String::from_utf8(simulator.last_create_body().await).unwrap();
    assert!(!sent.contains("base64"), "{sent:.200}");
    for (input, param) in [
        (
            json!({"prompt": "a", "reference_video_urls": ["https://x.example/a.mp4", audio]}),
            "input.reference_video_urls[1]",
        ),
        (
            json!({"prompt": "a", "audio_url": video}),
            "input.audio_url",
        ),
    ] {
        let body = json!({"model": "demo-video-b", "input": input});
        let refused = gateway
            .ask(&Request::post(FAMILY_B, body.to_string()))
            .await;
        assert_eq!(refused.status, 400, "{param}: {}", refused.text());
        assert!(
            refused.text().contains(&format!("`{param}`")),
            "{}",
            refused.text()
        );
    }
    assert_eq!(creates(&simulator).await, 1);
}

#[tokio::test]
async fn data_uris_in_unknown_roles_and_fields_are_a_400() {
    let (simulator, gateway) = start().await;
    let video = data_uri("video/mp4", &file("video", 100_000, 1));
    for (path, body, param) in [
        (
            FAMILY_A,
            json!({"model": "demo-video-a", "content": [
                {"type": "video_url", "video_url": {"url": video}, "role": "subject"},
            ]}),
            "content[0].video_url.url",
        ),
        (
            FAMILY_B,
            json!({"model": "demo-video-b", "input": {"prompt": "a gate", "scenes": [{"film": video}]}}),
            "input.scenes[0].film",
        ),
        (
            FAMILY_B,
            json!({"model": "demo-video-b", "input": {"prompt": "a gate"}, "extra": format!(" \t{video}")}),
            "extra",
        ),
    ] {
        let refused = gateway.ask(&Request::post(path, body.to_string())).await;
        assert_eq!(refused.status, 400, "{param}: {}", refused.text());
        let text = refused.text();
        assert!(
            text.contains(param) && !text.contains("base64"),
            "{param}: {text}"
        );
    }
    assert_eq!(creates(&simulator).await, 0);
}

#[tokio::test]
async fn spellings_that_url_parsers_accept_are_data_uris_also_on_routes_without_validate() {
    let simulator = Simulator::start().await;
    let mut config = media_config(&simulator, free_port());
    for route in config["routes"].as_array_mut().unwrap() {
        let filters = route["request"].as_array_mut().unwrap();
        filters.retain(|filter| filter != "validate");
    }
    let gateway = Gateway::start(&config).await;
    let video = data_uri("video/mp4", &file("video", 1000, 1));
    let html = data_uri("text/html", &file("image", 1000, 1));
    let spellings = [
        video.clone(),
        format!(" {video}"),
        format!("\t\n\u{1}{video}"),
        video.replacen("data:", "da\nta:", 1),
        video.replacen("data:", "DATA:", 1),
        video.replacen(";base64", ";BASE64", 1),
        video.replacen("mp4;", "mp4;codecs=avc1;", 1),
    ];
    for url in &spellings {
        let body = create_with(FAMILY_B, "demo-video-b", "reference_video", url);
        let made = gateway
            .ask(&Request::post(FAMILY_B, body.to_string()))
            .await;
        assert_eq!(made.status, 200, "{url:.40}: {}", made.text());
        let sent = String::from_utf8(simulator.last_create_body().await).unwrap();
        assert!(sent.contains("/_headgate/media/"), "{url:.40}: {sent:.200}");
        let body = create_with(FAMILY_B, "demo-video-b", "reference_image", url);
        let refused = gateway
            .ask(&Request::post(FAMILY_B, body.to_string()))
            .await;
        assert_eq!(refused.status, 400, "{url:.40}: {}", refused.text());
    }
    for (path, model) in [(FAMILY_A, "demo-video-a"), (FAMILY_B, "demo-video-b")] {
        let body = create_with(path, model, "reference_image", &html);
        let refused = gateway.ask(&Request::post(path, body.to_string())).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text());
        assert!(refused.text().contains("media type"), "{}", refused.text());
    }
    assert_eq!(creates(&simulator).await, spellings.len());
}

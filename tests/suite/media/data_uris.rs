//! Tests of data URIs in creates: what is stored, what passes, and what is refused.

use crate::harness::config::sha256;
use crate::harness::free_port::free_port;
use crate::harness::media::{CREATES, create_with, data_uri, downloads, file, media_config, start};
use crate::harness::video::{FAMILY_A, FAMILY_B, GENERIC, creates};
use crate::harness::{Gateway, Request, Simulator};
use serde_json::{Value, json};

#[tokio::test]
async fn a_data_uri_reaches_the_provider_as_a_url_of_the_same_bytes() {
    let (simulator, gateway) = start().await;
    let mut expected = Vec::new();
    for (number, (path, model)) in CREATES.into_iter().enumerate() {
        let content = file("video", 300_000, number as u8);
        let body = create_with(
            path,
            model,
            "reference_video",
            &data_uri("video/mp4", &content),
        );
        let made = gateway.ask(&Request::post(path, body.to_string())).await;
        assert_eq!(made.status, 200, "{path} {model}: {}", made.text());
        expected.push(sha256(&content));
        let sent = String::from_utf8(simulator.last_create_body().await).unwrap();
        assert!(
            sent.contains("/_headgate/media/") && !sent.contains("base64"),
            "{sent}"
        );
        assert!(sent.contains(&format!("upstream-{model}")), "{sent}");
    }
    let mut received: Vec<String> = downloads(&simulator, CREATES.len())
        .await
        .iter()
        .map(|file| {
            assert_eq!(file["status"], 200, "{file}");
            assert_eq!(file["content_type"], "video/mp4", "{file}");
            file["sha256"].as_str().unwrap().to_owned()
        })
        .collect();
    expected.sort();
    received.sort();
    assert_eq!(received, expected);
}

#[tokio::test]
async fn every_place_of_family_b_takes_data_uris() {
    let (simulator, gateway) = start().await;
    let image = data_uri("image/png", &file("image", 1000, 1));
    let audio = data_uri("audio/wav", &file("audio", 1000, 2));
    let pdf = data_uri("application/pdf", &file("document", 1000, 3));
    let text = data_uri("text/markdown", "# Ein größerer Plan".as_bytes());
    let mut count = 0;
    for (files, input) in [
        (
            2,
            json!({"media": [{"type": "first_frame", "url": image}, {"type": "last_frame", "url": image}]}),
        ),
        (
            2,
            json!({"media": [{"type": "reference_image", "url": image}, {"type": "reference_audio", "url": audio}]}),
        ),
        (1, json!({"media": [{"type": "file", "url": pdf}]})),
        (1, json!({"media": [{"type": "file", "url": text}]})),
        (1, json!({"img_url": image})),
        (
            2,
            json!({"first_frame_url": image, "last_frame_url": image}),
        ),
    ] {
        let body = json!({"model": "demo-video-b", "input": input});
        let made = gateway
            .ask(&Request::post(FAMILY_B, body.to_string()))
            .await;
        assert_eq!(made.status, 200, "{}", made.text());
        count += files;
    }
    let files = downloads(&simulator, count).await;
    assert_eq!(files.len(), count);
    assert!(files.iter().all(|file| file["status"] == 200), "{files:?}");
    let stored = std::fs::read_dir(gateway.folder.path().join("media")).unwrap();
    let stored: usize = stored
        .map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count())
        .sum();
    assert_eq!(stored, 4, "the same bytes are stored once");
}

#[tokio::test]
async fn images_and_audio_for_family_a_pass_as_they_are() {
    let (simulator, gateway) = start().await;
    for (role, media_type, kind) in [
        ("first_frame", "image/png", "image"),
        ("reference_audio", "audio/wav", "audio"),
    ] {
        let uri = data_uri(media_type, &file(kind, 1000, 1));
        let body = match role {
            "reference_audio" => json!({"model": "demo-video-a", "content": [
                {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}, "role": "reference_image"},
                {"type": "audio_url", "audio_url": {"url": uri}, "role": role},
            ]}),
            _ => create_with(FAMILY_A, "demo-video-a", role, &uri),
        };
        let made = gateway
            .ask(&Request::post(FAMILY_A, body.to_string()))
            .await;
        assert_eq!(made.status, 200, "{role}: {}", made.text());
        let sent = String::from_utf8(simulator.last_create_body().await).unwrap();
        assert!(sent.contains(&uri), "{role}");
    }
}

#[tokio::test]
async fn data_uris_of_every_spelling_are_taken_and_reach_the_provider_in_one() {
    let (simulator, gateway) = start().await;
    let plain = data_uri("image/png", &file("image", 1000, 1));
    let payload = plain.split_once(',').unwrap().1;
    for head in [
        "DATA:image/PNG;Base64",
        "data:image/png;charset=utf-8;base64",
        "data:image/png;name=\"a, b.png\";base64",
    ] {
        for (path, model) in CREATES {
            let uri = format!("{head},{payload}");
            let body = create_with(path, model, "first_frame", &uri);
            let made = gateway.ask(&Request::post(path, body.to_string())).await;
            assert_eq!(made.status, 200, "{path} {head}: {}", made.text());
            let sent = String::from_utf8(simulator.last_create_body().await).unwrap();
            let is_hosted = model == "demo-video-b";
            assert_eq!(sent.contains(&plain), !is_hosted, "{path} {head}: {sent}");
            assert!(!sent.contains(head), "{path} {head}: {sent}");
        }
    }
}

#[tokio::test]
async fn what_is_not_of_its_role_is_refused_before_anything_is_sent() {
    let (simulator, gateway) = start().await;
    let video = file("video", 1000, 1);
    let image = file("image", 1000, 1);
    for (role, uri, status, reason) in [
        (
            "reference_image",
            data_uri("video/mp4", &video),
            400,
            "for an image",
        ),
        (
            "reference_image",
            data_uri("image/png", &video),
            400,
            "its content is a video",
        ),
        (
            "reference_video",
            data_uri("video/mp4", &image),
            400,
            "its content is an image",
        ),
        (
            "reference_audio",
            data_uri("audio/mp3", b"no sound"),
            400,
            "none of the formats",
        ),
        (
            "reference_image",
            "data:image/png;base64,AA*A".into(),
            400,
            "base64",
        ),
        (
            "reference_image",
            "data:image/png,abc".into(),
            400,
            "base64",
        ),
        (
            "reference_image",
            data_uri("image/png", &file("image", (20 << 20) + 1, 1)),
            413,
            "20MiB",
        ),
        (
            "reference_audio",
            data_uri("audio/wav", &file("audio", (15 << 20) + 1, 1)),
            413,
            "15MiB",
        ),
    ] {
        let body = create_with(GENERIC, "demo-video-b", role, &uri);
        let refused = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
        assert_eq!(refused.status, status, "{role}: {}", refused.text());
        let error = &refused.json()["error"];
        assert_eq!(error["param"], "medias[0].url", "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(reason), "{message}");
    }
    let document = |media_type: &str, content: &[u8]| json!({"model": "demo-video-b", "input": {"media": [{"type": "file", "url": data_uri(media_type, content)}]}});
    for (body, reason) in [
        (document("text/plain", b"\xff\xfe text"), "UTF-8"),
        (
            document("application/pdf", b"no pdf"),
            "none of the formats",
        ),
        (document("application/pdf", b"PK\x03\x04"), "another format"),
    ] {
        let refused = gateway
            .ask(&Request::post(FAMILY_B, body.to_string()))
            .await;
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(refused.text().contains(reason), "{}", refused.text());
    }
    assert_eq!(creates(&simulator).await, 0);
}

#[tokio::test]
async fn files_of_exactly_the_largest_size_are_stored() {
    let (simulator, gateway) = start().await;
    let content = file("image", 20 << 20, 5);
    let body = create_with(
        FAMILY_B,
        "demo-video-b",
        "reference_image",
        &data_uri("image/png", &content),
    );
    let made = gateway
        .ask(&Request::post(FAMILY_B, body.to_string()))
        .await;
    assert_eq!(made.status, 200, "{}", made.text());
    let files = downloads(&simulator, 1).await;
    assert_eq!(files[0]["sha256"], sha256(&content), "{files:?}");
    assert_eq!(files[0]["bytes"], 20 << 20);
}

#[tokio::test]
async fn escapes_in_the_base64_are_resolved_and_other_edits_kept() {
    let (simulator, gateway) = start().await;
    let content = file("image", 50_000, 9);
    let uri = data_uri("image/png", &content)
        .replace('/', r"\/")
        .replacen('A', r"\u0041", 5);
    let body = format!(
        r#"{{"model": "demo-video-b", "input": {{"media": [{{"url": "{uri}", "type": "first_frame"}}], "prompt": "a \"gate\""}}, "extra":  1.50 }}"#
    );
    let made = gateway.ask(&Request::post(FAMILY_B, body)).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let files = downloads(&simulator, 1).await;
    assert_eq!(files[0]["sha256"], sha256(&content), "{files:?}");
    let sent = String::from_utf8(simulator.last_create_body().await).unwrap();
    assert!(
        sent.ends_with(r#""prompt": "a \"gate\""}, "extra":  1.50 }"#),
        "{sent}"
    );
    assert!(
        sent.starts_with(r#"{"model": "upstream-demo-video-b", "input""#),
        "{sent}"
    );
}

#[tokio::test]
async fn without_a_public_url_only_images_pass() {
    let simulator = Simulator::start().await;
    let mut config = media_config(&simulator, free_port());
    config["server"]
        .as_object_mut()
        .unwrap()
        .remove("public_url");
    let gateway = Gateway::start(&config).await;
    let image = data_uri("image/png", &file("image", 1000, 1));
    let video = data_uri("video/mp4", &file("video", 1000, 1));
    let body = create_with(FAMILY_B, "demo-video-b", "first_frame", &image);
    let made = gateway
        .ask(&Request::post(FAMILY_B, body.to_string()))
        .await;
    assert_eq!(made.status, 200, "{}", made.text());
    let sent = String::from_utf8(simulator.last_create_body().await).unwrap();
    assert!(sent.contains(&image));
    for (path, model) in CREATES {
        let body = create_with(path, model, "reference_video", &video);
        let refused = gateway.ask(&Request::post(path, body.to_string())).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text());
        assert!(
            refused.text().contains("not available here"),
            "{}",
            refused.text()
        );
        let line = gateway.log_of(&refused).await;
        let detail = line["error_detail"].as_str().unwrap_or_default();
        assert!(detail.contains("server.public_url"), "{line}");
    }
    assert_eq!(creates(&simulator).await, 1);
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_a_503_and_nothing_is_sent() {
    let simulator = Simulator::start().await;
    let mut config = media_config(&simulator, free_port());
    config["media"] = json!({"directory": "routes.yaml"});
    let gateway = Gateway::start(&config).await;
    let video = data_uri("video/mp4", &file("video", 1000, 1));
    for (path, model) in CREATES {
        let body = create_with(path, model, "reference_video", &video);
        let refused = gateway.ask(&Request::post(path, body.to_string())).await;
        assert_eq!(refused.status, 503, "{path}: {}", refused.text());
        assert!(refused.headers.get("retry-after").is_some());
    }
    assert_eq!(creates(&simulator).await, 0);
}

#[tokio::test]
async fn oss_urls_get_the_header_that_the_provider_requires() {
    let (simulator, gateway) = start().await;
    let enabled = json!("enable");
    for (input, header) in [
        (
            json!({"media": [{"type": "first_frame", "url": "oss://bucket/a.png"}]}),
            &enabled,
        ),
        (
            json!({"media": [{"type": "reference_image", "url": "https://x.example/a.png"}, {"type": "reference_video", "url": "oss://bucket/a.mp4"}]}),
            &enabled,
        ),
        (json!({"img_url": "oss://bucket/a.png"}), &enabled),
        (
            json!({"first_frame_url": "https://x.example/a.png", "last_frame_url": "oss://bucket/a.png"}),
            &enabled,
        ),
        (json!({"img_url": "https://x.example/a.png"}), &Value::Null),
        (json!({"prompt": "oss://bucket/a.png"}), &Value::Null),
    ] {
        let body = json!({"model": "demo-video-b", "input": input});
        let made = gateway
            .ask(&Request::post(FAMILY_B, body.to_string()))
            .await;
        assert_eq!(made.status, 200, "{}", made.text());
        let record = simulator.last().await;
        assert_eq!(
            &record["headers"]["x-dashscope-ossresourceresolve"], header,
            "{body}"
        );
    }
}

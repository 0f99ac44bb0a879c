//! Tests of the media store in a bucket of a real S3 server, which checks the signatures of requests.

use crate::harness::config::{sha256, standard};
use crate::harness::free_port::free_port;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::media::{
    CREATES, create_with, data_uri, downloads, file, media_config, path_of_url,
};
use crate::harness::process::Process;
use crate::harness::s3::S3Server;
use crate::harness::video::{FAMILY_B, creates};
use crate::harness::{Gateway, Request, Simulator, eventually};
use serde_json::{Value, json};

fn config(simulator: &Simulator, media: Value) -> Value {
    let mut config = media_config(simulator, free_port());
    config["media"] = media;
    config
}

/// Sends a video by the route of family B, and returns the status of the create.
async fn create(gateway: &Gateway, content: &[u8]) -> u16 {
    let uri = data_uri("video/mp4", content);
    let body = create_with(FAMILY_B, "demo-video-b", "reference_video", &uri);
    let request = Request::post(FAMILY_B, body.to_string());
    gateway.ask(&request).await.status
}

#[tokio::test]
async fn a_bucket_serves_providers_through_the_gateway_and_by_presigned_urls() {
    let server = S3Server::start();
    for is_presigned in [false, true] {
        let simulator = Simulator::start().await;
        let mut config = config(&simulator, server.media(is_presigned));
        if is_presigned {
            config["server"]
                .as_object_mut()
                .unwrap()
                .remove("public_url");
        }
        let gateway = Gateway::start(&config).await;
        let mut expected = Vec::new();
        for (number, (path, model)) in CREATES.into_iter().enumerate() {
            // Below and above the size of one part.
            let content = file("video", [300_000, 12_000_000][number % 2], number as u8);
            let uri = data_uri("video/mp4", &content);
            let body = create_with(path, model, "reference_video", &uri);
            let made = gateway.ask(&Request::post(path, body.to_string())).await;
            assert_eq!(made.status, 200, "{path} {model}: {}", made.text());
            expected.push(sha256(&content));
        }
        let mut received = Vec::new();
        for file in downloads(&simulator, CREATES.len()).await {
            assert_eq!(file["status"], 200, "{file}");
            assert_eq!(file["content_type"], "video/mp4", "{file}");
            let url = file["url"].as_str().unwrap();
            assert_eq!(url.starts_with(server.endpoint()), is_presigned, "{url}");
            received.push(file["sha256"].as_str().unwrap().to_owned());
        }
        expected.sort();
        received.sort();
        assert_eq!(received, expected);
    }
}

#[tokio::test]
async fn ranges_of_objects_in_a_bucket_are_served() {
    let server = S3Server::start();
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator, server.media(false))).await;
    let content = file("video", 6_000_000, 9);
    assert_eq!(create(&gateway, &content).await, 200);
    let files = downloads(&simulator, 1).await;
    let path = path_of_url(files[0]["url"].as_str().unwrap());
    for (range, part) in [
        ("bytes=10-19", &content[10..20]),
        ("bytes=1000000-4999999", &content[1_000_000..5_000_000]),
        ("bytes=-7", &content[5_999_993..]),
    ] {
        let request = Request::get(&path).header("Range", range);
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 206, "{range}");
        assert!(
            response.body == part,
            "{range}: {} bytes",
            response.body.len()
        );
    }
    let metrics = gateway.metrics().await;
    assert_eq!(metrics.sum("headgate_media_objects", &[]), 1.0);
    assert_eq!(metrics.sum("headgate_media_bytes", &[]), 6_000_000.0);
    let written = metrics.sum("headgate_media_writes_total", &[("outcome", "stored")]);
    assert_eq!(written, 1.0);
}

#[tokio::test]
async fn a_bucket_that_fails_costs_nothing() {
    let mut server = S3Server::start();
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator, server.media(true))).await;
    for (number, status) in [503, 500, 403].into_iter().enumerate() {
        server.force(status);
        for size in [1000, 6_000_000] {
            let content = file("video", size, number as u8);
            assert_eq!(create(&gateway, &content).await, 503, "{status} {size}");
        }
    }
    assert_eq!(creates(&simulator).await, 0);
    server.force(0);
    assert_eq!(create(&gateway, &file("video", 6_000_000, 0)).await, 200);
    let unwritten = gateway.metrics().await;
    let failed = unwritten.sum("headgate_media_writes_total", &[("outcome", "failed")]);
    assert_eq!(failed, 6.0);
    drop(server);
    assert_eq!(create(&gateway, &file("video", 1000, 7)).await, 503);
    assert_eq!(creates(&simulator).await, 1);
}

#[tokio::test]
async fn check_warns_of_a_bucket_that_cannot_be_written() {
    let server = S3Server::start();
    let simulator = Simulator::start().await;
    let mut wrong_key = server.media(true);
    wrong_key["s3"]["secret_access_key"] = json!("not-the-secret-of-this-key");
    let mut nobody = server.media(true);
    nobody["s3"]["endpoint"] = json!(format!("http://127.0.0.1:{}", free_port()));
    for (media, warning) in [
        (server.media(true), None),
        (wrong_key, Some("SignatureDoesNotMatch")),
        (nobody, Some("cannot connect")),
    ] {
        let folder = folder_with_schemas();
        let config = config(&simulator, media);
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let check = Process::spawn(&["check", file.to_str().unwrap()]);
        let printed = eventually("the end of the check", async || {
            let lines = check.stdout.all().join("\n");
            lines.contains(" is valid: ").then_some(lines)
        });
        let printed = printed.await;
        let warns = printed.contains("cannot write to the bucket `media`");
        assert_eq!(warns, warning.is_some(), "{printed}");
        assert!(
            warning.is_none_or(|text| printed.contains(text)),
            "{printed}"
        );
        assert!(!printed.contains("not-the-secret"), "{printed}");
    }
}

#[tokio::test]
async fn mistakes_in_the_settings_of_a_bucket_are_errors() {
    let bucket = json!({"bucket": "b", "access_key_id": "id-of-a-key", "secret_access_key": "the-secret-key"});
    let with = |key: &str, value: Value| {
        let mut changed = bucket.clone();
        changed[key] = value;
        changed
    };
    for (media, reason) in [
        (
            json!({"s3": bucket, "directory": "media"}),
            "`directory` has no effect with `s3`",
        ),
        (
            json!({"s3": with("presigned", json!(true)), "ttl": "200h"}),
            "`ttl` must be at most 168h with `presigned`",
        ),
        (
            json!({"s3": with("endpoint", json!("https://s3.example/b"))}),
            "the endpoint must not have a path",
        ),
        (
            json!({"s3": with("endpoint", json!("s3.example"))}),
            "must start with `https://`",
        ),
        (json!({"s3": with("prefix", json!("a//b"))}), "empty"),
    ] {
        let mut config = standard("https://provider.test/v1");
        config["media"] = media;
        let folder = folder_with_schemas();
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let mut check = Process::spawn(&["check", file.to_str().unwrap()]);
        let code = eventually("the end of the check", async || check.ended()).await;
        assert!(!code.success(), "{reason}");
        let printed = eventually(reason, async || {
            let lines = check.stderr.all().join("\n");
            lines.contains(reason).then_some(lines)
        });
        let printed = printed.await;
        assert!(!printed.contains("the-secret-key"), "{printed}");
    }
}

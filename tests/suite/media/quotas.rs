//! Tests of how much callers may store.

use crate::harness::free_port::free_port;
use crate::harness::media::{create_with, data_uri, file, media_config};
use crate::harness::video::{FAMILY_B, creates};
use crate::harness::{Gateway, Request, Simulator};
use serde_json::json;

#[tokio::test]
async fn who_stores_too_much_is_refused_before_anything_is_sent() {
    for (limits, statuses) in [
        (json!({"files_per_caller": 2}), [200, 200, 429]),
        (json!({"bytes_per_caller": "500KiB"}), [200, 200, 429]),
        (json!({"max_bytes": "500KiB"}), [200, 200, 503]),
    ] {
        let simulator = Simulator::start().await;
        let mut config = media_config(&simulator, free_port());
        config["media"] = limits.clone();
        let gateway = Gateway::start(&config).await;
        let create = async |number: usize| {
            let uri = data_uri("video/mp4", &file("video", 200_000, number as u8));
            let body = create_with(FAMILY_B, "demo-video-b", "reference_video", &uri);
            let request = Request::post(FAMILY_B, body.to_string());
            gateway.ask(&request).await
        };
        for (number, status) in statuses.into_iter().enumerate() {
            let made = create(number).await;
            assert_eq!(made.status, status, "{limits} {number}: {}", made.text());
        }
        assert_eq!(creates(&simulator).await, 2, "{limits}");
        let metrics = gateway.metrics().await;
        let refused = metrics.sum("headgate_media_writes_total", &[("outcome", "over_quota")]);
        assert_eq!(refused, 1.0, "{limits}");
    }
}

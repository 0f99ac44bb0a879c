//! Tests of native video paths: those of the vendors' SDKs, lists that are not offered, and errors in their format.

use crate::harness::error_shape::assert_error_body;
use crate::harness::video::{FAMILY_A, FAMILY_B, video_config};
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const TASKS_A: &str = "/api/v3/contents/generations/tasks";
const TASKS_B: &str = "/api/v1/tasks";
const SYNTHESIS: &str = "/api/v1/services/aigc/video-generation/video-synthesis";
const FRAMES: &str = "/api/v1/services/aigc/image2video/video-synthesis";
const IMAGE: &str = "https://media.example/a.png";

/// Adds the vendors' paths beside the gateway's own.
fn with_vendor_paths(simulator: &Simulator) -> Value {
    let mut config = video_config(simulator, "");
    let routes = config["routes"].as_array_mut().unwrap();
    let create = |name: &str, path: &str, protocol: &str| {
        json!({"name": name, "match": format!("POST {path}"), "protocol": protocol,
            "request": [{"use": "body"}, "validate", {"map_task": {"operation": "create"}}]})
    };
    let list = |name: &str, path: &str, protocol: &str| {
        json!({"name": name, "match": [format!("GET {path}"), format!("GET {path}/")],
            "protocol": protocol, "request": ["authenticate", {"map_task": {"operation": "list"}}]})
    };
    routes.extend([
        create("vendor_a", TASKS_A, "family_a"),
        create("vendor_b", SYNTHESIS, "family_b"),
        create("vendor_b_frames", FRAMES, "family_b"),
        list("list_a", TASKS_A, "family_a"),
        list("list_b", TASKS_B, "family_b"),
    ]);
    config
}

fn frames() -> Value {
    // The body as the vendor's SDK sends it.
    json!({"prompt": null, "extend_prompt": true, "function": "video-synthesis",
        "first_frame_url": IMAGE, "last_frame_url": IMAGE})
}

#[tokio::test]
async fn listing_tasks_is_a_404_in_the_shape_of_the_family() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&with_vendor_paths(&simulator)).await;
    for (path, protocol) in [
        (TASKS_A, Protocol::FamilyA),
        (
            "/api/v3/contents/generations/tasks?page_num=1&page_size=10",
            Protocol::FamilyA,
        ),
        (TASKS_B, Protocol::FamilyB),
        ("/api/v1/tasks/", Protocol::FamilyB),
        ("/api/v1/tasks/?page_no=1&status=RUNNING", Protocol::FamilyB),
    ] {
        let answer = gateway.ask(&Request::get(path)).await;
        let message = assert_error_body(protocol, &answer, 404);
        assert!(
            message.contains("lists of tasks are not offered"),
            "{message}"
        );
        let stranger = gateway.ask(&Request::get(path).key("sk-wrong")).await;
        assert_error_body(protocol, &stranger, 401);
    }
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn what_is_no_path_or_method_of_a_family_is_refused_in_its_shape() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&with_vendor_paths(&simulator)).await;
    let below = |path: &str, more: &str| format!("{path}{more}");
    for (method, path, protocol, status) in [
        ("PUT", TASKS_A.to_owned(), Protocol::FamilyA, 405),
        ("PATCH", below(FAMILY_A, "/task_1"), Protocol::FamilyA, 405),
        ("GET", FAMILY_A.to_owned(), Protocol::FamilyA, 405),
        ("POST", below(TASKS_A, "/a/b"), Protocol::FamilyA, 404),
        ("GET", "/api/v3/files".to_owned(), Protocol::FamilyA, 404),
        (
            "GET",
            "/v1/family-a/models".to_owned(),
            Protocol::FamilyA,
            404,
        ),
        ("GET", SYNTHESIS.to_owned(), Protocol::FamilyB, 405),
        ("PUT", below(FAMILY_B, "/task_1"), Protocol::FamilyB, 405),
        ("GET", FAMILY_B.to_owned(), Protocol::FamilyB, 405),
        ("DELETE", TASKS_B.to_owned(), Protocol::FamilyB, 405),
        (
            "GET",
            "/api/v1/uploads?action=getPolicy".to_owned(),
            Protocol::FamilyB,
            404,
        ),
        (
            "POST",
            "/api/v1/services/aigc/text2image/image-synthesis".to_owned(),
            Protocol::FamilyB,
            404,
        ),
        (
            "GET",
            "/v1/family-b/video".to_owned(),
            Protocol::FamilyB,
            404,
        ),
        // For a prefix of several protocols, or of none, the family is unknown.
        ("GET", "/api/v9".to_owned(), Protocol::Chat, 404),
        ("GET", "/v1/nothing".to_owned(), Protocol::Chat, 404),
        ("GET", "/nothing".to_owned(), Protocol::Chat, 404),
    ] {
        // On a family's path, headers of the messages protocol are ignored.
        let request = match protocol {
            Protocol::Chat => Request::new(method, &path),
            _ => Request::new(method, &path).header("anthropic-version", "2023-06-01"),
        };
        let answer = gateway.ask(&request).await;
        assert_error_body(protocol, &answer, status);
        assert_eq!(
            answer.headers.get("allow").is_some(),
            status == 405,
            "{method} {path}"
        );
    }
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn images_by_their_urls_reach_the_path_of_the_provider_that_takes_them() {
    let simulator = Simulator::start().await;
    let mut config = with_vendor_paths(&simulator);
    config["models"] = json!({"demo-video-b": {"profile": "family_b/2.x"}});
    let gateway = Gateway::start(&config).await;
    for (path, input, upstream) in [
        (
            SYNTHESIS,
            json!({"prompt": "a gate", "img_url": IMAGE}),
            SYNTHESIS,
        ),
        (SYNTHESIS, json!({"img_url": IMAGE}), SYNTHESIS),
        (FAMILY_B, json!({"img_url": IMAGE}), SYNTHESIS),
        (FRAMES, frames(), FRAMES),
        (FAMILY_B, frames(), FRAMES),
        (
            FAMILY_B,
            json!({"prompt": "a gate", "first_frame_url": null}),
            SYNTHESIS,
        ),
        (FRAMES, json!({"prompt": "a gate"}), FRAMES),
    ] {
        let body = json!({"model": "demo-video-b", "input": input});
        let answer = gateway.ask(&Request::post(path, body.to_string())).await;
        assert_eq!(answer.status, 200, "{path} {body}: {}", answer.text());
        assert!(
            answer.json()["output"]["task_id"]
                .as_str()
                .unwrap()
                .starts_with("task_")
        );
        let record = simulator.last().await;
        assert_eq!(record["path"], upstream, "{path} {body}");
        let sent: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        assert_eq!(sent["input"], body["input"], "{path}");
    }
}

#[tokio::test]
async fn a_model_with_a_media_list_refuses_separate_image_fields() {
    let simulator = Simulator::start().await;
    let mut config = with_vendor_paths(&simulator);
    config["models"] = json!({"demo-video-b": {"profile": "family_b/3.0"}});
    let gateway = Gateway::start(&config).await;
    for (path, input) in [
        (SYNTHESIS, json!({"prompt": "a gate", "img_url": IMAGE})),
        (FRAMES, frames()),
    ] {
        let body = json!({"model": "demo-video-b", "input": input});
        let answer = gateway.ask(&Request::post(path, body.to_string())).await;
        let message = assert_error_body(Protocol::FamilyB, &answer, 400);
        assert!(message.contains("`input.media`"), "{message}");
    }
    assert_eq!(simulator.records().await.len(), 0);
}

//! The fixtures of vendors whose paths name the mode of a request.

use super::{BEARER, CancelFixture, DATA, DIGITS, IMAGE, UUID, VendorFixture, words};
use serde_json::{Value, json};

pub fn runway() -> VendorFixture {
    VendorFixture {
        name: "runway",
        credential: BEARER,
        headers: &[("x-runway-version", "2024-11-06")],
        create: "/v1/text_to_video",
        body: json!({"model": "gen4.5", "promptText": "a gate", "ratio": "1280:720", "duration": 5}),
        id_at: "/id",
        id_form: UUID,
        query: "/v1/tasks/{id}",
        status_at: "/status",
        statuses: words(["PENDING", "RUNNING", "SUCCEEDED", "FAILED"]),
        result: None,
        video_at: "/output/0",
        is_private: false,
        failure_at: (Some("/failureCode"), Some("/failure")),
        filtered: ("/failureCode", json!("SAFETY.INPUT.TEXT")),
        has_unknown_status: true,
        too_many: (429, "/error", json!("Simulated failure with status 429.")),
        unauthorized: 401,
        cancel: Some(CancelFixture {
            method: "DELETE",
            path: "/v1/tasks/{id}",
            statuses: [204, 204, 204],
            removes_ended: true,
        }),
        refused: vec![
            ("/promptText", Value::Null),
            ("/ratio", json!("16:9")),
            ("/ratio", Value::Null),
            ("/duration", json!("5")),
            ("/duration", json!(11)),
            ("/audio", json!(true)),
            ("/promptImage", json!(IMAGE)),
            ("/prompt", json!("a gate")),
        ],
        refused_status: 400,
        accepted: vec![
            (
                "/v1/image_to_video",
                json!({"model": "gen4.5", "promptText": "a", "promptImage": DATA, "ratio": "720:1280", "duration": 10}),
            ),
            (
                "/v1/image_to_video",
                json!({"model": "seedance2", "promptText": "a", "duration": 4, "ratio": "1112:834", "promptImage": [
                    {"uri": IMAGE, "position": "first"}, {"uri": IMAGE, "position": "last"}]}),
            ),
            (
                "/v1/text_to_video",
                json!({"model": "veo3.1", "promptText": "a", "ratio": "1920:1080", "duration": 8, "audio": false}),
            ),
        ],
    }
}

pub fn kling() -> VendorFixture {
    VendorFixture {
        name: "kling",
        credential: BEARER,
        headers: &[],
        create: "/v1/videos/text2video",
        body: json!({"model_name": "kling-v2-6", "prompt": "a gate", "duration": "5", "mode": "pro", "aspect_ratio": "16:9"}),
        id_at: "/data/task_id",
        id_form: DIGITS,
        query: "/v1/videos/text2video/{id}",
        status_at: "/data/task_status",
        statuses: words(["submitted", "processing", "succeed", "failed"]),
        result: None,
        video_at: "/data/task_result/videos/0/url",
        is_private: false,
        failure_at: (None, Some("/data/task_status_msg")),
        filtered: ("/data/task_status", json!("failed")),
        has_unknown_status: true,
        too_many: (429, "/code", json!(1302)),
        unauthorized: 401,
        cancel: None,
        refused: vec![
            ("/prompt", Value::Null),
            ("/duration", json!(5)),
            ("/duration", json!("7")),
            ("/mode", json!("4k")),
            ("/cfg_scale", json!(0.5)),
            ("/aspect_ratio", json!("4:3")),
            ("/image", json!(IMAGE)),
            ("/model", json!("kling-v3")),
            ("/sound", json!(true)),
        ],
        refused_status: 400,
        accepted: vec![
            (
                "/v1/videos/image2video",
                json!({"model_name": "kling-v3", "image": "AAAA", "image_tail": IMAGE, "prompt": "a", "duration": "15",
                    "mode": "4k", "sound": "on", "external_task_id": "own-1"}),
            ),
            (
                "/v1/videos/multi-image2video",
                json!({"model_name": "kling-v1-6", "prompt": "a", "image_list": [{"image": IMAGE}, {"image": "AAAA"}]}),
            ),
            (
                "/v1/videos/omni-video",
                json!({"model_name": "kling-v3-omni", "prompt": "<<<image_1>>>", "duration": "4",
                    "image_list": [{"image_url": IMAGE, "type": "first_frame"}],
                    "video_list": [{"video_url": IMAGE, "refer_type": "feature", "keep_original_sound": "yes"}]}),
            ),
            (
                "/v1/videos/motion-control",
                json!({"video_url": IMAGE, "image_url": IMAGE, "character_orientation": "image", "mode": "std"}),
            ),
        ],
    }
}

pub fn luma() -> VendorFixture {
    let image = |url: &str| json!({"type": "image", "url": url});
    VendorFixture {
        name: "luma",
        credential: BEARER,
        headers: &[],
        create: "/dream-machine/v1/generations/video",
        body: json!({"model": "ray-2", "prompt": "a gate", "duration": "5s", "aspect_ratio": "16:9", "resolution": "720p"}),
        id_at: "/id",
        id_form: UUID,
        query: "/dream-machine/v1/generations/{id}",
        status_at: "/state",
        statuses: words(["queued", "dreaming", "completed", "failed"]),
        result: None,
        video_at: "/assets/video",
        is_private: false,
        failure_at: (None, Some("/failure_reason")),
        filtered: ("/failure_reason", json!("Input failed moderation.")),
        has_unknown_status: true,
        too_many: (429, "/detail", json!("Simulated failure with status 429.")),
        unauthorized: 401,
        cancel: Some(CancelFixture {
            method: "DELETE",
            path: "/dream-machine/v1/generations/{id}",
            statuses: [200, 200, 200],
            removes_ended: true,
        }),
        refused: vec![
            ("/model", Value::Null),
            ("/duration", json!(5)),
            ("/duration", json!("5")),
            ("/duration", json!("8s")),
            ("/resolution", json!("1080P")),
            ("/keyframes", json!({"frame0": IMAGE})),
            ("/keyframes", json!({"frame0": image(DATA)})),
            ("/keyframes", json!({"frame2": image(IMAGE)})),
            ("/seed", json!(1)),
        ],
        refused_status: 400,
        accepted: vec![(
            "/dream-machine/v1/generations",
            json!({"model": "ray-flash-2", "prompt": "a", "loop": true, "concepts": [{"key": "dolly_zoom"}],
                "keyframes": {"frame0": image(IMAGE), "frame1": {"type": "generation", "id": "g"}}}),
        )],
    }
}

pub fn vidu() -> VendorFixture {
    VendorFixture {
        name: "vidu",
        credential: ("authorization", "Token vda-one"),
        headers: &[],
        create: "/ent/v2/text2video",
        body: json!({"model": "viduq3-pro", "prompt": "a gate", "duration": 5, "resolution": "720p", "aspect_ratio": "16:9"}),
        id_at: "/task_id",
        id_form: DIGITS,
        query: "/ent/v2/tasks/{id}/creations",
        status_at: "/state",
        statuses: words(["queueing", "processing", "success", "failed"]),
        result: None,
        video_at: "/creations/0/url",
        is_private: false,
        failure_at: (Some("/err_code"), None),
        filtered: ("/err_code", json!("CreationPolicyViolation")),
        has_unknown_status: true,
        too_many: (429, "/reason", json!("TooManyRequests")),
        unauthorized: 401,
        cancel: Some(CancelFixture {
            method: "POST",
            path: "/ent/v2/tasks/{id}/cancel",
            statuses: [200, 400, 400],
            removes_ended: false,
        }),
        refused: vec![
            ("/model", Value::Null),
            ("/prompt", Value::Null),
            ("/duration", json!("5")),
            ("/duration", json!(17)),
            ("/resolution", json!("720P")),
            ("/style", json!("anime")),
            ("/images", json!([IMAGE])),
            ("/image", json!(IMAGE)),
        ],
        refused_status: 400,
        accepted: vec![
            (
                "/ent/v2/img2video",
                json!({"model": "viduq2", "images": [DATA], "prompt": "a"}),
            ),
            (
                "/ent/v2/start-end2video",
                json!({"model": "viduq1", "images": [IMAGE, DATA], "duration": 5}),
            ),
            (
                "/ent/v2/reference2video",
                json!({"model": "vidu2.0", "prompt": "a", "subjects": [{"id": "1", "images": [IMAGE]}], "aspect_ratio": "1:1"}),
            ),
        ],
    }
}

pub fn xai() -> VendorFixture {
    VendorFixture {
        name: "xai",
        credential: BEARER,
        headers: &[],
        create: "/v1/videos/generations",
        body: json!({"model": "grok-imagine-video", "prompt": "a gate", "duration": 5, "aspect_ratio": "16:9", "resolution": "720p"}),
        id_at: "/request_id",
        id_form: UUID,
        query: "/v1/videos/{id}",
        status_at: "/status",
        statuses: [
            Value::Null,
            json!("pending"),
            json!("done"),
            json!("failed"),
        ],
        result: None,
        video_at: "/video/url",
        is_private: false,
        failure_at: (Some("/error/code"), Some("/error/message")),
        filtered: ("/video/respect_moderation", json!(false)),
        has_unknown_status: true,
        too_many: (429, "/error", json!("Simulated failure with status 429.")),
        unauthorized: 401,
        cancel: None,
        refused: vec![
            ("/prompt", Value::Null),
            ("/duration", json!("5")),
            ("/duration", json!(16)),
            ("/resolution", json!("1080p")),
            ("/aspect_ratio", json!("21:9")),
            ("/image", json!(IMAGE)),
            ("/image", json!({"url": "AAAA"})),
            ("/seed", json!(1)),
            ("/n", json!(1)),
        ],
        refused_status: 400,
        accepted: vec![
            (
                "/v1/videos/generations",
                json!({"model": "grok-imagine-video-1.5", "prompt": "a", "image": {"url": DATA}, "resolution": "1080p"}),
            ),
            (
                "/v1/videos/edits",
                json!({"model": "grok-imagine-video", "prompt": "a", "video": {"url": IMAGE}}),
            ),
            (
                "/v1/videos/extensions",
                json!({"model": "grok-imagine-video", "prompt": "a", "video": {"url": IMAGE}, "duration": 4}),
            ),
        ],
    }
}

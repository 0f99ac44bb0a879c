//! The fixtures of hosts of many vendors' models, and of vendors with forms of their own.

use super::{BEARER, CancelFixture, DATA, IMAGE, UUID, VendorFixture, words};
use serde_json::{Value, json};

pub fn fal() -> VendorFixture {
    VendorFixture {
        name: "fal",
        credential: ("authorization", "Key sk-one"),
        headers: &[],
        create: "/fal-ai/kling-video/v2.6/pro/text-to-video",
        body: json!({"prompt": "a gate", "duration": "5", "aspect_ratio": "16:9"}),
        id_at: "/request_id",
        id_form: UUID,
        query: "/fal-ai/kling-video/requests/{id}/status",
        status_at: "/status",
        statuses: words(["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "COMPLETED"]),
        result: Some(("/fal-ai/kling-video/requests/{id}", "")),
        video_at: "/video/url",
        is_private: false,
        failure_at: (Some("/error_type"), Some("/error")),
        filtered: ("/error_type", json!("content_policy_violation")),
        has_unknown_status: true,
        too_many: (429, "/detail", json!("Simulated failure with status 429.")),
        unauthorized: 401,
        cancel: Some(CancelFixture {
            method: "PUT",
            path: "/fal-ai/kling-video/requests/{id}/cancel",
            statuses: [202, 202, 400],
            removes_ended: false,
        }),
        refused: vec![
            ("/prompt", Value::Null),
            ("/duration", json!(5)),
            ("/duration", json!("5s")),
            ("/image_url", json!("AAAA")),
            ("/image_url", json!(IMAGE)),
            ("/medias", json!([])),
            ("/model", json!("kling")),
        ],
        refused_status: 422,
        accepted: vec![
            (
                "/fal-ai/veo3.1",
                json!({"prompt": "a", "duration": "8s", "generate_audio": true}),
            ),
            (
                "/fal-ai/luma-dream-machine/ray-2/image-to-video",
                json!({"prompt": "a", "image_url": DATA, "duration": "5s", "loop": true}),
            ),
            (
                "/fal-ai/bytedance/seedance/v1",
                json!({"prompt": "a", "image_url": IMAGE, "duration": 5}),
            ),
        ],
    }
}

pub fn replicate() -> VendorFixture {
    VendorFixture {
        name: "replicate",
        credential: BEARER,
        headers: &[],
        create: "/v1/models/kwaivgi/kling-v2.1/predictions",
        body: json!({"input": {"prompt": "a gate", "duration": 5}}),
        id_at: "/id",
        id_form: "^[0-9a-z]+$",
        query: "/v1/predictions/{id}",
        status_at: "/status",
        statuses: words(["starting", "processing", "succeeded", "failed"]),
        result: None,
        video_at: "/output",
        is_private: false,
        failure_at: (None, Some("/error")),
        filtered: (
            "/error",
            json!("The input or output was flagged as sensitive. Please try again."),
        ),
        has_unknown_status: true,
        too_many: (429, "/status", json!(429)),
        unauthorized: 401,
        cancel: Some(CancelFixture {
            method: "POST",
            path: "/v1/predictions/{id}/cancel",
            statuses: [200, 200, 200],
            removes_ended: false,
        }),
        refused: vec![
            ("/input", Value::Null),
            ("/input", json!("a gate")),
            ("/prompt", json!("a gate")),
            ("/webhook", json!("hook")),
            ("/webhook_events_filter", json!(["end"])),
        ],
        refused_status: 422,
        accepted: vec![
            (
                "/v1/predictions",
                json!({"version": "owner/name:abc", "input": {"prompt": "a"}}),
            ),
            (
                "/v1/deployments/owner/name/predictions",
                json!({"input": {"prompt": "a"}}),
            ),
        ],
    }
}

pub fn pixverse() -> VendorFixture {
    VendorFixture {
        name: "pixverse",
        credential: ("api-key", "sk-one"),
        headers: &[("ai-trace-id", "0d0f4c1c-9a3b-4b8e-8f0a-3f4d5e6f7a8b")],
        create: "/openapi/v2/video/text/generate",
        body: json!({"prompt": "a gate", "aspect_ratio": "16:9", "duration": 5, "model": "v5", "quality": "540p"}),
        id_at: "/Resp/video_id",
        id_form: "^[0-9]{14}$",
        query: "/openapi/v2/video/result/{id}",
        status_at: "/Resp/status",
        statuses: [json!(5), json!(5), json!(1), json!(8)],
        result: None,
        video_at: "/Resp/url",
        is_private: false,
        failure_at: (None, None),
        filtered: ("/Resp/status", json!(7)),
        has_unknown_status: true,
        too_many: (200, "/ErrCode", json!(429)),
        unauthorized: 200,
        cancel: None,
        refused: vec![
            ("/prompt", Value::Null),
            ("/quality", Value::Null),
            ("/aspect_ratio", Value::Null),
            ("/duration", json!("5")),
            ("/duration", json!(6)),
            ("/quality", json!("720P")),
            ("/resolution", json!("720p")),
            ("/img_id", json!(1)),
            ("/first_frame_img", json!(1)),
        ],
        refused_status: 200,
        accepted: vec![(
            "/openapi/v2/video/text/generate",
            json!({"prompt": "a", "aspect_ratio": "9:16", "duration": 10, "model": "v6", "quality": "1080p", "seed": 1,
                "negative_prompt": "rain", "motion_mode": "normal"}),
        )],
    }
}

pub fn flux3() -> VendorFixture {
    VendorFixture {
        name: "flux3",
        credential: ("x-key", "sk-one"),
        headers: &[],
        create: "/v1/flux-3-video",
        body: json!({"mode": "t2v", "prompt": "a gate", "duration": 5, "aspect_ratio": "16:9", "resolution": "hd"}),
        id_at: "/id",
        id_form: UUID,
        query: "/v1/get_result?id={id}",
        status_at: "/status",
        statuses: words(["Pending", "Pending", "Ready", "Error"]),
        result: None,
        video_at: "/result/sample",
        is_private: false,
        failure_at: (Some("/details/code"), Some("/details/message")),
        filtered: ("/status", json!("Request Moderated")),
        has_unknown_status: true,
        too_many: (429, "/detail", json!("Simulated failure with status 429.")),
        unauthorized: 401,
        cancel: None,
        refused: vec![
            ("/mode", Value::Null),
            ("/mode", json!("i2v")),
            ("/prompt", Value::Null),
            ("/duration", json!("5")),
            ("/duration", json!(4)),
            ("/resolution", json!("720p")),
            ("/keyframes", json!([IMAGE])),
            ("/seed", json!(1)),
        ],
        refused_status: 422,
        accepted: vec![
            (
                "/v1/flux-3-video",
                json!({"mode": "i2v", "prompt": "a", "keyframes": [IMAGE, "AAAA"], "duration": "auto"}),
            ),
            (
                "/v1/flux-3-video",
                json!({"mode": "i2v", "prompt": "a", "keyframes": [[0, IMAGE], [2.5, IMAGE], [4, IMAGE]]}),
            ),
            (
                "/v1/flux-3-video",
                json!({"mode": "v2v", "prompt": "a", "start_video": IMAGE}),
            ),
            (
                "/v1/flux-3-video",
                json!({"mode": "draft_enhance", "draft_cache": "c"}),
            ),
        ],
    }
}

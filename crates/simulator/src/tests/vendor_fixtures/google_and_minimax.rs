//! The fixtures of Google's two APIs and of MiniMax's two versions.

use super::{BEARER, CancelFixture, DATA, DIGITS, IMAGE, VendorFixture, words};
use serde_json::{Value, json};

pub fn minimax() -> VendorFixture {
    VendorFixture {
        name: "minimax",
        credential: BEARER,
        headers: &[],
        create: "/v1/video_generation",
        body: json!({"model": "MiniMax-Hailuo-02", "prompt": "a gate", "duration": 6, "resolution": "768P"}),
        id_at: "/task_id",
        id_form: DIGITS,
        query: "/v1/query/video_generation?task_id={id}",
        status_at: "/status",
        statuses: words(["Queueing", "Processing", "Success", "Fail"]),
        result: Some(("/v1/files/retrieve?file_id={}", "/file_id")),
        video_at: "/file/download_url",
        is_private: false,
        failure_at: (
            Some("/base_resp/status_code"),
            Some("/base_resp/status_msg"),
        ),
        filtered: ("/base_resp/status_code", json!(1027)),
        has_unknown_status: true,
        too_many: (200, "/base_resp/status_code", json!(1002)),
        unauthorized: 200,
        cancel: None,
        refused: vec![
            ("/model", Value::Null),
            ("/prompt", Value::Null),
            ("/prompt", json!("x".repeat(2001))),
            ("/duration", json!("6")),
            ("/duration", json!(7)),
            ("/resolution", json!("720P")),
            ("/ratio", json!("16:9")),
            ("/first_frame_image", json!({"url": IMAGE})),
        ],
        refused_status: 200,
        accepted: vec![
            (
                "/v1/video_generation",
                json!({"model": "I2V-01", "first_frame_image": DATA, "prompt_optimizer": true,
                    "callback_url": "http://127.0.0.1:1/hook"}),
            ),
            (
                "/v1/video_generation",
                json!({"model": "S2V-01", "prompt": "a man", "subject_reference": [{"type": "character", "image": [IMAGE]}]}),
            ),
        ],
    }
}

pub fn minimax_v2() -> VendorFixture {
    let image =
        |role: &str| json!({"type": "image_url", "image_url": {"url": IMAGE}, "role": role});
    let text = json!({"type": "text", "text": "a gate"});
    VendorFixture {
        name: "minimax-v2",
        credential: BEARER,
        headers: &[],
        create: "/v2/video_generation",
        body: json!({"model": "MiniMax-H3", "content": [text], "duration": 5, "ratio": "16:9", "resolution": "2K"}),
        id_at: "/task_id",
        id_form: DIGITS,
        query: "/v2/query/video_generation/{id}",
        status_at: "/task/status",
        statuses: words(["queued", "running", "succeeded", "failed"]),
        result: None,
        video_at: "/task/content/url",
        is_private: false,
        failure_at: (Some("/task/error/code"), Some("/task/error/message")),
        filtered: ("/task/error/code", json!(1027)),
        has_unknown_status: true,
        too_many: (429, "/error/http_code", json!("429")),
        unauthorized: 401,
        cancel: Some(CancelFixture {
            method: "DELETE",
            path: "/v2/video_generation/{id}",
            statuses: [200, 400, 200],
            removes_ended: true,
        }),
        refused: vec![
            ("/resolution", Value::Null),
            ("/duration", json!(16)),
            ("/ratio", json!("adaptive")),
            ("/ratio", Value::Null),
            ("/content", json!([])),
            ("/content", json!([text, text])),
            ("/content", json!([image("first_frame")])),
            ("/content", json!([text, image("last_frame")])),
            (
                "/content",
                json!([text, image("first_frame"), image("reference_image")]),
            ),
            (
                "/content",
                json!([text, {"type": "image_url", "image_url": {"url": IMAGE}}]),
            ),
            (
                "/content",
                json!([text, {"type": "image_url", "image_url": IMAGE, "role": "first_frame"}]),
            ),
            ("/prompt", json!("a gate")),
        ],
        refused_status: 400,
        accepted: vec![(
            "/v2/video_generation",
            json!({"model": "MiniMax-H3", "resolution": "768P", "duration": 15, "ratio": "adaptive",
                "content": [text, image("first_frame"), image("last_frame")]}),
        )],
    }
}

pub fn veo() -> VendorFixture {
    let done = Value::Bool(true);
    let bytes = json!({"bytesBase64Encoded": "AAAA", "mimeType": "image/png"});
    VendorFixture {
        name: "veo",
        credential: ("x-goog-api-key", "sk-one"),
        headers: &[],
        create: "/v1beta/models/veo-3.1-generate-preview:predictLongRunning",
        body: json!({"instances": [{"prompt": "a gate", "image": bytes}],
            "parameters": {"durationSeconds": 8, "aspectRatio": "16:9", "resolution": "720p"}}),
        id_at: "/name",
        id_form: "^models/veo-3.1-generate-preview/operations/[a-z0-9]+$",
        query: "/v1beta/{id}",
        status_at: "/done",
        statuses: [Value::Null, Value::Bool(false), done.clone(), done],
        result: None,
        video_at: "/response/generateVideoResponse/generatedSamples/0/video/uri",
        is_private: true,
        failure_at: (Some("/error/code"), Some("/error/message")),
        filtered: (
            "/response/generateVideoResponse/raiMediaFilteredCount",
            json!(1),
        ),
        has_unknown_status: false,
        too_many: (429, "/error/status", json!("RESOURCE_EXHAUSTED")),
        unauthorized: 401,
        cancel: Some(CancelFixture {
            method: "POST",
            path: "/v1beta/{id}:cancel",
            statuses: [200, 200, 200],
            removes_ended: false,
        }),
        refused: vec![
            ("/instances", Value::Null),
            ("/instances/0/image", json!(IMAGE)),
            (
                "/instances/0/image",
                json!({"bytesBase64Encoded": DATA, "mimeType": "image/png"}),
            ),
            ("/instances/0/image", json!({"bytesBase64Encoded": "AAAA"})),
            (
                "/instances/0/image",
                json!({"uri": IMAGE, "mimeType": "image/png"}),
            ),
            ("/parameters/durationSeconds", json!("8")),
            ("/parameters/durationSeconds", json!(5)),
            ("/parameters/aspectRatio", json!("1:1")),
            ("/parameters/generateAudio", json!(true)),
            ("/prompt", json!("a gate")),
        ],
        refused_status: 400,
        accepted: vec![(
            "/v1beta/models/veo-3.1:predictLongRunning",
            json!({"instances": [{"prompt": "a gate", "referenceImages": [
                {"image": {"bytesBase64Encoded": "AAAA", "mimeType": "image/png"}, "referenceType": "asset"}]}]}),
        )],
    }
}

pub fn gemini_omni() -> VendorFixture {
    let format =
        json!({"type": "video", "delivery": "uri", "duration": "8s", "aspect_ratio": "16:9"});
    let step = |content: Value| json!([{"type": "user_input", "content": content}]);
    let text = json!({"type": "text", "text": "a gate"});
    VendorFixture {
        name: "gemini-omni",
        credential: ("x-goog-api-key", "sk-one"),
        headers: &[],
        create: "/v1beta/interactions",
        body: json!({"model": "gemini-omni-1.1-flash", "input": "a gate", "background": true, "response_format": format}),
        id_at: "/id",
        id_form: "^v1_[0-9a-z]+$",
        query: "/v1beta/interactions/{id}",
        status_at: "/status",
        statuses: words(["queued", "in_progress", "completed", "failed"]),
        result: None,
        video_at: "/steps/1/content/1/uri",
        is_private: true,
        failure_at: (Some("/errors/0/code"), Some("/errors/0/message")),
        filtered: ("/status", json!("completed")),
        has_unknown_status: true,
        too_many: (429, "/error/status", json!("RESOURCE_EXHAUSTED")),
        unauthorized: 401,
        cancel: Some(CancelFixture {
            method: "POST",
            path: "/v1beta/interactions/{id}/cancel",
            statuses: [200, 200, 200],
            removes_ended: false,
        }),
        refused: vec![
            ("/background", Value::Null),
            ("/input", Value::Null),
            ("/input", json!([text])),
            (
                "/input",
                step(json!([{"type": "image", "data": DATA, "mime_type": "image/png"}])),
            ),
            ("/input", step(json!([{"type": "image", "data": "AAAA"}]))),
            ("/response_format/duration", json!(8)),
            ("/response_format/duration", json!("11s")),
            ("/response_format/aspect_ratio", json!("1:1")),
            ("/seed", json!(7)),
            ("/prompt", json!("a gate")),
        ],
        refused_status: 400,
        accepted: vec![(
            "/v1beta/interactions",
            json!({"model": "gemini-omni-1.2-flash", "background": true,
                "input": step(json!([{"type": "image", "data": "AAAA", "mime_type": "image/png"}, text])),
                "response_format": {"type": "video", "duration": "12.5s", "resolution": "4k"},
                "generation_config": {"video_config": {"task": "image_to_video"}}}),
        )],
    }
}

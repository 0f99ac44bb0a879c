//! What tests need to know of each vendor: requests, where answers have what, and bodies that the vendor refuses.

use serde_json::{Value, json};

/// One vendor's API, written from its documentation and not from the descriptions.
pub struct VendorFixture {
    pub name: &'static str,
    pub credential: (&'static str, &'static str),
    pub headers: &'static [(&'static str, &'static str)],
    pub create: &'static str,
    pub body: Value,
    pub id_at: &'static str,
    pub id_form: &'static str,
    /// With `{id}`.
    pub query: &'static str,
    /// The place of the status, and its values while queued, running, after success and after a failure.
    pub status_at: &'static str,
    pub statuses: [Value; 4],
    /// The path of the second request and the place of the value that it needs for `{}`, if there is one.
    pub result: Option<(&'static str, &'static str)>,
    pub video_at: &'static str,
    pub is_private: bool,
    /// The places of the code and the message of a failed task.
    pub failure_at: (Option<&'static str>, &'static str),
    /// A place and its value in a task that the content policy stops.
    pub filtered: (&'static str, Value),
    /// Whether an unknown status can be reported at all.
    pub has_unknown_status: bool,
    /// The status of a `429`, and a place and its value in the body.
    pub too_many: (u16, &'static str, Value),
    pub unauthorized: u16,
    pub cancel: Option<CancelFixture>,
    /// A member of the body, by its pointer, with a value that the vendor refuses; `null` removes it.
    pub refused: Vec<(&'static str, Value)>,
    /// The status of these refusals.
    pub refused_status: u16,
}

/// A cancel, and its status while queued, while running and after the end.
pub struct CancelFixture {
    pub method: &'static str,
    pub path: &'static str,
    pub statuses: [u16; 3],
    /// Whether it removes a task that has ended.
    pub removes_ended: bool,
}

const BEARER: (&str, &str) = ("authorization", "Bearer sk-one");
const DIGITS: &str = "^[0-9]{18}$";
const UUID: &str = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
const IMAGE: &str = "https://media.example/1.png";
const DATA: &str = "data:image/png;base64,AAAA";

pub fn vendors() -> Vec<VendorFixture> {
    vec![minimax(), minimax_v2(), veo(), runway()]
}

fn words(words: [&str; 4]) -> [Value; 4] {
    words.map(Value::from)
}

fn minimax() -> VendorFixture {
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
        failure_at: (Some("/base_resp/status_code"), "/base_resp/status_msg"),
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
    }
}

fn minimax_v2() -> VendorFixture {
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
        failure_at: (Some("/task/error/code"), "/task/error/message"),
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
    }
}

fn veo() -> VendorFixture {
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
        failure_at: (Some("/error/code"), "/error/message"),
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
    }
}

fn runway() -> VendorFixture {
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
        failure_at: (Some("/failureCode"), "/failure"),
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
    }
}

//! Gemini Omni by the Interactions API: a list of steps, in the last of which the video is, inline unless asked otherwise.
//!
//! Not confirmed: the signature of callbacks (here none). A create without `background: true` is refused; the vendor would
//! hold the connection until the video is there.

use super::body_rules::{BodyField, ValueRule, optional, required};
use super::descriptor::{
    BodyConflict, CancelAfterEnd, CancelRule, PrivateVideo, StatusWords, TaskView, VendorApi,
    VendorCallback, VendorCreate, VendorOperation, VendorTaskId, no_fault_code, no_result,
};
use super::veo::{GOOGLE_KEY, google_refusal};
use crate::clock;
use crate::media;
use crate::task_directives::TaskEnd;
use crate::video_task::VideoTaskState;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const TASKS: &[&str] = &[
    "text_to_video",
    "image_to_video",
    "reference_to_video",
    "edit",
    "extend",
    "upscale",
];
const KINDS: &[&str] = &["image", "video"];

const TEXT: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(&["text"])),
    required("text", ValueRule::Text),
]);
const INLINE: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(KINDS)),
    required("data", ValueRule::Base64),
    required("mime_type", ValueRule::Text),
]);
const LINKED: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(KINDS)),
    required("uri", ValueRule::Text),
    optional("mime_type", ValueRule::Text),
]);
const CONTENT: ValueRule = ValueRule::Either(&[TEXT, INLINE, LINKED]);
const STEP: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(&["user_input"])),
    required("content", ValueRule::List(1, 20, &CONTENT)),
]);
const SECONDS: ValueRule = ValueRule::Form(|text| seconds(text).is_some(), "seconds such as 8s");
const FORMAT: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(&["video"])),
    optional("aspect_ratio", ValueRule::Words(&["16:9", "9:16"])),
    optional(
        "resolution",
        ValueRule::Words(&["360p", "720p", "1080p", "4k"]),
    ),
    optional("duration", SECONDS),
    optional("delivery", ValueRule::Words(&["inline", "uri"])),
    optional("gcs_uri", ValueRule::Text),
]);
const CONFIG: ValueRule = ValueRule::Object(&[optional(
    "video_config",
    ValueRule::Object(&[optional("task", ValueRule::Words(TASKS))]),
)]);
const WEBHOOK: ValueRule = ValueRule::Object(&[
    required("uris", ValueRule::List(1, 1, &ValueRule::Url)),
    optional("user_metadata", ValueRule::Map),
]);

const FIELDS: &[BodyField] = &[
    required("model", ValueRule::Text),
    required(
        "input",
        ValueRule::Either(&[ValueRule::Text, ValueRule::List(1, 1, &STEP)]),
    ),
    optional("background", ValueRule::Flag),
    optional("response_format", FORMAT),
    optional(
        "response_modalities",
        ValueRule::List(1, 1, &ValueRule::Words(&["video"])),
    ),
    optional("generation_config", CONFIG),
    optional("previous_interaction_id", ValueRule::Text),
    optional("store", ValueRule::Flag),
    optional("labels", ValueRule::Map),
    optional("webhook_config", WEBHOOK),
];

pub static API: VendorApi = VendorApi {
    name: "gemini-omni",
    credential: GOOGLE_KEY,
    required_header: None,
    route,
    model: |_, body| body["model"].as_str().unwrap_or_default().to_owned(),
    fields: |_| FIELDS,
    fault_code: no_fault_code,
    check,
    upload: None,
    task_id: |ids, _| ids.next("v1_"),
    words: StatusWords {
        queued: "queued",
        running: "in_progress",
        succeeded: "completed",
        failed: "failed",
        filtered: "completed",
        cancelled: "cancelled",
        expired: "incomplete",
    },
    failed: ("INTERNAL", "The video could not be generated."),
    filtered: ("", "I cannot generate this video."),
    created: |view| (200, interaction(view)),
    id_members: &["/id"],
    status: |view| (200, interaction(view)),
    result: no_result,
    cancel: Some(CancelRule {
        stops_running: true,
        after_end: CancelAfterEnd::Ignored,
        id_in_body: None,
        answer: |view| (200, interaction(view)),
        refused: "",
    }),
    refusal: google_refusal,
    callback: Some(VendorCallback {
        url: |create| {
            let url = create.text("/webhook_config/uris/0");
            (!url.is_empty()).then(|| url.to_owned())
        },
        is_sent_in: |state, _| matches!(state, VideoTaskState::Ended(_)),
        body: |view| {
            let event = match view.end() {
                Some(TaskEnd::Failed) => "interaction.failed",
                _ => "interaction.completed",
            };
            json!({"type": event, "data": {"id": view.id()}})
        },
        has_challenge: false,
        headers: |_, _, _| Vec::new(),
        keys: || Value::Null,
    }),
};

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    let ["v1beta", rest @ ..] = path else {
        return None;
    };
    Some(match (method, rest) {
        ("POST", ["interactions"]) => VendorOperation::Create,
        ("GET", ["interactions", id]) => VendorOperation::Query(VendorTaskId::Path(id)),
        ("POST", ["interactions", id, "cancel"]) => VendorOperation::Cancel(VendorTaskId::Path(id)),
        ("DELETE", ["interactions", id]) => VendorOperation::Delete(VendorTaskId::Path(id)),
        ("GET" | "HEAD", ["files", name]) => {
            let name = name.strip_suffix(":download")?;
            VendorOperation::PrivateVideo(PrivateVideo {
                name,
                redirects: false,
            })
        }
        _ => return None,
    })
}

fn seconds(text: &str) -> Option<f64> {
    text.strip_suffix('s')?.parse().ok()
}

fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let is_background = create.body["background"] == true;
    create.require(is_background, "background", "must be true for a video")?;
    let is_for_video = create.has("/response_format") || create.has("/response_modalities");
    create.require(is_for_video, "response_format", "is required for a video")?;
    let longest = if create.model.contains("-1.2") {
        15.0
    } else {
        10.0
    };
    let length = seconds(create.text("/response_format/duration")).unwrap_or(longest);
    let has_length = (3.0..=longest).contains(&length);
    create.require(
        has_length,
        "response_format.duration",
        "is out of the model's range",
    )
}

fn interaction(view: &TaskView) -> Value {
    let mut json = json!({
        "id": view.id(), "object": "interaction", "status": view.word(), "model": view.model(),
        "created": clock::utc_time(view.task.made_ms()), "updated": clock::utc_time(view.task.changed_ms()),
    });
    let text = |text: &str| json!({"type": "text", "text": text});
    let contents = match view.end() {
        Some(TaskEnd::Succeeded) => {
            let video = view.video_url().map(|url| video(view, &url));
            [Some(text("Here is the video.")), video]
                .into_iter()
                .flatten()
                .collect()
        }
        Some(TaskEnd::Filtered) => vec![text(view.failure().map_or("", |(_, message)| message))],
        _ => Vec::new(),
    };
    if !contents.is_empty() {
        json["steps"] = json!([
            {"type": "thought", "signature": "simulated"},
            {"type": "model_output", "content": contents},
        ]);
    }
    if let (Some(TaskEnd::Failed), Some((code, message))) = (view.end(), view.failure()) {
        json["errors"] = json!([{"code": code, "message": message}]);
    }
    if view.has_succeeded() && view.task.plan.has_usage {
        json["usage"] = json!({
            "total_input_tokens": 20, "total_output_tokens": 57_920,
            "output_tokens_by_modality": [{"modality": "video", "tokens": 57_920}],
        });
    }
    json
}

/// The video as a file that needs the credential, or inline.
fn video(view: &TaskView, url: &str) -> Value {
    if view.member("/response_format/delivery") == "uri" {
        let origin = media::origin(view.head);
        let (folder, id) = (view.api.name, view.id());
        let uri = format!("{origin}/vendor/{folder}/v1beta/files/{id}:download?alt=media");
        return json!({"type": "video", "mime_type": "video/mp4", "uri": uri});
    }
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let (_, content) = media::file(&format!("{}.mp4", view.id()), query);
    json!({"type": "video", "mime_type": "video/mp4", "data": STANDARD.encode(content)})
}

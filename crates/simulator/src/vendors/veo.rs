//! Google Veo on the Gemini API: operations whose names have slashes, and videos that only the credential opens.
//!
//! Not confirmed: the cancel, and the code of a cancelled operation. The place of `webhookConfig` in the body is not
//! known, so it is refused.

use super::body_rules::{BodyField, ValueRule, optional, required};
use super::descriptor::{
    BodyConflict, CancelAfterEnd, CancelRule, PrivateVideo, StatusWords, TaskView, VendorAnswer,
    VendorApi, VendorCreate, VendorCredential, VendorOperation, VendorTaskId, account_by_key,
    no_fault_code, no_result,
};
use super::minimax::number;
use crate::api_error::ApiError;
use crate::media;
use crate::task_directives::TaskEnd;
use serde_json::{Value, json};

const GCS_URI: ValueRule = ValueRule::Form(|text| text.starts_with("gs://"), "a gs:// URI");

const FILE: ValueRule = ValueRule::Either(&[
    ValueRule::Object(&[
        required("bytesBase64Encoded", ValueRule::Base64),
        required("mimeType", ValueRule::Text),
    ]),
    ValueRule::Object(&[
        required("gcsUri", GCS_URI),
        required("mimeType", ValueRule::Text),
    ]),
]);

const REFERENCE: ValueRule = ValueRule::Object(&[
    required("image", FILE),
    required("referenceType", ValueRule::Words(&["asset"])),
]);

const INSTANCE: ValueRule = ValueRule::Object(&[
    optional("prompt", ValueRule::Text),
    optional("image", FILE),
    optional("lastFrame", FILE),
    optional("video", FILE),
    optional("referenceImages", ValueRule::List(1, 3, &REFERENCE)),
]);

const PARAMETERS: ValueRule = ValueRule::Object(&[
    optional("sampleCount", ValueRule::Integer(1, 4)),
    optional("aspectRatio", ValueRule::Words(&["16:9", "9:16"])),
    optional("resolution", ValueRule::Words(&["720p", "1080p", "4k"])),
    optional("durationSeconds", ValueRule::Integers(&[4, 6, 8])),
    optional("seed", ValueRule::Integer(0, u32::MAX as i64)),
    optional("negativePrompt", ValueRule::Text),
    optional("personGeneration", ValueRule::Text),
    optional("enhancePrompt", ValueRule::Flag),
    optional("resizeMode", ValueRule::Text),
    optional("compressionQuality", ValueRule::Text),
]);

const FIELDS: &[BodyField] = &[
    required("instances", ValueRule::List(1, 1, &INSTANCE)),
    optional("parameters", PARAMETERS),
];

/// `x-goog-api-key: <key>`, or `?key=`.
pub const GOOGLE_KEY: VendorCredential = VendorCredential {
    header: "x-goog-api-key",
    scheme: None,
    parameter: Some("key"),
    account: account_by_key,
};

pub static API: VendorApi = VendorApi {
    name: "veo",
    credential: GOOGLE_KEY,
    required_header: None,
    route,
    model: |path, _| {
        let model = path.strip_prefix("v1beta/models/").unwrap_or_default();
        model.split(':').next().unwrap_or_default().to_owned()
    },
    fields: |_| FIELDS,
    fault_code: no_fault_code,
    check,
    upload: None,
    task_id: |ids, create| format!("models/{}/operations/{}", create.model, ids.next("op")),
    // A task is `done` or not: there are no words.
    words: StatusWords {
        queued: "",
        running: "",
        succeeded: "",
        failed: "",
        filtered: "",
        cancelled: "",
        expired: "",
    },
    failed: (
        "13",
        "Video generation failed due to an internal server issue.",
    ),
    filtered: (
        "",
        "Veo could not generate videos because the input image violates Gemini API's usage guidelines.",
    ),
    created: |view| (200, json!({"name": view.id()})),
    id_members: &["/name"],
    status: |view| (200, operation(view)),
    result: no_result,
    cancel: Some(CancelRule {
        stops_running: true,
        after_end: CancelAfterEnd::Ignored,
        id_in_body: None,
        answer: |_| (200, json!({})),
        refused: "",
    }),
    refusal: google_refusal,
    callback: None,
};

fn route<'p>(method: &str, path: &[&'p str], own: &'p str) -> Option<VendorOperation<'p>> {
    let name = own.strip_prefix("v1beta/")?;
    Some(match (method, path) {
        ("POST", ["v1beta", "models", model]) if model.ends_with(":predictLongRunning") => {
            VendorOperation::Create
        }
        ("GET", ["v1beta", "models", _, "operations", _]) => {
            VendorOperation::Query(VendorTaskId::Path(name))
        }
        ("POST", ["v1beta", "models", _, "operations", _]) => {
            let name = name.strip_suffix(":cancel")?;
            VendorOperation::Cancel(VendorTaskId::Path(name))
        }
        ("GET" | "HEAD", ["v1beta", "files", name]) => {
            let name = name.strip_suffix(":download")?;
            VendorOperation::PrivateVideo(PrivateVideo {
                name,
                redirects: true,
            })
        }
        _ => return None,
    })
}

fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let has = |name: &str| create.has(&format!("/instances/0/{name}"));
    let is_asked = !create.text("/instances/0/prompt").is_empty() || has("image");
    create.require(
        is_asked,
        "instances.0.prompt",
        "is required without an image",
    )?;
    let has_first = has("image") || !has("lastFrame");
    create.require(has_first, "instances.0.lastFrame", "needs an image")?;
    let is_mixed = has("referenceImages") && (has("image") || has("lastFrame"));
    create.require(
        !is_mixed,
        "instances.0.referenceImages",
        "cannot be used with frames",
    )
}

fn operation(view: &TaskView) -> Value {
    let mut json = json!({"name": view.id()});
    let Some(end) = view.end() else {
        if !view.is_queued() {
            json["done"] = false.into();
        }
        return json;
    };
    json["done"] = true.into();
    let error = match end {
        TaskEnd::Succeeded | TaskEnd::Filtered => None,
        TaskEnd::Failed => view.failure(),
        TaskEnd::Cancelled => Some(("1", "The operation was cancelled.")),
        TaskEnd::Expired | TaskEnd::Unknown => Some(("4", "The operation expired.")),
    };
    if let Some((code, message)) = error {
        let status = match code {
            "1" => "CANCELLED",
            "4" => "DEADLINE_EXCEEDED",
            _ => "INTERNAL",
        };
        json["error"] = json!({"code": number(code), "message": message, "status": status});
        return json;
    }
    let mut response = json!({});
    if view.video_url().is_some() {
        let origin = media::origin(view.head);
        let uri = format!(
            "{origin}/vendor/{}/v1beta/files/{}:download?alt=media",
            view.api.name,
            view.file_name()
        );
        response["generatedSamples"] = json!([{"video": {"uri": uri}}]);
    }
    if let Some((_, reason)) = view.failure() {
        response["raiMediaFilteredCount"] = 1.into();
        response["raiMediaFilteredReasons"] = json!([reason]);
    }
    let kind = "type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse";
    json["response"] = json!({"@type": kind, "generateVideoResponse": response});
    json
}

/// `{error: {code, message, status}}`.
pub fn google_refusal(error: &ApiError) -> VendorAnswer {
    let status = error.status.as_u16();
    let word = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    let word = error.code.as_deref().unwrap_or(word);
    let body = json!({"code": status, "message": error.message, "status": word});
    (status, json!({"error": body}))
}

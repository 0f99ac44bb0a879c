//! Runway: one path for each mode, a version header, and a closed set of members for each model.
//!
//! Not confirmed: the statuses of HTTP errors, the code of a task that fails, and which members the models take that
//! the sets below do not name; for those all members of all models are taken.

use super::body_rules::{BodyField, ValueRule, optional, required};
use super::descriptor::{
    BodyConflict, CancelAfterEnd, CancelRule, StatusWords, TaskView, VendorAnswer, VendorApi,
    VendorCreate, VendorOperation, VendorTaskId, no_fault_code, no_result,
};
use super::minimax::BEARER;
use crate::api_error::ApiError;
use crate::clock;
use crate::task_directives::TaskEnd;
use serde_json::{Value, json};

const VERSION: &str = "2024-11-06";
const SEED: ValueRule = ValueRule::Integer(0, u32::MAX as i64);
const TWO_RATIOS: ValueRule = ValueRule::Words(&["1280:720", "720:1280"]);
const FOUR_RATIOS: ValueRule =
    ValueRule::Words(&["1280:720", "720:1280", "1080:1920", "1920:1080"]);
/// `1280:720`, of which newer models have many.
const SIZE: ValueRule = ValueRule::Form(
    |text| {
        let sides = text.split_once(':');
        sides.is_some_and(|(width, height)| {
            [width, height]
                .iter()
                .all(|side| side.len() >= 3 && side.parse::<u32>().is_ok())
        })
    },
    "a size such as 1280:720",
);
const MODERATION: ValueRule = ValueRule::Object(&[required(
    "publicFigureThreshold",
    ValueRule::Words(&["auto", "low"]),
)]);
const PLACED_IMAGE: ValueRule = ValueRule::Object(&[
    required("uri", ValueRule::UrlOrData),
    optional("position", ValueRule::Words(&["first", "last"])),
]);
const IMAGE: ValueRule =
    ValueRule::Either(&[ValueRule::UrlOrData, ValueRule::List(1, 9, &PLACED_IMAGE)]);

/// The members of each kind of model; those of an image are left out of the paths for texts by [`check`].
const GEN4_5: &[BodyField] = &[
    required("model", ValueRule::Text),
    required("promptText", ValueRule::TextMax(1000)),
    optional("promptImage", IMAGE),
    required("ratio", TWO_RATIOS),
    required("duration", ValueRule::Integer(2, 10)),
    optional("seed", SEED),
    optional("contentModeration", MODERATION),
    optional("outputFormat", ValueRule::Text),
    optional("proresProfile", ValueRule::Text),
];
const VEO3_1: &[BodyField] = &[
    required("model", ValueRule::Text),
    required("promptText", ValueRule::TextMax(1000)),
    optional("promptImage", IMAGE),
    required("ratio", FOUR_RATIOS),
    optional("duration", ValueRule::Integers(&[4, 6, 8])),
    optional("audio", ValueRule::Flag),
    optional("negativePrompt", ValueRule::Text),
    optional("seed", SEED),
];
const OTHERS: &[BodyField] = &[
    required("model", ValueRule::Text),
    optional("promptText", ValueRule::Text),
    optional("promptImage", IMAGE),
    optional("ratio", ValueRule::Either(&[RATIO_WORD, SIZE])),
    optional("resolution", ValueRule::Text),
    optional(
        "duration",
        ValueRule::Either(&[AUTO, ValueRule::Integer(1, 60)]),
    ),
    optional("seed", SEED),
    optional("audio", ValueRule::Flag),
    optional("negativePrompt", ValueRule::Text),
    optional("contentModeration", MODERATION),
    optional("outputFormat", ValueRule::Text),
    optional("proresProfile", ValueRule::Text),
    optional("references", ValueRule::List(1, 9, &ValueRule::Any)),
    optional("referenceVideos", ValueRule::List(1, 9, &ValueRule::Any)),
    optional("referenceAudio", ValueRule::List(1, 9, &ValueRule::Any)),
    optional("draft", ValueRule::Flag),
    optional("draftTaskId", ValueRule::Text),
];
const RATIO_WORD: ValueRule =
    ValueRule::Words(&["adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"]);
const AUTO: ValueRule = ValueRule::Words(&["auto"]);

pub static API: VendorApi = VendorApi {
    name: "runway",
    credential: BEARER,
    required_header: Some(("x-runway-version", |version| version == VERSION)),
    route,
    model: |_, body| body["model"].as_str().unwrap_or_default().to_owned(),
    fields: |create| match create.model {
        "gen4.5" => GEN4_5,
        "veo3.1" | "veo3.1_fast" => VEO3_1,
        _ => OTHERS,
    },
    fault_code: no_fault_code,
    check,
    upload: None,
    task_id: |ids, _| ids.uuid(),
    words: StatusWords {
        queued: "PENDING",
        running: "RUNNING",
        succeeded: "SUCCEEDED",
        failed: "FAILED",
        filtered: "FAILED",
        cancelled: "CANCELLED",
        expired: "FAILED",
    },
    failed: (
        "INTERNAL.BAD_OUTPUT.CODE01",
        "The task failed, please try again.",
    ),
    filtered: (
        "SAFETY.INPUT.TEXT",
        "The text of the prompt did not pass content moderation.",
    ),
    created: |view| (200, json!({"id": view.id()})),
    id_members: &["/id"],
    status: |view| (200, status(view)),
    result: no_result,
    cancel: Some(CancelRule {
        stops_running: true,
        after_end: CancelAfterEnd::Deletes,
        id_in_body: None,
        answer: |_| (204, Value::Null),
        refused: "",
    }),
    refusal,
    callback: None,
};

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    Some(match (method, path) {
        ("POST", ["v1", "text_to_video" | "image_to_video"]) => VendorOperation::Create,
        ("GET", ["v1", "tasks", id]) => VendorOperation::Query(VendorTaskId::Path(id)),
        ("DELETE", ["v1", "tasks", id]) => VendorOperation::Cancel(VendorTaskId::Path(id)),
        _ => return None,
    })
}

fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let is_for_images = create.path.ends_with("image_to_video");
    let has_image = create.has("/promptImage");
    create.require(has_image || !is_for_images, "promptImage", "is required")?;
    create.require(!has_image || is_for_images, "promptImage", "is not allowed")?;
    let has_text = !create.text("/promptText").is_empty();
    create.require(has_text || is_for_images, "promptText", "is required")?;
    let places = create.list("/promptImage").iter();
    let mut places: Vec<_> = places
        .filter_map(|image| image["position"].as_str())
        .collect();
    let count = places.len();
    places.dedup();
    create.require(
        places.len() == count,
        "promptImage",
        "has two images at one position",
    )
}

fn status(view: &TaskView) -> Value {
    let created = clock::utc_time(view.task.made_ms());
    let mut json = json!({"id": view.id(), "status": view.word(), "createdAt": created});
    if view.end().is_none() && !view.is_queued() {
        json["progress"] = 0.5.into();
    }
    if view.end().is_some() && view.task.plan.has_usage {
        json["cost"] = json!({"credits": if view.has_succeeded() { 60 } else { 0 }});
    }
    if view.has_succeeded() {
        let output: Vec<_> = view.video_url().into_iter().collect();
        json["output"] = json!(output);
    }
    let expired = ("INTERNAL", "The task expired.");
    let failure = view.failure();
    let expired = (view.end() == Some(TaskEnd::Expired)).then_some(expired);
    if let Some((code, message)) = failure.or(expired) {
        json["failureCode"] = code.into();
        json["failure"] = message.into();
    }
    json
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let mut body = json!({"error": error.message});
    if let Some(place) = &error.param {
        body["error"] = "Validation of body failed".into();
        let path: Vec<&str> = place.split('.').collect();
        body["issues"] = json!([{"code": "custom", "path": path, "message": error.message}]);
    }
    if let Some(code) = &error.code {
        body["code"] = code.as_str().into();
    }
    (error.status.as_u16(), body)
}

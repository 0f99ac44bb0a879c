//! Tests of the built-in families and an invented one: their fixtures, and what fixtures cannot express.

mod custom_family;
mod definitions;
mod fixtures;
mod language;
mod native;
mod refused_definitions;
mod requests;
mod responses;
mod rules;
mod shipped;
mod statuses;

use super::*;
use crate::definition::VideoFamilyDefinitionConfig;
use crate::families::shipped;
use crate::id::TaskId;
use crate::status::TaskStatus;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};

/// The time at which the task of these tests was created, in Unix seconds.
const CREATED: u64 = 1_780_732_800;
const HOUR_MS: u64 = 3_600_000;

fn config(yaml: &str) -> VideoFamilyDefinitionConfig {
    let value: Value = serde_saphyr::from_str(yaml).unwrap();
    serde_json::from_value(value).unwrap()
}

fn family(name: &str) -> VideoFamily {
    VideoFamily::new(name, &config(shipped(name).unwrap())).unwrap()
}

fn document(body: &Value) -> JsonDocument {
    JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap()
}

fn task(family: &str) -> TaskId {
    TaskId {
        caller: "ann".into(),
        channel: "video".into(),
        credential: 1,
        model: "demo-video".into(),
        created: CREATED,
        ratio: None,
        upstream: "up-1".into(),
        family: family.into(),
        requested: Default::default(),
        query_url: None,
    }
}

/// The id in the response to a create below `https://provider.example/v1`.
fn created_id(
    family: &VideoFamily,
    response: &JsonDocument,
) -> Result<String, InvalidTaskResponse> {
    let create = SentCreate {
        path: "/create/it",
        channel_model: "provider-model",
    };
    let created = family.created(response, create, "https://provider.example/v1");
    created.map(|task| task.upstream)
}

fn now_ms() -> u64 {
    CREATED * 1_000 + HOUR_MS
}

fn status_at(name: &str, response: &Value, task: &TaskId, now_ms: u64) -> TaskStatus {
    family(name)
        .status(&document(response), task, now_ms)
        .unwrap()
}

/// The generic response for a family's response.
fn rendered(name: &str, response: &Value, task: &TaskId) -> Value {
    let status = status_at(name, response, task, now_ms());
    serde_json::from_slice(&status.render("task_1", task)).unwrap()
}

//! What responses contain: that of the gateway has schemas, that of providers is forwarded.

use super::component::{ComponentSchemas, reference};
use headgate_core::filter::contract::{GatewayResponseContent, RouteApiDescription};
use serde_json::{Value, json};

/// The response of success of a route. `has_parameter` is whether its path has one.
pub(super) fn success(contract: &RouteApiDescription, has_parameter: bool) -> Value {
    match contract.content {
        Some(GatewayResponseContent::Models) if has_parameter => json_response(
            "The model; in the format of the messages API if the request has its version header.",
            json!({"anyOf": [reference("Model"), reference("MessagesModel")]}),
        ),
        Some(GatewayResponseContent::Models) => json_response(
            "The models that the caller may use; in the format of the messages API if the request has its version header.",
            json!({"anyOf": [reference("ModelList"), reference("MessagesModelList")]}),
        ),
        Some(GatewayResponseContent::VideoTask) => {
            json_response("The task and its status.", reference("VideoTask"))
        }
        Some(GatewayResponseContent::OpenAiVideo) => {
            json_response("The video and its status.", reference("Video"))
        }
        Some(GatewayResponseContent::VideoFile) => any("The video."),
        Some(GatewayResponseContent::DeletedVideo) => {
            json_response("The video is deleted.", reference("DeletedVideo"))
        }
        None => provider_response(streams(contract)),
    }
}

/// A response of the provider on a route without a protocol: JSON, or a file.
pub(super) fn unknown_response() -> Value {
    let mut response = any("What the provider responds.");
    response["content"]["application/json"] = json!({"schema": {}});
    response
}

/// The other responses of a route that serves files.
pub(super) fn file_responses() -> [(String, Value); 3] {
    [
        ("206".into(), any("The range that the request names.")),
        ("304".into(), response("The caller has the file already.")),
        ("416".into(), response("The file has no such range.")),
    ]
}

/// An error that the provider responds with, and the gateway has no status of its own for.
pub(super) fn provider_error() -> Value {
    let description = "Another error of the provider, forwarded as it is.";
    response_with(description, "*/*", json!({}))
}

/// A response of the provider, also as a stream of events if callers can ask for one.
pub(super) fn provider_response(streams: bool) -> Value {
    let mut response = json_response("What the provider responds.", json!({"type": "object"}));
    if streams {
        response["description"] = json!(
            "What the provider responds; a stream of events if the request has `stream: true`."
        );
        response["content"]["text/event-stream"] = json!({"schema": {"type": "string"}});
    }
    response
}

/// A response with any content.
pub(super) fn any(description: &str) -> Value {
    let schema = json!({"type": "string", "format": "binary"});
    response_with(description, "*/*", schema)
}

pub(super) fn add_schemas(schemas: &mut ComponentSchemas) {
    let text = || json!({"type": "string"});
    let whole = || json!({"type": "integer"});
    schemas.add(
        "Model",
        json!({
            "type": "object",
            "required": ["id", "object", "created", "owned_by"],
            "properties": {
                "id": {"type": "string", "description": "Name that requests use."},
                "object": {"const": "model"},
                "created": {"type": "integer", "description": "Unix seconds."},
                "owned_by": text()
            }
        }),
    );
    schemas.add(
        "ModelList",
        json!({
            "type": "object",
            "required": ["object", "data"],
            "properties": {"object": {"const": "list"}, "data": {"type": "array", "items": reference("Model")}}
        }),
    );
    schemas.add(
        "MessagesModel",
        json!({
            "type": "object",
            "required": ["type", "id", "display_name", "created_at"],
            "properties": {
                "type": {"const": "model"},
                "id": {"type": "string", "description": "Name that requests use."},
                "display_name": text(),
                "created_at": {"type": "string", "format": "date-time"}
            }
        }),
    );
    schemas.add(
        "MessagesModelList",
        json!({
            "type": "object",
            "required": ["data", "has_more", "first_id", "last_id"],
            "properties": {
                "data": {"type": "array", "items": reference("MessagesModel")},
                "has_more": {"type": "boolean"},
                "first_id": {"type": ["string", "null"]},
                "last_id": {"type": ["string", "null"]}
            }
        }),
    );
    schemas.add(
        "VideoTask",
        json!({
            "type": "object",
            "description": "A video task. A status never goes back, and a finished task stays finished.",
            "required": ["task_id", "status"],
            "properties": {
                "task_id": {"type": "string", "description": "Encrypted id, for its caller only."},
                "status": {"type": "string", "enum": ["queued", "running", "succeeded", "failed", "cancelled", "expired"]},
                "video_url": {"type": "string", "description": "Set on success."},
                "video_duration": {"type": "integer", "description": "Seconds."},
                "resolution": {"type": "string", "description": "Such as `720p`."},
                "ratio": {"type": "string", "description": "Such as `16:9`."},
                "model": text(),
                "created": {"type": "integer", "description": "Unix milliseconds."},
                "updated": {"type": "integer", "description": "Unix milliseconds."},
                "error_code": {"type": "string", "description": "Set on failure."},
                "error_message": {"type": "string", "description": "Set on failure."},
                "usage": {
                    "type": "object",
                    "properties": {
                        "input_video_duration": whole(),
                        "output_video_duration": whole(),
                        "total_tokens": whole(),
                        "duration": {"type": "integer", "description": "Billed seconds."}
                    }
                }
            }
        }),
    );
    add_openai_videos(schemas);
}

/// The objects of OpenAI's video API.
fn add_openai_videos(schemas: &mut ComponentSchemas) {
    let optional =
        |kind: &str, description: &str| json!({"type": [kind, "null"], "description": description});
    schemas.add(
        "Video",
        json!({
            "type": "object",
            "description": "A video task in the format of OpenAI's SDKs.",
            "required": ["id", "object", "model", "status", "progress", "created_at", "seconds", "size"],
            "properties": {
                "id": {"type": "string", "description": "Encrypted id, for its caller only."},
                "object": {"const": "video"},
                "model": {"type": "string"},
                "status": {"type": "string", "enum": ["queued", "in_progress", "completed", "failed"]},
                "progress": {"type": "integer", "minimum": 0, "maximum": 100, "description": "Percent."},
                "created_at": {"type": "integer", "description": "Unix seconds."},
                "completed_at": optional("integer", "Unix seconds."),
                "expires_at": optional("integer", "Unix seconds."),
                "seconds": optional("string", "Length of the video."),
                "size": optional("string", "Such as `1280x720`."),
                "remixed_from_video_id": optional("string", "Always null."),
                "error": {
                    "type": ["object", "null"],
                    "description": "Set on failure; a task that was cancelled or expired has these words as `code`.",
                    "properties": {"code": {"type": "string"}, "message": {"type": "string"}}
                }
            }
        }),
    );
    schemas.add(
        "DeletedVideo",
        json!({
            "type": "object",
            "required": ["id", "object", "deleted"],
            "properties": {
                "id": {"type": "string"}, "object": {"const": "video.deleted"}, "deleted": {"const": true}
            }
        }),
    );
}

/// Whether callers can ask for a stream of events: the schema of requests has `stream`.
fn streams(contract: &RouteApiDescription) -> bool {
    let body = contract.body.as_ref();
    body.is_some_and(|schema| schema.source()["properties"]["stream"].is_object())
}

fn json_response(description: &str, schema: Value) -> Value {
    response_with(description, "application/json", schema)
}

fn response_with(description: &str, content_type: &str, schema: Value) -> Value {
    let mut response = response(description);
    response["content"] = json!({content_type: {"schema": schema}});
    response
}

/// A response without content.
fn response(description: &str) -> Value {
    json!({
        "description": description,
        "headers": {"x-request-id": {"$ref": "#/components/headers/x-request-id"}}
    })
}

//! The objects of resources, as OpenAI's and Anthropic's API references define them.

use super::{ResourceCreateBody, ResourceOrPart, StoredResource};
use crate::api_error::ApiError;
use crate::dialect::ApiDialect;
use crate::endpoint::ResourceKind;
use crate::ids::IdGenerator;
use crate::json::{JsonText, NULL, object};
use crate::{clock, model_request};
use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

/// Seconds in which an upload must be completed.
const UPLOAD_SECONDS: u64 = 3600;

pub fn new_entry(
    kind: ResourceKind,
    form: ResourceCreateBody,
    dialect: ApiDialect,
    ids: &IdGenerator,
) -> ResourceOrPart {
    let created_at = clock::unix_seconds();
    let (id, json) = match (kind, dialect) {
        (ResourceKind::Files, ApiDialect::Messages) => {
            let id = ids.next("file_");
            let json = object! {
                "id": id, "type": "file", "filename": form.filename,
                "mime_type": "application/octet-stream", "size_bytes": form.content.len(),
                "created_at": "2026-01-01T00:00:00Z", "downloadable": false,
            };
            (id, json)
        }
        (ResourceKind::Files, _) => {
            let id = ids.next("file-");
            let json = file(&id, form.content.len(), &form.filename, &form.purpose);
            (id, json)
        }
        (ResourceKind::Conversations, _) => {
            let id = ids.next("conv_");
            let metadata = form.json.get("metadata").cloned().unwrap_or_default();
            let json = object! {
                "id": id, "object": "conversation", "created_at": created_at, "metadata": metadata,
            };
            (id, json)
        }
        (ResourceKind::Containers, _) => {
            let id = ids.next("cntr_");
            let json = object! {
                "id": id, "object": "container", "created_at": created_at, "status": "running",
                "expires_after": object! {"anchor": "last_active_at", "minutes": 20_u64},
                "last_active_at": created_at, "name": model_request::text_at(&form.json, "name"),
            };
            (id, json)
        }
        (ResourceKind::Uploads, _) => {
            let id = ids.next("upload_");
            let json = object! {
                "id": id, "object": "upload", "created_at": created_at, "status": "pending",
                "bytes": form.json.get("bytes").and_then(Value::as_u64).unwrap_or(0),
                "filename": model_request::text_at(&form.json, "filename"),
                "purpose": model_request::text_at(&form.json, "purpose"),
                "expires_at": created_at + UPLOAD_SECONDS, "file": NULL,
            };
            (id, json)
        }
        (ResourceKind::VectorStores | ResourceKind::ChatCompletions, _) => {
            let id = ids.next("vs_");
            let metadata = form.json.get("metadata").cloned().unwrap_or(json!({}));
            let files = model_request::list_at(&form.json, "file_ids").len();
            let json = object! {
                "id": id, "object": "vector_store", "created_at": created_at, "status": "completed",
                "name": model_request::text_at(&form.json, "name"), "usage_bytes": 0_u64,
                "file_counts": file_counts(files), "last_active_at": created_at, "metadata": metadata,
            };
            (id, json)
        }
    };
    ResourceOrPart {
        id,
        json,
        content: form.content,
    }
}

pub fn new_parts(
    kind: ResourceKind,
    id: &str,
    form: ResourceCreateBody,
    ids: &IdGenerator,
) -> Vec<ResourceOrPart> {
    if kind == ResourceKind::Containers {
        let part = ids.next("cfile_");
        let json = object! {
            "id": part, "object": "container.file", "container_id": id,
            "created_at": clock::unix_seconds(), "bytes": form.content.len(),
            "path": format!("/mnt/data/{}", form.filename), "source": "user",
        };
        return vec![ResourceOrPart {
            id: part,
            json,
            content: form.content,
        }];
    }
    if kind == ResourceKind::Uploads {
        let part = ids.next("part_");
        let json = object! {
            "id": part, "object": "upload.part", "created_at": clock::unix_seconds(), "upload_id": id,
        };
        return vec![ResourceOrPart {
            id: part,
            json,
            content: form.content,
        }];
    }
    if kind == ResourceKind::VectorStores {
        return vector_store_files(id, &form.json);
    }
    let items = model_request::list_at(&form.json, "items").iter();
    items
        .map(|item| {
            let id = ids.next("msg_");
            let json = object! {
                "id": id, "type": "message", "status": "completed",
                "role": model_request::text_at(item, "role"),
                "content": item.get("content").cloned().unwrap_or_default(),
            };
            ResourceOrPart {
                id,
                json,
                content: Bytes::new(),
            }
        })
        .collect()
}

pub fn list<'e>(entries: impl Iterator<Item = &'e ResourceOrPart>) -> JsonText {
    let (ids, data): (Vec<&str>, Vec<&JsonText>) = entries
        .map(|entry| (entry.id.as_str(), &entry.json))
        .unzip();
    object! {
        "object": "list", "data": data,
        "first_id": ids.first(), "last_id": ids.last(), "has_more": false,
    }
}

pub fn unknown(kind: ResourceKind, id: &str) -> ApiError {
    let what = match kind {
        ResourceKind::Files => "File",
        ResourceKind::Conversations => "Conversation",
        ResourceKind::Containers => "Container",
        ResourceKind::Uploads => "Upload",
        ResourceKind::VectorStores => "VectorStore",
        ResourceKind::ChatCompletions => "ChatCompletion",
    };
    ApiError::not_found(format!("No such {what} object: {id}"))
}

/// A file of OpenAI's API.
pub fn file(id: &str, bytes: usize, filename: &str, purpose: &str) -> JsonText {
    object! {
        "id": id, "object": "file", "bytes": bytes, "created_at": clock::unix_seconds(),
        "filename": filename, "purpose": purpose, "status": "processed",
    }
}

pub fn deleted(kind: ResourceKind, id: &str) -> JsonText {
    let object = match kind {
        ResourceKind::Files => "file",
        ResourceKind::Conversations => "conversation.deleted",
        ResourceKind::Containers => "container.deleted",
        ResourceKind::Uploads => "upload.deleted",
        ResourceKind::VectorStores => "vector_store.deleted",
        ResourceKind::ChatCompletions => "chat.completion.deleted",
    };
    object! {"id": id, "object": object, "deleted": true}
}

/// The files that a body adds to a vector store: one by `file_id`, or several by `file_ids` or `files`.
fn vector_store_files(store: &str, body: &Value) -> Vec<ResourceOrPart> {
    let one = body.get("file_id").and_then(Value::as_str);
    let listed = model_request::list_at(body, "file_ids").iter();
    let objects = model_request::list_at(body, "files").iter();
    let ids = one
        .into_iter()
        .chain(listed.filter_map(Value::as_str))
        .chain(objects.filter_map(|file| file.get("file_id")?.as_str()));
    ids.map(|id| ResourceOrPart {
        id: id.to_owned(),
        json: object! {
            "id": id, "object": "vector_store.file", "created_at": clock::unix_seconds(),
            "vector_store_id": store, "status": "completed", "usage_bytes": 0_u64, "last_error": NULL,
        },
        content: Bytes::new(),
    })
    .collect()
}

/// What the deletion of a file from a vector store returns; the file itself stays.
pub fn removed_from_vector_store(file: &str) -> JsonText {
    object! {"id": file, "object": "vector_store.file.deleted", "deleted": true}
}

/// A batch of files that were added to a vector store; all of them are ready at once.
pub fn file_batch(id: &str, store: &str, files: usize) -> JsonText {
    object! {
        "id": id, "object": "vector_store.files_batch", "created_at": clock::unix_seconds(),
        "vector_store_id": store, "status": "completed", "file_counts": file_counts(files),
    }
}

fn file_counts(files: usize) -> JsonText {
    object! {"in_progress": 0_u64, "completed": files, "failed": 0_u64, "cancelled": 0_u64, "total": files}
}

/// One result for each file of the store.
pub fn search_results(store: &StoredResource, body: &Value) -> JsonText {
    let query = body.get("query").cloned().unwrap_or_default();
    let text = query.as_str().unwrap_or_default();
    let result = |file: &ResourceOrPart| {
        let content = object! {"type": "text", "text": format!("About {text}")};
        object! {
            "file_id": file.id, "filename": "notes.txt", "score": 0.9_f64, "attributes": json!({}), "content": [content],
        }
    };
    let data: Vec<JsonText> = store.parts.iter().map(result).collect();
    object! {
        "object": "vector_store.search_results.page", "search_query": [text], "data": data, "has_more": false,
        "next_page": NULL,
    }
}

/// The upload with the file that its parts become, in the order of `part_ids`.
///
/// # Errors
/// `400` if the upload is not pending, or a part is not one of it.
pub fn completed_upload(
    upload: &StoredResource,
    body: &Value,
    ids: &IdGenerator,
) -> Result<(JsonText, ResourceOrPart), ApiError> {
    let mut json: Value = serde_json::from_slice(upload.entry.json.as_bytes()).unwrap_or_default();
    let status = model_request::text_at(&json, "status");
    if status != "pending" {
        return Err(ApiError::invalid(format!("Upload has status {status}.")));
    }
    let mut content = BytesMut::new();
    for part in model_request::required_list(body, "part_ids")? {
        let (_, part) = upload.part(part.as_str().unwrap_or_default())?;
        content.extend_from_slice(&part.content);
    }
    let id = ids.next("file-");
    let file = object! {
        "id": id, "object": "file", "bytes": content.len(), "created_at": clock::unix_seconds(),
        "filename": model_request::text_at(&json, "filename"),
        "purpose": model_request::text_at(&json, "purpose"), "status": "processed",
    };
    json["status"] = "completed".into();
    json["file"] = serde_json::from_slice(file.as_bytes()).unwrap_or_default();
    let entry = ResourceOrPart {
        id,
        json: file,
        content: content.freeze(),
    };
    Ok((JsonText::serialize(&json), entry))
}

/// The object with another status.
pub fn with_status(object: &JsonText, status: &str) -> JsonText {
    let mut json: Value = serde_json::from_slice(object.as_bytes()).unwrap_or_default();
    json["status"] = status.into();
    JsonText::serialize(&json)
}

/// A chat completion as it is stored: with the metadata of its request.
pub fn with_metadata(completion: &JsonText, request: &Value) -> JsonText {
    let mut json: Value = serde_json::from_slice(completion.as_bytes()).unwrap_or_default();
    json["metadata"] = request.get("metadata").cloned().unwrap_or_default();
    JsonText::serialize(&json)
}

/// The messages of the request, as the stored chat completion `id` lists them.
pub fn stored_messages(id: &str, request: &Value) -> Vec<ResourceOrPart> {
    let messages = model_request::list_at(request, "messages").iter();
    let stored = |(index, message): (usize, &Value)| {
        let id = format!("{id}-{index}");
        let mut json = message.clone();
        json["id"] = id.clone().into();
        ResourceOrPart {
            id,
            json: JsonText::serialize(&json),
            content: Bytes::new(),
        }
    };
    messages.enumerate().map(stored).collect()
}

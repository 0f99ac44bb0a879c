//! The resources of accounts: files, conversations with items, containers with files.

use super::api_error::ApiError;
use super::dialect::ApiDialect;
use super::endpoint::{ResourceKind, ResourceOperation};
use super::endpoint_result::SuccessfulResponse;
use super::headers::form_boundary;
use super::ids::IdGenerator;
use super::json::{JsonText, object};
use super::{clock, model_request};
use bytes::Bytes;
use headgate_protocol::ids::form_values;
use http::request::Parts;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of resources; the oldest are removed first.
const MAX_THINGS: usize = 1_000;
const MAX_BYTES: usize = 128 << 20;

/// The content type of every file, because uploaded types are not stored.
const FILE_TYPE: &str = "application/octet-stream";

/// All resources of all accounts.
#[derive(Default)]
pub struct ResourceStore(Mutex<Vec<StoredResource>>);

/// A file, a conversation or a container.
struct StoredResource {
    account: String,
    kind: ResourceKind,
    entry: ResourceOrPart,
    /// The items of a conversation, the files of a container.
    parts: Vec<ResourceOrPart>,
}

struct ResourceOrPart {
    id: String,
    json: JsonText,
    content: Bytes,
}

/// The body of a request, from a form or from JSON.
pub struct ResourceCreateBody {
    json: Value,
    filename: String,
    purpose: String,
    content: Bytes,
}

impl StoredResource {
    fn part(&self, id: &str) -> Result<(usize, &ResourceOrPart), ApiError> {
        let mut parts = self.parts.iter().enumerate();
        let found = parts.find(|(_, part)| part.id == id);
        found.ok_or_else(|| unknown(self.kind, id))
    }
}

fn place(
    resources: &[StoredResource],
    account: &str,
    kind: ResourceKind,
    id: &str,
) -> Result<usize, ApiError> {
    resources
        .iter()
        .position(|thing| thing.account == account && thing.kind == kind && thing.entry.id == id)
        .ok_or_else(|| unknown(kind, id))
}

fn put(
    resources: &mut Vec<StoredResource>,
    account: &str,
    kind: ResourceKind,
    entry: ResourceOrPart,
) {
    resources.push(StoredResource {
        account: account.to_owned(),
        kind,
        entry,
        parts: Vec::new(),
    });
    let bytes = |resources: &[StoredResource]| -> usize {
        resources
            .iter()
            .map(|thing| thing.entry.content.len())
            .sum()
    };
    while resources.len() > MAX_THINGS || bytes(resources) > MAX_BYTES {
        resources.remove(0);
    }
}

fn deleted(kind: ResourceKind, id: &str) -> JsonText {
    let object = match kind {
        ResourceKind::Files => "file",
        ResourceKind::Conversations => "conversation.deleted",
        ResourceKind::Containers => "container.deleted",
    };
    object! {"id": id, "object": object, "deleted": true}
}

impl ResourceStore {
    /// Performs an operation on the resources of the account.
    ///
    /// # Errors
    /// `404` if the account does not have the resource.
    pub fn respond(
        &self,
        kind: ResourceKind,
        operation: ResourceOperation,
        form: ResourceCreateBody,
        dialect: ApiDialect,
        account: &str,
        ids: &IdGenerator,
    ) -> Result<SuccessfulResponse, ApiError> {
        self.check_named(account, &form.json)?;
        let mut resources = self.lock();
        let find = |resources: &[StoredResource], id| place(resources, account, kind, id);
        let json = match operation {
            ResourceOperation::Create => {
                let entry = new_entry(kind, form, dialect, ids);
                let json = entry.json.clone();
                put(&mut resources, account, kind, entry);
                json
            }
            ResourceOperation::List => {
                let own = |thing: &&StoredResource| thing.account == account && thing.kind == kind;
                list(resources.iter().rev().filter(own).map(|thing| &thing.entry))
            }
            ResourceOperation::Get(id) => resources[find(&resources, id)?].entry.json.clone(),
            ResourceOperation::Content(id) => {
                let content = &resources[find(&resources, id)?].entry.content;
                return Ok(SuccessfulResponse::Content(FILE_TYPE, content.clone()));
            }
            ResourceOperation::Delete(id) => {
                let index = find(&resources, id)?;
                resources.remove(index);
                deleted(kind, id)
            }
            ResourceOperation::AddPart(id) => {
                let index = find(&resources, id)?;
                let new = new_parts(kind, id, form, ids);
                let json = match (kind, new.as_slice()) {
                    (ResourceKind::Containers, [only]) => only.json.clone(),
                    _ => list(new.iter()),
                };
                resources[index].parts.extend(new);
                json
            }
            ResourceOperation::ListParts(id) => {
                list(resources[find(&resources, id)?].parts.iter().rev())
            }
            ResourceOperation::GetPart(id, part) => {
                resources[find(&resources, id)?].part(part)?.1.json.clone()
            }
            ResourceOperation::PartContent(id, part) => {
                let (_, part) = resources[find(&resources, id)?].part(part)?;
                return Ok(SuccessfulResponse::Content(FILE_TYPE, part.content.clone()));
            }
            ResourceOperation::DeletePart(id, part) => {
                let thing = find(&resources, id)?;
                let (index, _) = resources[thing].part(part)?;
                resources[thing].parts.remove(index);
                resources[thing].entry.json.clone()
            }
        };
        Ok(SuccessfulResponse::Whole(json))
    }

    /// Creates the container for a tool, and returns its id.
    pub fn new_container(&self, account: &str, ids: &IdGenerator) -> String {
        let form = ResourceCreateBody::json(Value::Null);
        let entry = new_entry(ResourceKind::Containers, form, ApiDialect::Responses, ids);
        let id = entry.id.clone();
        put(&mut self.lock(), account, ResourceKind::Containers, entry);
        id
    }

    /// Refuses a body that refers to a resource which the account does not have.
    ///
    /// # Errors
    /// `404` with the id.
    pub fn check_named(&self, account: &str, body: &Value) -> Result<(), ApiError> {
        let resources = self.lock();
        for (kind, id) in named(body) {
            place(&resources, account, kind, id)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<StoredResource>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResourceCreateBody {
    /// Parses a body by its content type; a body that is neither a form nor JSON counts as empty.
    pub fn parse(head: &Parts, raw: &Bytes) -> Self {
        let Some(boundary) = form_boundary(&head.headers) else {
            return Self::json(serde_json::from_slice(raw).unwrap_or_default());
        };
        let field = |name: &str| form_values(raw, boundary, name).next();
        let text =
            |value: Option<&[u8]>| String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
        let before = String::from_utf8_lossy(&raw[..raw.len().min(4096)]).into_owned();
        let filename = before.split("filename=\"").nth(1);
        let filename = filename.and_then(|rest| rest.split('"').next());
        Self {
            json: Value::Null,
            filename: filename.unwrap_or("upload").to_owned(),
            purpose: text(field("purpose")),
            content: field("file").map_or_else(Bytes::new, Bytes::copy_from_slice),
        }
    }

    fn json(json: Value) -> Self {
        Self {
            json,
            filename: String::new(),
            purpose: String::new(),
            content: Bytes::new(),
        }
    }
}

fn new_entry(
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
            let json = object! {
                "id": id, "object": "file", "bytes": form.content.len(), "created_at": created_at,
                "filename": form.filename, "purpose": form.purpose, "status": "processed",
            };
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
    };
    ResourceOrPart {
        id,
        json,
        content: form.content,
    }
}

fn new_parts(
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

fn list<'e>(entries: impl Iterator<Item = &'e ResourceOrPart>) -> JsonText {
    let (ids, data): (Vec<&str>, Vec<&JsonText>) = entries
        .map(|entry| (entry.id.as_str(), &entry.json))
        .unzip();
    object! {
        "object": "list", "data": data,
        "first_id": ids.first(), "last_id": ids.last(), "has_more": false,
    }
}

fn unknown(kind: ResourceKind, id: &str) -> ApiError {
    let what = match kind {
        ResourceKind::Files => "File",
        ResourceKind::Conversations => "Conversation",
        ResourceKind::Containers => "Container",
    };
    ApiError::not_found(format!("No such {what} object: {id}"))
}

/// The resources that a body refers to. Independent of the gateway's search for ids, so that one tests the other.
fn named(body: &Value) -> Vec<(ResourceKind, &str)> {
    fn files<'b>(value: &'b Value, found: &mut Vec<(ResourceKind, &'b str)>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| files(item, found)),
            Value::Object(members) => {
                for (key, value) in members {
                    match (key.as_str(), value) {
                        ("file_id", Value::String(id)) => found.push((ResourceKind::Files, id)),
                        ("file_ids", Value::Array(ids)) => {
                            let ids = ids.iter().filter_map(Value::as_str);
                            found.extend(ids.map(|id| (ResourceKind::Files, id)));
                        }
                        _ => files(value, found),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    files(body, &mut found);
    fn resource_id(value: &Value) -> Option<&str> {
        value.get("id").unwrap_or(value).as_str()
    }
    let conversation = body.get("conversation").and_then(resource_id);
    found.extend(conversation.map(|id| (ResourceKind::Conversations, id)));
    let tools = model_request::list_at(body, "tools").iter();
    let containers = tools.filter_map(|tool| tool.get("container")?.as_str());
    let container = body.get("container").and_then(resource_id);
    found.extend(
        containers
            .chain(container)
            .map(|id| (ResourceKind::Containers, id)),
    );
    found
}

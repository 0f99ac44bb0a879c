//! The resources of accounts: files, conversations with items, containers and vector stores with files, uploads in parts, stored
//! chat completions.

mod objects;
mod references;

use super::api_error::ApiError;
use super::dialect::ApiDialect;
use super::endpoint::{ResourceKind, ResourceOperation};
use super::endpoint_result::SuccessfulResponse;
use super::headers::form_boundary;
use super::ids::IdGenerator;
use super::json::JsonText;
use bytes::Bytes;
use headgate_protocol::ids::form_values;
use http::request::Parts;
use objects::{deleted, list, new_entry, new_parts, unknown};
use references::named;
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

/// One resource of an account.
struct StoredResource {
    account: String,
    kind: ResourceKind,
    entry: ResourceOrPart,
    /// The items of a conversation, the files of a container or vector store, the parts of an upload, the messages of a chat
    /// completion.
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
                    (ResourceKind::Conversations, _) | (_, [] | [_, _, ..]) => list(new.iter()),
                    (_, [only]) => only.json.clone(),
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
            ResourceOperation::DeletePart(id, part_id) => {
                let thing = find(&resources, id)?;
                let (index, _) = resources[thing].part(part_id)?;
                resources[thing].parts.remove(index);
                match kind {
                    ResourceKind::VectorStores => objects::removed_from_vector_store(part_id),
                    _ => resources[thing].entry.json.clone(),
                }
            }
            ResourceOperation::Complete(id) => {
                let index = find(&resources, id)?;
                let upload = &mut resources[index];
                let (json, file) = objects::completed_upload(upload, &form.json, ids)?;
                upload.entry.json = json.clone();
                put(&mut resources, account, ResourceKind::Files, file);
                json
            }
            ResourceOperation::Cancel(id) => {
                let index = find(&resources, id)?;
                let upload = &mut resources[index];
                upload.entry.json = objects::with_status(&upload.entry.json, "cancelled");
                upload.entry.json.clone()
            }
            ResourceOperation::Search(id) => {
                objects::search_results(&resources[find(&resources, id)?], &form.json)
            }
            ResourceOperation::AddBatch(id) => {
                let store = find(&resources, id)?;
                let new = new_parts(kind, id, form, ids);
                let batch = objects::file_batch(&ids.next("vsfb_"), id, new.len());
                resources[store].parts.extend(new);
                batch
            }
            ResourceOperation::GetBatch(id, batch) => {
                let store = &resources[find(&resources, id)?];
                objects::file_batch(batch, id, store.parts.len())
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

    /// Stores a chat completion with the messages of its request.
    pub fn put_chat_completion(&self, account: &str, id: &str, json: JsonText, request: &Value) {
        let entry = ResourceOrPart {
            id: id.to_owned(),
            json: objects::with_metadata(&json, request),
            content: Bytes::new(),
        };
        let mut resources = self.lock();
        put(
            &mut resources,
            account,
            ResourceKind::ChatCompletions,
            entry,
        );
        if let Some(stored) = resources.last_mut() {
            stored.parts = objects::stored_messages(id, request);
        }
    }

    /// Adds a file that the provider wrote.
    pub fn add_file(&self, account: &str, id: &str, filename: &str, purpose: &str, content: Bytes) {
        let json = objects::file(id, content.len(), filename, purpose);
        let entry = ResourceOrPart {
            id: id.to_owned(),
            json,
            content,
        };
        put(&mut self.lock(), account, ResourceKind::Files, entry);
    }

    /// The content of a file.
    ///
    /// # Errors
    /// `404` if the account does not have it.
    pub fn file_content(&self, account: &str, id: &str) -> Result<Bytes, ApiError> {
        let resources = self.lock();
        let index = place(&resources, account, ResourceKind::Files, id)?;
        Ok(resources[index].entry.content.clone())
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
            content: field("file")
                .or_else(|| field("data"))
                .map_or_else(Bytes::new, Bytes::copy_from_slice),
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

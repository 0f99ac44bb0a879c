//! What accounts keep at the simulated provider: files, conversations with items, containers with files.

use super::dialect::Dialect;
use super::endpoint::{Deed, Shelf};
use super::headers::form_boundary;
use super::ids::Ids;
use super::json::{Json, object};
use super::outcome::Outcome;
use super::refusal::Refusal;
use super::{ask, clock};
use bytes::Bytes;
use headgate_protocol::multipart;
use http::request::Parts;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The oldest things go first.
const MAX_THINGS: usize = 1_000;
const MAX_BYTES: usize = 128 << 20;

/// The content type of every file, since none is kept.
const FILE_TYPE: &str = "application/octet-stream";

/// All shelves of all accounts.
#[derive(Default)]
pub struct Shelves(Mutex<Vec<Thing>>);

/// A file, a conversation or a container.
struct Thing {
    account: String,
    shelf: Shelf,
    entry: Entry,
    /// The items of a conversation, the files of a container.
    parts: Vec<Entry>,
}

struct Entry {
    id: String,
    json: Json,
    content: Bytes,
}

/// A body, as a form or as JSON.
pub struct Form {
    json: Value,
    filename: String,
    purpose: String,
    content: Bytes,
}

impl Thing {
    fn part(&self, id: &str) -> Result<(usize, &Entry), Refusal> {
        let mut parts = self.parts.iter().enumerate();
        let found = parts.find(|(_, part)| part.id == id);
        found.ok_or_else(|| unknown(self.shelf, id))
    }
}

fn place(things: &[Thing], account: &str, shelf: Shelf, id: &str) -> Result<usize, Refusal> {
    things
        .iter()
        .position(|thing| thing.account == account && thing.shelf == shelf && thing.entry.id == id)
        .ok_or_else(|| unknown(shelf, id))
}

fn put(things: &mut Vec<Thing>, account: &str, shelf: Shelf, entry: Entry) {
    things.push(Thing {
        account: account.to_owned(),
        shelf,
        entry,
        parts: Vec::new(),
    });
    let bytes =
        |things: &[Thing]| -> usize { things.iter().map(|thing| thing.entry.content.len()).sum() };
    while things.len() > MAX_THINGS || bytes(things) > MAX_BYTES {
        things.remove(0);
    }
}

fn deleted(shelf: Shelf, id: &str) -> Json {
    let object = match shelf {
        Shelf::Files => "file",
        Shelf::Conversations => "conversation.deleted",
        Shelf::Containers => "container.deleted",
    };
    object! {"id": id, "object": object, "deleted": true}
}

impl Shelves {
    /// Does what is asked for on a shelf of the caller's account.
    ///
    /// # Errors
    /// `404` for what this account does not have there.
    pub fn answer(
        &self,
        shelf: Shelf,
        deed: Deed,
        form: Form,
        dialect: Dialect,
        account: &str,
        ids: &Ids,
    ) -> Result<Outcome, Refusal> {
        self.check_named(account, &form.json)?;
        let mut things = self.things();
        let find = |things: &[Thing], id| place(things, account, shelf, id);
        let json = match deed {
            Deed::Create => {
                let entry = new_entry(shelf, form, dialect, ids);
                let json = entry.json.clone();
                put(&mut things, account, shelf, entry);
                json
            }
            Deed::List => {
                let own = |thing: &&Thing| thing.account == account && thing.shelf == shelf;
                list(things.iter().rev().filter(own).map(|thing| &thing.entry))
            }
            Deed::Get(id) => things[find(&things, id)?].entry.json.clone(),
            Deed::Content(id) => {
                let content = &things[find(&things, id)?].entry.content;
                return Ok(Outcome::Content(FILE_TYPE, content.clone()));
            }
            Deed::Delete(id) => {
                let index = find(&things, id)?;
                things.remove(index);
                deleted(shelf, id)
            }
            Deed::AddPart(id) => {
                let index = find(&things, id)?;
                let new = new_parts(shelf, id, form, ids);
                let json = match (shelf, new.as_slice()) {
                    (Shelf::Containers, [only]) => only.json.clone(),
                    _ => list(new.iter()),
                };
                things[index].parts.extend(new);
                json
            }
            Deed::ListParts(id) => list(things[find(&things, id)?].parts.iter().rev()),
            Deed::GetPart(id, part) => things[find(&things, id)?].part(part)?.1.json.clone(),
            Deed::PartContent(id, part) => {
                let (_, part) = things[find(&things, id)?].part(part)?;
                return Ok(Outcome::Content(FILE_TYPE, part.content.clone()));
            }
            Deed::DeletePart(id, part) => {
                let thing = find(&things, id)?;
                let (index, _) = things[thing].part(part)?;
                things[thing].parts.remove(index);
                things[thing].entry.json.clone()
            }
        };
        Ok(Outcome::Whole(json))
    }

    /// Makes the container that a tool asked for, and tells its id.
    pub fn new_container(&self, account: &str, ids: &Ids) -> String {
        let form = Form::json(Value::Null);
        let entry = new_entry(Shelf::Containers, form, Dialect::Responses, ids);
        let id = entry.id.clone();
        put(&mut self.things(), account, Shelf::Containers, entry);
        id
    }

    /// Refuses a body that names what this account does not have.
    ///
    /// # Errors
    /// `404` with the id.
    pub fn check_named(&self, account: &str, body: &Value) -> Result<(), Refusal> {
        let things = self.things();
        for (shelf, id) in named(body) {
            place(&things, account, shelf, id)?;
        }
        Ok(())
    }

    fn things(&self) -> MutexGuard<'_, Vec<Thing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Form {
    /// Reads a body by its content type; what is neither a form nor JSON is empty.
    pub fn of(head: &Parts, raw: &Bytes) -> Self {
        let Some(boundary) = form_boundary(&head.headers) else {
            return Self::json(serde_json::from_slice(raw).unwrap_or_default());
        };
        let field = |name: &str| multipart::values(raw, boundary, name).next();
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

fn new_entry(shelf: Shelf, form: Form, dialect: Dialect, ids: &Ids) -> Entry {
    let created_at = clock::unix_seconds();
    let (id, json) = match (shelf, dialect) {
        (Shelf::Files, Dialect::Messages) => {
            let id = ids.next("file_");
            let json = object! {
                "id": id, "type": "file", "filename": form.filename,
                "mime_type": "application/octet-stream", "size_bytes": form.content.len(),
                "created_at": "2026-01-01T00:00:00Z", "downloadable": false,
            };
            (id, json)
        }
        (Shelf::Files, _) => {
            let id = ids.next("file-");
            let json = object! {
                "id": id, "object": "file", "bytes": form.content.len(), "created_at": created_at,
                "filename": form.filename, "purpose": form.purpose, "status": "processed",
            };
            (id, json)
        }
        (Shelf::Conversations, _) => {
            let id = ids.next("conv_");
            let metadata = form.json.get("metadata").cloned().unwrap_or_default();
            let json = object! {
                "id": id, "object": "conversation", "created_at": created_at, "metadata": metadata,
            };
            (id, json)
        }
        (Shelf::Containers, _) => {
            let id = ids.next("cntr_");
            let json = object! {
                "id": id, "object": "container", "created_at": created_at, "status": "running",
                "expires_after": object! {"anchor": "last_active_at", "minutes": 20_u64},
                "last_active_at": created_at, "name": ask::text_at(&form.json, "name"),
            };
            (id, json)
        }
    };
    Entry {
        id,
        json,
        content: form.content,
    }
}

fn new_parts(shelf: Shelf, id: &str, form: Form, ids: &Ids) -> Vec<Entry> {
    if shelf == Shelf::Containers {
        let part = ids.next("cfile_");
        let json = object! {
            "id": part, "object": "container.file", "container_id": id,
            "created_at": clock::unix_seconds(), "bytes": form.content.len(),
            "path": format!("/mnt/data/{}", form.filename), "source": "user",
        };
        return vec![Entry {
            id: part,
            json,
            content: form.content,
        }];
    }
    let items = ask::list_at(&form.json, "items").iter();
    items
        .map(|item| {
            let id = ids.next("msg_");
            let json = object! {
                "id": id, "type": "message", "status": "completed",
                "role": ask::text_at(item, "role"),
                "content": item.get("content").cloned().unwrap_or_default(),
            };
            Entry {
                id,
                json,
                content: Bytes::new(),
            }
        })
        .collect()
}

fn list<'e>(entries: impl Iterator<Item = &'e Entry>) -> Json {
    let (ids, data): (Vec<&str>, Vec<&Json>) = entries
        .map(|entry| (entry.id.as_str(), &entry.json))
        .unzip();
    object! {
        "object": "list", "data": data,
        "first_id": ids.first(), "last_id": ids.last(), "has_more": false,
    }
}

fn unknown(shelf: Shelf, id: &str) -> Refusal {
    let what = match shelf {
        Shelf::Files => "File",
        Shelf::Conversations => "Conversation",
        Shelf::Containers => "Container",
    };
    Refusal::not_found(format!("No such {what} object: {id}"))
}

/// What a body names, by a walk of its own that knows nothing of the gateway's.
fn named(body: &Value) -> Vec<(Shelf, &str)> {
    fn files<'b>(value: &'b Value, found: &mut Vec<(Shelf, &'b str)>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| files(item, found)),
            Value::Object(members) => {
                for (key, value) in members {
                    match (key.as_str(), value) {
                        ("file_id", Value::String(id)) => found.push((Shelf::Files, id)),
                        ("file_ids", Value::Array(ids)) => {
                            let ids = ids.iter().filter_map(Value::as_str);
                            found.extend(ids.map(|id| (Shelf::Files, id)));
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
    fn id_of(value: &Value) -> Option<&str> {
        value.get("id").unwrap_or(value).as_str()
    }
    let conversation = body.get("conversation").and_then(id_of);
    found.extend(conversation.map(|id| (Shelf::Conversations, id)));
    let tools = ask::list_at(body, "tools").iter();
    let containers = tools.filter_map(|tool| tool.get("container")?.as_str());
    let container = body.get("container").and_then(id_of);
    found.extend(
        containers
            .chain(container)
            .map(|id| (Shelf::Containers, id)),
    );
    found
}

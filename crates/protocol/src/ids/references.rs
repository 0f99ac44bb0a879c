//! Finds the ids in a request's body by which a provider looks something up.

use super::{NAMED_MAX, ReferencedId, ResourceIdKind};
use crate::json::{DocumentNode, JsonDocument, ValueKind};
use memchr::memmem;

/// The ids to which a request refers.
#[derive(Debug, Default)]
pub struct IdReferences {
    /// If there are more than [`NAMED_MAX`], one more than that.
    pub ids: Vec<ReferencedId>,
    /// The first field that must be an id, or a list of ids, and is something else, as a dotted path. A provider might still
    /// find an id in it.
    pub unreadable: Option<String>,
}

/// The ids of responses, conversations, files, containers, vector stores, items, audio and prompts in a request's body.
///
/// Only fields by which a provider looks something up. Conversation history that callers send back (citations, tool
/// calls and their results) contains ids too, but does not refer to them.
pub fn references_in_body(body: &JsonDocument) -> IdReferences {
    let mut found = ReferencedIdCollector::default();
    let holds_files = may_hold(body.body(), b"file_id");
    for (key, value) in body.root().members() {
        found.at.clear();
        found.at.push_str(&key);
        match &*key {
            "previous_response_id" => found.id(value, ResourceIdKind::Response),
            "conversation" => found.id_or_object(value, ResourceIdKind::Conversation),
            "container" => found.id_or_object(value, ResourceIdKind::Container),
            "file_id" | "input_file_id" => found.file(value),
            "file_ids" => found.file_list(value),
            "vector_store_ids" => found.vector_store_list(value),
            "tools" => found.tools(value),
            // Fields of image edits, and of batches of files for a vector store.
            "images" | "files" => found.objects_with_file(value),
            "mask" => found.member(value, "file_id", ReferencedIdCollector::file),
            "prompt" if value.kind() == ValueKind::Object => {
                found.member(value, "id", |found, id| {
                    found.id(id, ResourceIdKind::Prompt)
                });
            }
            "input" | "items" if may_hold(body.body(), b"\"id\"") => found.item_references(value),
            "messages" if may_hold(body.body(), b"\"audio\"") => found.audio(value),
            _ => {}
        }
        let holds_parts = matches!(
            &*key,
            "input" | "items" | "messages" | "system" | "instructions" | "prompt"
        );
        if holds_files && holds_parts {
            found.files(value);
        }
    }
    found.found
}

/// The ids of [`references_in_body`].
pub fn named_in_body(body: &JsonDocument) -> Vec<ReferencedId> {
    references_in_body(body).ids
}

/// Object types whose `file_id` refers to the file's content.
const FILE_CARRIERS: &[&str] = &[
    "input_file",
    "input_image",
    "input_audio",
    "computer_screenshot",
    "container_upload",
    "file",
];

/// Whether the body may have a key. Most bodies have not and need no walk; a key may be written with escapes.
fn may_hold(body: &[u8], key: &[u8]) -> bool {
    memmem::find(body, key).is_some() || memmem::find(body, b"\\u").is_some()
}

/// What was found so far, and the current path.
#[derive(Default)]
struct ReferencedIdCollector {
    found: IdReferences,
    at: String,
}

impl ReferencedIdCollector {
    fn id(&mut self, value: DocumentNode<'_>, kind: ResourceIdKind) {
        match value.as_str() {
            Some(id) if !id.is_empty() && self.found.ids.len() <= NAMED_MAX => {
                self.found.ids.push(ReferencedId {
                    id: id.into_owned(),
                    kind,
                    at: self.at.clone(),
                });
            }
            Some(_) => {}
            None => self.unreadable_unless_null(value),
        }
    }

    fn unreadable_unless_null(&mut self, value: DocumentNode<'_>) {
        if !value.is_null() && self.found.unreadable.is_none() {
            self.found.unreadable = Some(self.at.clone());
        }
    }

    fn list(&mut self, list: DocumentNode<'_>, kind: ResourceIdKind) {
        match list.kind() {
            ValueKind::Array => {
                for (index, value) in list.elements().enumerate() {
                    self.below(index, |found| found.id(value, kind));
                }
            }
            _ => self.unreadable_unless_null(list),
        }
    }

    fn id_or_object(&mut self, value: DocumentNode<'_>, kind: ResourceIdKind) {
        match value.kind() {
            ValueKind::Object => self.member(value, "id", |found, id| found.id(id, kind)),
            _ => self.id(value, kind),
        }
    }

    fn file(&mut self, value: DocumentNode<'_>) {
        self.id(value, ResourceIdKind::File);
    }

    fn file_list(&mut self, list: DocumentNode<'_>) {
        self.list(list, ResourceIdKind::File);
    }

    fn vector_store_list(&mut self, list: DocumentNode<'_>) {
        self.list(list, ResourceIdKind::VectorStore);
    }

    /// Items of earlier responses, and of conversations: a reference may have no type, but has nothing of a message or call.
    fn item_references(&mut self, items: DocumentNode<'_>) {
        for (index, item) in items.elements().enumerate() {
            let [id, kind, role, content] = item.get_each(["id", "type", "role", "content"]);
            let kind = kind.filter(|kind| !kind.is_null());
            let is_reference = match kind {
                Some(kind) => kind.as_str().as_deref() == Some("item_reference"),
                None => role.or(content).is_none(),
            };
            if let Some(id) = id.filter(|_| is_reference) {
                self.below(index, |found| {
                    found.below("id", |found| found.id(id, ResourceIdKind::Item));
                });
            }
        }
    }

    /// Audio of earlier messages.
    fn audio(&mut self, messages: DocumentNode<'_>) {
        for (index, message) in messages.elements().enumerate() {
            let audio = message.get("audio").and_then(|audio| audio.get("id"));
            if let Some(id) = audio {
                self.below(index, |found| {
                    found.below("audio.id", |found| found.id(id, ResourceIdKind::Audio));
                });
            }
        }
    }

    fn objects_with_file(&mut self, list: DocumentNode<'_>) {
        if list.kind() == ValueKind::Object {
            self.member(list, "file_id", Self::file);
        }
        for (index, object) in list.elements().enumerate() {
            self.below(index, |found| found.member(object, "file_id", Self::file));
        }
    }

    fn tools(&mut self, tools: DocumentNode<'_>) {
        for (index, tool) in tools.elements().enumerate() {
            self.below(index, |found| {
                found.member(tool, "container", Self::tool_container);
                // In the computer-use tool, `environment` is a string (the operating system) and matches nothing here.
                found.member(tool, "environment", Self::container_object);
                found.member(tool, "vector_store_ids", Self::vector_store_list);
                found.member(tool, "input_image_mask", |found, mask| {
                    found.member(mask, "file_id", Self::file);
                });
            });
        }
    }

    /// An existing container's id, or an object with the files of a new container.
    fn tool_container(&mut self, container: DocumentNode<'_>) {
        match container.kind() {
            ValueKind::Object => self.container_object(container),
            _ => self.id(container, ResourceIdKind::Container),
        }
    }

    fn container_object(&mut self, container: DocumentNode<'_>) {
        self.member(container, "container_id", |found, id| {
            found.id(id, ResourceIdKind::Container);
        });
        self.member(container, "file_ids", Self::file_list);
    }

    /// Collects files within messages and other items, at any depth.
    fn files(&mut self, node: DocumentNode<'_>) {
        match node.kind() {
            ValueKind::Array => {
                for (index, element) in node.elements().enumerate() {
                    self.below(index, |found| found.files(element));
                }
            }
            ValueKind::Object => self.files_of_object(node),
            _ => {}
        }
    }

    fn files_of_object(&mut self, object: DocumentNode<'_>) {
        let kind = object.get("type").and_then(|kind| kind.as_str());
        let kind = kind.as_deref().unwrap_or_default();
        if FILE_CARRIERS.contains(&kind) {
            self.member(object, "file_id", Self::file);
            self.member(object, "file", |found, file| {
                found.member(file, "file_id", Self::file);
            });
        }
        for (key, value) in object.members() {
            // The arguments that a model wrote for a tool have no defined structure.
            let is_free_form = key == "input" && kind.ends_with("tool_use");
            if !is_free_form && matches!(value.kind(), ValueKind::Array | ValueKind::Object) {
                self.below(&key, |found| found.files(value));
            }
        }
    }

    fn member(
        &mut self,
        object: DocumentNode<'_>,
        key: &str,
        look: impl FnOnce(&mut Self, DocumentNode<'_>),
    ) {
        if let Some(value) = object.get(key) {
            self.below(key, |found| look(found, value));
        }
    }

    fn below(&mut self, step: impl std::fmt::Display, look: impl FnOnce(&mut Self)) {
        use std::fmt::Write;
        let length = self.at.len();
        write!(self.at, ".{step}").expect("a text grows");
        look(self);
        self.at.truncate(length);
    }
}

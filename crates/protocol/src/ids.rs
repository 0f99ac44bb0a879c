//! Finds ids in messages: those that a request refers to, and those that a response or event creates.

mod echoes;
mod form_values;
#[cfg(test)]
mod tests;

pub use echoes::repeatable_ids;
pub use form_values::form_values;

use super::json::{DocumentNode, JsonDocument, ValueKind, skim};
use super::stream::event_type;
use memchr::memmem;
use std::ops::Range;

/// An event that has ids.
#[derive(Debug)]
pub struct IdEvent {
    /// Empty for a protocol whose events have no names.
    pub name: &'static str,
    /// The member with the object that has them.
    pub member: &'static str,
    pub form: IdObjectForm,
}

/// The object of an event that has ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdObjectForm {
    /// What a whole response has, or a part of it.
    Response,
    /// An output item of the responses protocol.
    Item,
    /// A content block of the messages protocol.
    Block,
    /// The id itself, of a chat completion.
    ChatCompletionId,
}

/// An id that a request refers to.
#[derive(Debug, PartialEq, Eq)]
pub struct ReferencedId {
    pub id: String,
    pub kind: ResourceIdKind,
    /// The field as a dotted path: `input.0.content.1.file_id`.
    pub at: String,
}

/// The kind of resource that an id refers to, as far as its field or path shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceIdKind {
    Response,
    Conversation,
    File,
    Container,
    Upload,
    VectorStore,
    ChatCompletion,
    Batch,
    Other,
}

/// The ids that a response creates.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CreatedIds {
    /// The id of the response's own object: a response, file, conversation, container, upload, vector store or batch.
    pub own: Option<String>,
    /// The id of a chat completion, which can be used again only if the request asked the provider to store it.
    pub chat_completion: Option<String>,
    /// The ids of objects created along with it: its conversation, containers of tools, files that tools wrote, the file of a
    /// completed upload, the output of a batch.
    pub others: Vec<String>,
    /// Sealed texts that the caller may send back, as spans of the JSON.
    pub sealed: Vec<Range<usize>>,
}

impl ResourceIdKind {
    /// The kind of a path's collection, such as `/v1/files`.
    pub fn from_path(path: &str) -> Self {
        let mut segments = path.split('/');
        segments
            .find_map(|segment| match segment {
                "responses" => Some(Self::Response),
                "conversations" => Some(Self::Conversation),
                "files" => Some(Self::File),
                "containers" => Some(Self::Container),
                "uploads" => Some(Self::Upload),
                "vector_stores" => Some(Self::VectorStore),
                "completions" => Some(Self::ChatCompletion),
                "batches" => Some(Self::Batch),
                _ => None,
            })
            .unwrap_or(Self::Other)
    }

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Conversation => "conversation",
            Self::File => "file",
            Self::Container => "container",
            Self::Upload => "upload",
            Self::VectorStore => "vector store",
            Self::ChatCompletion => "chat completion",
            Self::Batch => "batch",
            Self::Other => "thing",
        }
    }
}

/// The maximum number of ids per request: each lookup has a cost that callers must not control.
pub const NAMED_MAX: usize = 1000;

/// The ids of responses, conversations, files, containers and vector stores in a request's body; if there are more than [`NAMED_MAX`],
/// one more than that.
///
/// Only fields by which a provider looks something up. Conversation history that callers send back (citations, tool
/// calls and their results) contains ids too, but does not refer to them.
pub fn named_in_body(body: &JsonDocument) -> Vec<ReferencedId> {
    let mut found = ReferencedIdCollector::default();
    let holds_files = may_hold_files(body.body());
    for (key, value) in body.root().members() {
        found.at.clear();
        found.at.push_str(&key);
        match &*key {
            "previous_response_id" => found.id(value, ResourceIdKind::Response),
            "conversation" => found.id_or_object(value, ResourceIdKind::Conversation),
            "container" => found.id_or_object(value, ResourceIdKind::Container),
            "file_id" | "input_file_id" => found.file(value),
            "file_ids" => found.file_list(value),
            "tools" => found.tools(value),
            // Fields of image edits, and of batches of files for a vector store.
            "images" | "files" => found.objects_with_file(value),
            "mask" => found.member(value, "file_id", ReferencedIdCollector::file),
            "input" | "items" | "messages" | "system" | "instructions" | "prompt"
                if holds_files =>
            {
                found.files(value);
            }
            _ => {}
        }
    }
    found.ids
}

/// The ids in a JSON response, depending on its object type.
pub fn made_in_body(body: &[u8]) -> CreatedIds {
    made_in_object(body, 0..body.len())
}

/// The ids in an event of a stream. For events with text, only the event's name is checked.
pub fn made_in_event(events: &[IdEvent], name: Option<&[u8]>, data: &[u8]) -> CreatedIds {
    let name = match events {
        [] => return CreatedIds::default(),
        // All events of the protocol are of one kind.
        [IdEvent { name: "", .. }] => b"",
        _ => name.or_else(|| event_type(data)).unwrap_or_default(),
    };
    let row = events.iter().find(|event| event.name.as_bytes() == name);
    let found = row.and_then(|event| Some((event.form, skim::find(data, &[event.member])?)));
    let mut made = CreatedIds::default();
    match found {
        Some((IdObjectForm::Response, range)) => return made_in_object(data, range),
        Some((IdObjectForm::Item, range)) => made.add_item(data, range),
        Some((IdObjectForm::Block, range)) => made.add_block(data, range),
        Some((IdObjectForm::ChatCompletionId, range)) => made.chat_completion = text(data, range),
        None => {}
    }
    made
}

fn made_in_object(json: &[u8], range: Range<usize>) -> CreatedIds {
    let mut made = CreatedIds::default();
    let mut kind = None;
    let (mut uploaded, mut results) = (None, Vec::new());
    for (key, value) in skim::members(json, range) {
        match key {
            b"id" => made.own = text(json, value),
            b"object" | b"type" => kind = kind.or_else(|| skim::plain_string(json, value)),
            b"conversation" | b"container" => {
                let id = member(json, value.clone(), b"id").or_else(|| text(json, value));
                made.others.extend(id);
            }
            b"file" => uploaded = member(json, value, b"id"),
            // A batch has them as soon as they exist.
            b"output_file_id" | b"error_file_id" => results.extend(text(json, value)),
            b"output" => {
                for item in skim::elements(json, value) {
                    made.add_item(json, item);
                }
            }
            b"content" => {
                for block in skim::elements(json, value) {
                    made.add_block(json, block);
                }
            }
            _ => {}
        }
    }
    match kind {
        // Its id cannot be used in later requests.
        Some("message") => made.own = None,
        // Only these objects create files: a provider may echo a caller's members in others.
        Some("upload") => made.others.extend(uploaded),
        Some("batch") => made.others.extend(results),
        Some(kind) if kind.starts_with("chat.completion") => made.chat_completion = made.own.take(),
        _ => {}
    }
    made
}

impl CreatedIds {
    /// Adds the ids of an output item of the responses protocol.
    fn add_item(&mut self, json: &[u8], item: Range<usize>) {
        for (key, value) in skim::members(json, item) {
            match key {
                b"container_id" => self.others.extend(text(json, value)),
                b"environment" => self.others.extend(member(json, value, b"container_id")),
                b"encrypted_content" => self.sealed.push(value),
                _ => {}
            }
        }
    }

    /// Adds the ids of a content block of the messages protocol: files that executed code wrote are in its result. Only
    /// blocks of reasoning have a signature or data.
    fn add_block(&mut self, json: &[u8], block: Range<usize>) {
        let within = |range, key: &[u8]| {
            skim::members(json, range)
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value)
        };
        let mut result = None;
        for (key, value) in skim::members(json, block) {
            match key {
                b"content" => result = result.or(Some(value)),
                b"signature" | b"data" => self.sealed.push(value),
                _ => {}
            }
        }
        let outputs = result.and_then(|result| within(result, b"content"));
        for output in outputs
            .into_iter()
            .flat_map(|list| skim::elements(json, list))
        {
            self.others.extend(member(json, output, b"file_id"));
        }
    }
}

fn member(json: &[u8], object: Range<usize>, key: &[u8]) -> Option<String> {
    let (_, value) = skim::members(json, object).find(|(name, _)| *name == key)?;
    text(json, value)
}

fn text(json: &[u8], value: Range<usize>) -> Option<String> {
    skim::plain_string(json, value).map(str::to_owned)
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

/// Whether the body may refer to files. Most bodies do not and need no walk; a key may be written with escapes.
fn may_hold_files(body: &[u8]) -> bool {
    memmem::find(body, b"file_id").is_some() || memmem::find(body, b"\\u").is_some()
}

/// The ids found so far, and the current path.
#[derive(Default)]
struct ReferencedIdCollector {
    ids: Vec<ReferencedId>,
    at: String,
}

impl ReferencedIdCollector {
    fn id(&mut self, value: DocumentNode<'_>, kind: ResourceIdKind) {
        if self.ids.len() <= NAMED_MAX
            && let Some(id) = value.as_str().filter(|id| !id.is_empty())
        {
            self.ids.push(ReferencedId {
                id: id.into_owned(),
                kind,
                at: self.at.clone(),
            });
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
        for (index, value) in list.elements().enumerate() {
            self.below(index, |found| found.file(value));
        }
    }

    fn vector_store_list(&mut self, list: DocumentNode<'_>) {
        for (index, value) in list.elements().enumerate() {
            self.below(index, |found| found.id(value, ResourceIdKind::VectorStore));
        }
    }

    fn objects_with_file(&mut self, list: DocumentNode<'_>) {
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
        self.id(container, ResourceIdKind::Container);
        self.container_object(container);
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

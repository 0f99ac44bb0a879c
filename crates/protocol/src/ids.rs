//! Finds ids in messages: those that a request refers to, and those that a response or event creates.

mod audio;
mod echoes;
mod form_values;
mod references;
#[cfg(test)]
mod tests;

pub use audio::audio_in_chunk;
pub use echoes::repeatable_ids;
pub use form_values::{field_name, form_values};
pub use references::{IdReferences, named_in_body, references_in_body};

use super::json::skim;
use super::stream::event_type;
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
    /// An item that a response has put out.
    Item,
    /// Audio that a chat completion has put out.
    Audio,
    /// A prompt of the account.
    Prompt,
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
    /// completed upload, the output of a batch, audio.
    pub others: Vec<String>,
    /// The ids of output items, to which a request may refer if the provider keeps the response.
    pub items: Vec<String>,
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
            Self::Item => "item",
            Self::Audio => "audio",
            Self::Prompt => "prompt",
            Self::Other => "thing",
        }
    }
}

/// The maximum number of ids per request: each lookup has a cost that callers must not control.
pub const NAMED_MAX: usize = 1000;

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
            b"choices" => made.others.extend(audio::in_choices(json, value)),
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
                b"id" => self.items.extend(text(json, value)),
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

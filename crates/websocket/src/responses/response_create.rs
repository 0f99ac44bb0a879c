//! `response.create`: a request of the responses protocol, with members that only WebSockets have.

use super::conversation::ConversationNode;
use super::item_list::append_items;
use super::stream_id::StreamId;
use bytes::{Bytes, BytesMut};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};

/// The members that a request over HTTP does not have.
const SOCKET_MEMBERS: [&str; 3] = ["type", "stream_id", "generate"];
const PREVIOUS: &str = "previous_response_id";

/// A `response.create`.
#[derive(Debug)]
pub struct ResponseCreate {
    pub stream: Option<StreamId>,
    document: JsonDocument,
}

impl ResponseCreate {
    pub(super) fn new(document: JsonDocument, stream: Option<StreamId>) -> Self {
        Self { stream, document }
    }

    /// Number of bytes of the message.
    pub fn len(&self) -> usize {
        self.document.body().len()
    }

    /// The response that it continues.
    pub fn previous_response_id(&self) -> Option<String> {
        let previous = self.document.root().get(PREVIOUS)?;
        Some(previous.as_str()?.into_owned())
    }

    /// Whether it only prepares a conversation: nothing is to be generated.
    pub fn is_warm_up(&self) -> bool {
        self.flag("generate") == Some(false)
    }

    /// Whether the provider is to store the response.
    pub fn is_stored(&self) -> bool {
        self.flag("store") != Some(false)
    }

    /// The items of its input, as JSON texts with commas between them. Copied, so that nothing else of the message stays in memory.
    pub fn items(&self) -> Bytes {
        let Some(input) = self.document.root().get("input") else {
            return Bytes::new();
        };
        let raw = input.raw();
        match input.kind() {
            ValueKind::Array => Bytes::copy_from_slice(raw[1..raw.len() - 1].trim_ascii()),
            ValueKind::String => {
                let item = [br#"{"type":"message","role":"user","content":"#, raw, b"}"];
                item.concat().into()
            }
            _ => Bytes::new(),
        }
    }

    /// The body of the request over HTTP, which is streamed. With a `conversation`, its items come before those of the input, in
    /// place of the id of the response that is continued.
    pub fn http_body(&self, conversation: Option<&ConversationNode>) -> Bytes {
        let root = self.document.root();
        let mut edits = JsonEdits::default();
        for name in SOCKET_MEMBERS {
            remove(&mut edits, root, name);
        }
        edits.insert_member(root, "stream", &b"true"[..]);
        if let Some(conversation) = conversation {
            remove(&mut edits, root, PREVIOUS);
            let mut input = BytesMut::from(&b"["[..]);
            conversation.append_items(&mut input);
            append_items(&mut input, &self.items());
            input.extend_from_slice(b"]");
            edits.insert_member(root, "input", input.freeze());
        }
        edits.apply(self.document.body()).to_bytes()
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.document.root().get(name)?.as_bool()
    }
}

fn remove(edits: &mut JsonEdits, root: DocumentNode<'_>, name: &str) {
    if let Some(member) = root.get(name) {
        edits.remove_member(member);
    }
}

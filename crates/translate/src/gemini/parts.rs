//! Reads the parts of a response, whole or of a stream.

use crate::escaped_text::EscapedText;
use crate::typed_value::json_text;
use headgate_protocol::json::{DocumentNode, ValueKind};

/// A part of a candidate's content.
#[derive(Debug)]
pub(super) struct ReceivedPart<'a> {
    pub kind: ReceivedPartKind<'a>,
    /// The provider's proof of thoughts.
    pub signature: Option<EscapedText<'a>>,
}

#[derive(Debug)]
pub(super) enum ReceivedPartKind<'a> {
    Text(EscapedText<'a>),
    Thought(EscapedText<'a>),
    Call {
        id: Option<EscapedText<'a>>,
        name: EscapedText<'a>,
        /// A JSON object.
        arguments: &'a str,
    },
    /// What tools of the provider did, images, and parts without anything but a proof.
    Other,
}

/// The parts of a candidate.
pub(super) fn candidate_parts(
    candidate: DocumentNode<'_>,
) -> impl Iterator<Item = DocumentNode<'_>> {
    let parts = candidate
        .get("content")
        .and_then(|content| content.get("parts"));
    parts.into_iter().flat_map(DocumentNode::elements)
}

/// The first candidate. Requests for several are refused.
pub(super) fn first_candidate(candidates: Option<DocumentNode<'_>>) -> Option<DocumentNode<'_>> {
    let mut candidates = candidates.into_iter().flat_map(DocumentNode::elements);
    candidates.find(|candidate| {
        let index = candidate.get("index").filter(|index| !index.is_null());
        index.is_none_or(|index| index.as_u64() == Some(0))
    })
}

/// # Errors
/// Why it is no part of the protocol.
pub(super) fn read_part(part: DocumentNode<'_>) -> Result<ReceivedPart<'_>, String> {
    let [text, thought, signature, call] =
        part.get_each(["text", "thought", "thoughtSignature", "functionCall"]);
    let is_thought = thought.and_then(DocumentNode::as_bool) == Some(true);
    let text = text.and_then(EscapedText::from_node);
    let kind = match (call.filter(|call| !call.is_null()), text) {
        (Some(call), _) => read_call(call)?,
        (None, Some(text)) if is_thought => ReceivedPartKind::Thought(text),
        (None, Some(text)) => ReceivedPartKind::Text(text),
        (None, None) => ReceivedPartKind::Other,
    };
    let signature = signature.and_then(EscapedText::from_node);
    Ok(ReceivedPart {
        kind,
        signature: signature.filter(|signature| !signature.is_empty()),
    })
}

fn read_call(call: DocumentNode<'_>) -> Result<ReceivedPartKind<'_>, String> {
    let [id, name, arguments, pieces, continues] =
        call.get_each(["id", "name", "args", "partialArgs", "willContinue"]);
    let has_pieces = pieces.is_some_and(|pieces| !pieces.is_null());
    if has_pieces || continues.and_then(DocumentNode::as_bool) == Some(true) {
        return Err("the arguments of a call come in pieces, which no request asks for".into());
    }
    let name = name.and_then(EscapedText::from_node);
    let id = id.and_then(EscapedText::from_node);
    let arguments = match arguments.map(|it| (it.kind(), it)) {
        None | Some((ValueKind::Null, _)) => "{}",
        Some((ValueKind::Object, object)) => json_text(object),
        Some((_, other)) => {
            return Err(format!("the arguments of a call are {}", other.type_name()));
        }
    };
    Ok(ReceivedPartKind::Call {
        id: id.filter(|id| !id.is_empty()),
        name: name
            .filter(|name| !name.is_empty())
            .ok_or("a tool call has no name")?,
        arguments,
    })
}

/// An id for a call whose provider gives none: unique in all conversations.
pub(super) fn made_id(response_id: &str, call: u32) -> EscapedText<'static> {
    EscapedText::plain(&format!("call_{response_id}_{call}"))
}

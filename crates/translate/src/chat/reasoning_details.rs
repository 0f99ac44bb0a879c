//! The thoughts in `reasoning_details`, a list whose providers want its proofs back.

use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::typed_value::json_text;
use bytes::Bytes;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};

/// Thoughts of a list, or a piece of them.
#[derive(Debug)]
pub(super) struct ThoughtDetail<'a> {
    pub text: Option<EscapedText<'a>>,
    /// The element without its text, as JSON text, if it has more than that.
    pub proof: Option<EscapedText<'static>>,
    /// Whether the element has a signature. Other pieces of the same thoughts have none.
    pub is_signed: bool,
    /// Whether they are thoughts that only the provider can read.
    pub is_unreadable: bool,
    /// Which thoughts pieces belong to.
    pub index: Option<u64>,
}

impl<'a> ThoughtDetail<'a> {
    /// Thoughts without a list.
    pub fn plain(text: EscapedText<'a>) -> Self {
        Self {
            text: Some(text),
            proof: None,
            is_signed: false,
            is_unreadable: false,
            index: None,
        }
    }
}

/// The thoughts in the list beside a message or delta.
pub(super) fn read_details(list: DocumentNode<'_>) -> impl Iterator<Item = ThoughtDetail<'_>> {
    let text = |node| EscapedText::from_node(node).filter(|text| !text.is_empty());
    list.elements().map(move |detail| {
        let [whole, summary, index] = detail.get_each(["text", "summary", "index"]);
        let marks = detail.get_each(["signature", "data", "id", "format"]);
        let [signature, data, id, format] = marks.map(|mark| mark.and_then(text).is_some());
        let has_proof = signature || data || id || format || is_summary(detail);
        ThoughtDetail {
            text: whole.and_then(text).or_else(|| summary.and_then(text)),
            proof: has_proof.then(|| without_text(detail)),
            is_signed: signature,
            is_unreadable: data,
            index: index.and_then(DocumentNode::as_u64),
        }
    })
}

/// An element without its text, which stands apart from it.
fn without_text(element: DocumentNode<'_>) -> EscapedText<'static> {
    let mut json = JsonWriter::default();
    json.begin_object();
    let mut members = element.members();
    while let Some((name, value)) = members.next_raw() {
        if !matches!(name.written(), "text" | "summary") {
            json.key(name.written()).raw(json_text(value));
        }
    }
    json.end_object();
    EscapedText::plain(&String::from_utf8_lossy(json.as_bytes()))
}

/// Writes an element as its provider gave it, with the whole text of thoughts that came in pieces.
pub(super) fn write_detail(
    proof: Option<&EscapedText<'_>>,
    thoughts: Option<&EscapedText<'_>>,
    json: &mut JsonWriter,
) {
    let element = proof.map(|proof| Bytes::copy_from_slice(proof.decoded().as_bytes()));
    let element = element.and_then(|it| JsonDocument::parse(it, &JsonLimits::default()).ok());
    json.begin_object();
    let mut member = "text";
    if let Some(element) = &element {
        if is_summary(element.root()) {
            member = "summary";
        }
        let mut members = element.root().members();
        while let Some((name, value)) = members.next_raw() {
            if !(name.written() == member && thoughts.is_some()) {
                json.key(name.written()).raw(json_text(value));
            }
        }
    } else {
        json.key("type").literal("reasoning.text");
    }
    if let Some(thoughts) = thoughts.filter(|thoughts| !thoughts.is_empty()) {
        json.key(member).text(thoughts);
    }
    json.end_object();
}

fn is_summary(element: DocumentNode<'_>) -> bool {
    let kind = element.get("type").and_then(EscapedText::from_node);
    kind.is_some_and(|kind| kind.as_written() == "reasoning.summary")
}

//! Reads the content of messages and of results of tools: blocks become parts.

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Arguments, CacheMark, Media, MediaSource, Part, PartKind, ThinkingOrigin};
use crate::typed_value::{boolean, json_text, object, present, refuse, required_text, text};
use headgate_protocol::json::{DocumentNode, ValueKind};

/// Adds the parts of a string or a list of blocks. Texts without content are left out, as the protocol refuses them.
pub(super) fn read_content<'a>(
    content: DocumentNode<'a>,
    parts: &mut Vec<Part<'a>>,
    ledger: &mut Ledger,
) {
    match content.kind() {
        ValueKind::String => parts.extend(read_text(content, content, None)),
        ValueKind::Array => {
            parts.reserve(content.len());
            for block in content.elements() {
                parts.extend(read_block(block, ledger));
            }
        }
        ValueKind::Null | ValueKind::Bool | ValueKind::Number | ValueKind::Object => {
            refuse::<()>(Some(content), "a string or an array", ledger);
        }
    }
}

fn read_text<'a>(
    at: DocumentNode<'a>,
    words: DocumentNode<'a>,
    cache: Option<CacheMark<'a>>,
) -> Option<Part<'a>> {
    let text = EscapedText::from_node(words).filter(|text| !text.is_empty())?;
    let kind = PartKind::Text(text);
    Some(Part { at, kind, cache })
}

fn read_block<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Part<'a>> {
    if at.kind() != ValueKind::Object {
        return refuse(Some(at), "an object", ledger);
    }
    let [kind, cache] = at.get_each(["type", "cache_control"]);
    let name = required_text(at, "type", kind, ledger)?;
    let cache = object(cache, ledger).map(|mark| CacheMark {
        at: mark,
        ttl: text(mark.get("ttl"), ledger),
    });
    let kind = match name.as_written() {
        "text" => {
            let words = at.get("text");
            required_text(at, "text", words, ledger)?;
            return read_text(at, words?, cache);
        }
        "image" => PartKind::Image {
            image: read_source(at, ledger)?,
            detail: None,
        },
        "document" => PartKind::Document {
            name: text(at.get("title"), ledger),
            document: read_source(at, ledger)?,
        },
        "search_result" => PartKind::Text(search_result(at, ledger)?),
        "thinking" => {
            let [words, signature] = at.get_each(["thinking", "signature"]);
            PartKind::Thinking {
                text: required_text(at, "thinking", words, ledger)?,
                signature: text(signature, ledger).filter(|text| !text.is_empty()),
                origin: ThinkingOrigin::Caller,
            }
        }
        "redacted_thinking" => PartKind::SealedThinking {
            data: required_text(at, "data", at.get("data"), ledger)?,
            origin: ThinkingOrigin::Caller,
        },
        "tool_use" => read_call(at, ledger)?,
        "tool_result" => read_result(at, ledger)?,
        other => {
            let reason = format!("is of type `{other:.64}`, which no other protocol has");
            ledger.add(at, FieldOutcome::Refused, reason);
            return None;
        }
    };
    Some(Part { at, kind, cache })
}

fn read_call<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<PartKind<'a>> {
    let [id, name, input] = at.get_each(["id", "name", "input"]);
    if present(input).is_none() {
        ledger.add_missing(at, "input");
    }
    Some(PartKind::ToolCall {
        id: required_text(at, "id", id, ledger)?,
        name: required_text(at, "name", name, ledger)?,
        arguments: Arguments::Object(json_text(object(input, ledger)?)),
    })
}

fn read_result<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<PartKind<'a>> {
    let [id, content, is_error] = at.get_each(["tool_use_id", "content", "is_error"]);
    let mut parts = Vec::new();
    if let Some(content) = present(content) {
        read_content(content, &mut parts, ledger);
    }
    Some(PartKind::ToolResult {
        id: required_text(at, "tool_use_id", id, ledger)?,
        parts,
        is_error: boolean(is_error, ledger).unwrap_or(false),
    })
}

/// Where the bytes of an image or document are.
fn read_source<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<MediaSource<'a>> {
    let source = object(at.get("source"), ledger);
    let Some(source) = source else {
        ledger.add_missing(at, "source");
        return None;
    };
    let [kind, media_type, data, url] = source.get_each(["type", "media_type", "data", "url"]);
    match required_text(source, "type", kind, ledger)?.as_written() {
        "base64" => Some(MediaSource::Inline(Media {
            media_type: required_text(source, "media_type", media_type, ledger)?,
            base64: required_text(source, "data", data, ledger)?,
        })),
        "url" => Some(MediaSource::Url(required_text(source, "url", url, ledger)?)),
        "text" => Some(MediaSource::Text(required_text(
            source, "data", data, ledger,
        )?)),
        "content" => joined_texts(source.get("content"), ledger).map(MediaSource::Text),
        "file" => {
            let reason = "names a file that only its provider has; send its content";
            ledger.add(at, FieldOutcome::AlwaysRefused, reason);
            None
        }
        other => {
            let reason = format!("is a source of type `{other:.64}`, which no other protocol has");
            ledger.add(at, FieldOutcome::Refused, reason);
            None
        }
    }
}

/// The texts of a search result, under its title and source.
fn search_result<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<EscapedText<'a>> {
    let [title, source, content] = at.get_each(["title", "source", "content"]);
    let mut whole = EscapedText::default();
    for head in [text(title, ledger), text(source, ledger)]
        .into_iter()
        .flatten()
    {
        whole.push(&head);
        whole.push(&EscapedText::literal(r"\n"));
    }
    if let Some(words) = joined_texts(content, ledger) {
        whole.push(&words);
    }
    let reason = "is a text with its title and source";
    ledger.add(at, FieldOutcome::Approximated, reason);
    Some(whole)
}

/// The texts of a string or of a list of blocks, with a blank line between them. Other blocks are refused.
fn joined_texts<'a>(
    content: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Option<EscapedText<'a>> {
    let mut parts = Vec::new();
    read_content(present(content)?, &mut parts, ledger);
    let mut whole = EscapedText::default();
    for part in parts {
        if let Some(mark) = part.cache {
            let reason = "is left out, since other protocols have no mark in this place";
            ledger.add(mark.at, FieldOutcome::Dropped, reason);
        }
        let PartKind::Text(words) = part.kind else {
            let reason = "stands where other protocols take only texts";
            ledger.add(part.at, FieldOutcome::Refused, reason);
            continue;
        };
        if !whole.is_empty() {
            whole.push(&EscapedText::literal(r"\n\n"));
        }
        whole.push(&words);
    }
    Some(whole)
}

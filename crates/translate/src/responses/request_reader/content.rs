//! Reads the content of messages and of outputs of tools: parts.

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{CacheMark, MediaSource, Part, PartKind};
use crate::typed_value::{object, present, refuse, required_text, text};
use headgate_protocol::json::{DocumentNode, ValueKind};

/// Adds the parts of a string or a list.
pub(super) fn read_content<'a>(
    content: DocumentNode<'a>,
    parts: &mut Vec<Part<'a>>,
    ledger: &mut Ledger,
) {
    match content.kind() {
        ValueKind::String => parts.extend(read_text_part(content, None, content)),
        ValueKind::Array => {
            parts.reserve(content.len());
            parts.extend(
                content
                    .elements()
                    .filter_map(|part| read_part(part, ledger)),
            );
        }
        ValueKind::Null | ValueKind::Bool | ValueKind::Number | ValueKind::Object => {
            refuse::<()>(Some(content), "a string or an array", ledger);
        }
    }
}

/// The part that a string makes.
pub(super) fn read_text_part<'a>(
    at: DocumentNode<'a>,
    cache: Option<CacheMark<'a>>,
    text: DocumentNode<'a>,
) -> Option<Part<'a>> {
    let kind = PartKind::Text(EscapedText::from_node(text)?);
    Some(Part { at, kind, cache })
}

fn read_part<'a>(part: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Part<'a>> {
    if part.kind() != ValueKind::Object {
        return refuse(Some(part), "an object", ledger);
    }
    let [kind, cache] = part.get_each(["type", "prompt_cache_breakpoint"]);
    let name = required_text(part, "type", kind, ledger)?;
    let cache = read_cache_mark(cache, ledger);
    let kind = match name.as_written() {
        "input_text" | "output_text" | "text" => {
            PartKind::Text(required_text(part, "text", part.get("text"), ledger)?)
        }
        "refusal" => {
            PartKind::Refusal(required_text(part, "refusal", part.get("refusal"), ledger)?)
        }
        "input_image" => read_image(part, ledger)?,
        "input_file" => read_file(part, ledger)?,
        "input_audio" => read_audio(part, ledger)?,
        other => {
            let reason = format!("is of type `{other:.64}`, which no other protocol has");
            ledger.add(part, FieldOutcome::Refused, reason);
            return None;
        }
    };
    let at = part;
    Some(Part { at, kind, cache })
}

fn read_image<'a>(part: DocumentNode<'a>, ledger: &mut Ledger) -> Option<PartKind<'a>> {
    let [url, file_id, detail] = part.get_each(["image_url", "file_id", "detail"]);
    refuse_stored_file(file_id, ledger)?;
    let url = required_text(part, "image_url", url, ledger)?;
    Some(PartKind::Image {
        image: MediaSource::from_uri(url),
        detail: text(detail, ledger),
    })
}

fn read_file<'a>(part: DocumentNode<'a>, ledger: &mut Ledger) -> Option<PartKind<'a>> {
    let [data, url, file_id, name] =
        part.get_each(["file_data", "file_url", "file_id", "filename"]);
    refuse_stored_file(file_id, ledger)?;
    let name = text(name, ledger);
    let document = match text(url, ledger) {
        Some(url) => MediaSource::from_uri(url),
        None => {
            let uri = required_text(part, "file_data", data, ledger)?;
            match MediaSource::from_uri(uri) {
                MediaSource::Url(_) => {
                    let expected = "a data URI, such as `data:application/pdf;base64,…`";
                    return refuse(data, expected, ledger);
                }
                inline @ (MediaSource::Inline(_) | MediaSource::Text(_)) => inline,
            }
        }
    };
    Some(PartKind::Document { document, name })
}

/// Audio in the form of chat completions, which some clients send.
fn read_audio<'a>(part: DocumentNode<'a>, ledger: &mut Ledger) -> Option<PartKind<'a>> {
    let audio = object(part.get("input_audio"), ledger).unwrap_or(part);
    let [data, format] = audio.get_each(["data", "format"]);
    Some(PartKind::Audio {
        data: required_text(audio, "data", data, ledger)?,
        format: required_text(audio, "format", format, ledger)?,
    })
}

/// `None` if the part names a file that a provider stores, which is refused.
fn refuse_stored_file(file_id: Option<DocumentNode<'_>>, ledger: &mut Ledger) -> Option<()> {
    let Some(file_id) = present(file_id) else {
        return Some(());
    };
    let reason = "names a file that only its provider stores; send its data or a URL";
    ledger.add(file_id, FieldOutcome::AlwaysRefused, reason);
    None
}

fn read_cache_mark<'a>(
    mark: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Option<CacheMark<'a>> {
    let at = object(mark, ledger)?;
    let ttl = text(at.get("ttl"), ledger);
    Some(CacheMark { at, ttl })
}

//! Reads the content of messages: a string, or a list of parts.

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{CacheMark, MediaSource, Part, PartKind};
use crate::typed_value::{object, refuse, required_text, text};
use headgate_protocol::json::{DocumentNode, ValueKind};

/// Adds the parts of a string or a list; null has none. Texts without content are left out, as other protocols refuse them.
pub(super) fn read_content<'a>(
    content: Option<DocumentNode<'a>>,
    parts: &mut Vec<Part<'a>>,
    ledger: &mut Ledger,
) {
    let Some(content) = content else {
        return;
    };
    match content.kind() {
        ValueKind::Null => {}
        ValueKind::String => parts.extend(text_part(content, content, None)),
        ValueKind::Array => {
            for part in content.elements() {
                parts.extend(read_part(part, ledger));
            }
        }
        ValueKind::Bool | ValueKind::Number | ValueKind::Object => {
            refuse::<()>(Some(content), "a string or an array", ledger);
        }
    }
}

fn text_part<'a>(
    at: DocumentNode<'a>,
    words: DocumentNode<'a>,
    cache: Option<CacheMark<'a>>,
) -> Option<Part<'a>> {
    let text = EscapedText::from_node(words).filter(|text| !text.is_empty())?;
    let kind = PartKind::Text(text);
    Some(Part { at, kind, cache })
}

fn read_part<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Part<'a>> {
    if at.kind() != ValueKind::Object {
        return refuse(Some(at), "an object", ledger);
    }
    let [kind, mark, words] = at.get_each(["type", "prompt_cache_breakpoint", "text"]);
    let cache = object(mark, ledger).map(|at| CacheMark {
        at,
        ttl: text(at.get("ttl"), ledger),
    });
    let kind = match required_text(at, "type", kind, ledger)?.as_written() {
        "text" => {
            required_text(at, "text", words, ledger)?;
            return text_part(at, words?, cache);
        }
        "refusal" => PartKind::Refusal(required_text(at, "refusal", at.get("refusal"), ledger)?),
        "image_url" => read_image(at, ledger)?,
        "input_audio" => read_audio(at, ledger)?,
        "file" => read_file(at, ledger)?,
        other => {
            let reason = format!("is of type `{other:.64}`, which no other protocol has");
            ledger.add(at, FieldOutcome::Refused, reason);
            return None;
        }
    };
    Some(Part { at, kind, cache })
}

/// Some clients write the URL itself in place of the object.
fn read_image<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<PartKind<'a>> {
    let image = at.get("image_url");
    if let Some(url) = image.and_then(EscapedText::from_node) {
        return Some(PartKind::Image {
            image: MediaSource::from_uri(url),
            detail: None,
        });
    }
    let Some(image) = object(image, ledger) else {
        ledger.add_missing(at, "image_url");
        return None;
    };
    let [url, detail] = image.get_each(["url", "detail"]);
    Some(PartKind::Image {
        image: MediaSource::from_uri(required_text(image, "url", url, ledger)?),
        detail: text(detail, ledger),
    })
}

fn read_audio<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<PartKind<'a>> {
    let Some(audio) = object(at.get("input_audio"), ledger) else {
        ledger.add_missing(at, "input_audio");
        return None;
    };
    let [data, format] = audio.get_each(["data", "format"]);
    Some(PartKind::Audio {
        data: required_text(audio, "data", data, ledger)?,
        format: required_text(audio, "format", format, ledger)?,
    })
}

fn read_file<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<PartKind<'a>> {
    let Some(file) = object(at.get("file"), ledger) else {
        ledger.add_missing(at, "file");
        return None;
    };
    let [name, data, id] = file.get_each(["filename", "file_data", "file_id"]);
    if id.is_some_and(|id| !id.is_null()) {
        let reason = "names a file that only its provider has; send its content as `file_data`";
        ledger.add(at, FieldOutcome::AlwaysRefused, reason);
        return None;
    }
    let name = text(name, ledger);
    match MediaSource::from_uri(required_text(file, "file_data", data, ledger)?) {
        MediaSource::Url(_) => {
            let expected = "a data URI, such as `data:application/pdf;base64,…`";
            refuse(data, expected, ledger)
        }
        document @ (MediaSource::Inline(_) | MediaSource::Text(_)) => {
            Some(PartKind::Document { document, name })
        }
    }
}

//! Writes multipart forms: the parts of a form as text, and a JSON object as a whole form.

use crate::data_uri::DataUri;
use crate::json::{DocumentNode, JsonDocument, ValueKind};
use bytes::Bytes;
use std::hash::{BuildHasher, RandomState};

/// The content type of a file of which nothing else is known.
const ANY_FILE: &str = "application/octet-stream";

/// What separates the parts of a form; random, so that no content of a caller can contain it.
pub struct FormBoundary(String);

/// A form as a whole.
pub struct WrittenForm {
    pub content_type: String,
    pub body: Bytes,
}

/// A data URI in the object whose base64 is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a file of the form is not valid base64")]
pub struct InvalidFormFile;

impl FormBoundary {
    pub fn new() -> Self {
        let seed = RandomState::new();
        Self(format!(
            "headgate-{:016x}{:016x}",
            seed.hash_one(1),
            seed.hash_one(2)
        ))
    }

    pub fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.0)
    }

    /// A field.
    pub fn text(&self, name: &str, value: &str) -> String {
        format!("{}\r\n\r\n{value}\r\n", self.part(name))
    }

    /// What stands before the content of a file, which ends with [`Self::after_file`].
    pub fn before_file(&self, name: &str, media_type: &str) -> String {
        let media_type = if is_media_type(media_type) {
            media_type
        } else {
            ANY_FILE
        };
        let (_, subtype) = media_type.split_once('/').unwrap_or_default();
        let extension: String = subtype
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        let part = self.part(name);
        format!("{part}; filename=\"file.{extension}\"\r\nContent-Type: {media_type}\r\n\r\n")
    }

    pub fn after_file(&self) -> &'static str {
        "\r\n"
    }

    /// The end of the form.
    pub fn end(&self) -> String {
        format!("--{}--\r\n", self.0)
    }

    fn part(&self, name: &str) -> String {
        // As browsers write such names (HTML, "multipart/form-data encoding algorithm").
        let name = name
            .replace('"', "%22")
            .replace('\r', "%0D")
            .replace('\n', "%0A");
        format!(
            "--{}\r\nContent-Disposition: form-data; name=\"{name}\"",
            self.0
        )
    }
}

impl Default for FormBoundary {
    fn default() -> Self {
        Self::new()
    }
}

impl WrittenForm {
    /// A JSON object as a form: a member is a field, an element of a list one field of the list's name, an object JSON
    /// text, and a data URI in base64 a file. Members that are null are left out.
    ///
    /// # Errors
    /// The base64 of a data URI is invalid.
    pub fn from_json(document: &JsonDocument) -> Result<Self, InvalidFormFile> {
        let boundary = FormBoundary::new();
        let mut body = Vec::with_capacity(document.body().len());
        for (name, node) in document.root().members() {
            match node.kind() {
                ValueKind::Array => {
                    for element in node.elements() {
                        push(&mut body, &boundary, &name, element, document)?;
                    }
                }
                _ => push(&mut body, &boundary, &name, node, document)?,
            }
        }
        body.extend_from_slice(boundary.end().as_bytes());
        Ok(Self {
            content_type: boundary.content_type(),
            body: body.into(),
        })
    }
}

fn push(
    body: &mut Vec<u8>,
    boundary: &FormBoundary,
    name: &str,
    node: DocumentNode<'_>,
    document: &JsonDocument,
) -> Result<(), InvalidFormFile> {
    if node.is_null() {
        return Ok(());
    }
    if node.kind() == ValueKind::String {
        let span = node.span();
        let content = document.body().slice(span.start + 1..span.end - 1);
        if let Some(Ok(uri)) = DataUri::read(&content) {
            let head = boundary.before_file(name, &uri.media_type);
            body.extend_from_slice(head.as_bytes());
            let (mut decoder, mut piece) = (uri.decoder(), Vec::new());
            loop {
                decoder
                    .next_piece(&mut piece)
                    .map_err(|_| InvalidFormFile)?;
                if piece.is_empty() {
                    break;
                }
                body.extend_from_slice(&piece);
            }
            body.extend_from_slice(boundary.after_file().as_bytes());
            return Ok(());
        }
    }
    let text = node.as_str();
    let text = text.unwrap_or_else(|| String::from_utf8_lossy(node.raw()));
    body.extend_from_slice(boundary.text(name, &text).as_bytes());
    Ok(())
}

/// Whether a text is a media type that can stand in a header.
fn is_media_type(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-+.".contains(&byte);
    let parts = text.split_once('/');
    parts.is_some_and(|(kind, subtype)| {
        let both = [kind, subtype];
        both.iter()
            .all(|part| !part.is_empty() && part.bytes().all(is_token))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonLimits;
    use serde_json::json;

    fn written(json: &serde_json::Value) -> Result<String, InvalidFormFile> {
        let document =
            JsonDocument::parse(json.to_string().into(), &JsonLimits::default()).unwrap();
        let form = WrittenForm::from_json(&document)?;
        let boundary = form.content_type.rsplit_once('=').unwrap().1.to_owned();
        let body = String::from_utf8(form.body.to_vec()).unwrap();
        Ok(body.replace(&boundary, "B").replace("\r\n", "|"))
    }

    #[test]
    fn an_object_becomes_fields_and_files() {
        let object = json!({
            "prompt": "a \"cat\"\r\n--B", "duration": 5, "sound": true, "seed": null,
            "size": {"width": 1}, "refs": ["x", "y"], "image": "data:image/png;base64,QUJD",
        });
        let expected = "--B|Content-Disposition: form-data; name=\"prompt\"||a \"cat\"|--B|\
            --B|Content-Disposition: form-data; name=\"duration\"||5|\
            --B|Content-Disposition: form-data; name=\"sound\"||true|\
            --B|Content-Disposition: form-data; name=\"size\"||{\"width\":1}|\
            --B|Content-Disposition: form-data; name=\"refs\"||x|\
            --B|Content-Disposition: form-data; name=\"refs\"||y|\
            --B|Content-Disposition: form-data; name=\"image\"; filename=\"file.png\"|Content-Type: image/png||ABC|\
            --B--|";
        let form = written(&object).unwrap();
        let parts_before_end = |form: &str| {
            let parts = form.strip_suffix("--B--|").expect("the form ends");
            let mut parts: Vec<String> = parts.split("--B|Content").map(str::to_owned).collect();
            // The members of the object are in no certain order.
            parts.sort_unstable();
            parts
        };
        assert_eq!(parts_before_end(&form), parts_before_end(expected));
    }

    #[test]
    fn no_name_and_no_media_type_writes_another_header() {
        let form = written(&json!({"a\"\r\nX: y": "1"})).unwrap();
        assert!(form.contains("name=\"a%22%0D%0AX: y\"||1|"), "{form}");
        let head = FormBoundary::new().before_file("a", "image/png\r\nX: y");
        assert!(
            head.contains("Content-Type: application/octet-stream\r\n\r\n"),
            "{head}"
        );
    }

    #[test]
    fn invalid_base64_is_no_file() {
        let form = written(&json!({"image": "data:image/png;base64,!"}));
        assert_eq!(form, Err(InvalidFormFile));
    }
}

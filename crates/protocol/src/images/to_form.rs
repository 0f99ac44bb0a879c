//! Converts an image edit from JSON to a form, with its data URLs as files.

use super::media::{decode_onto, decoded_len, file_extension};
use super::{ImageRequestRewrite, RESPONSE_FORMAT, UnconvertibleField};
use crate::data_uri::split_data_uri;
use crate::form::is_plain_name;
use crate::json::{DocumentNode, JsonDocument, ValueKind};
use bytes::Bytes;
use memchr::memmem;

/// A form, and the content type with its boundary.
#[derive(Debug)]
pub struct EncodedForm {
    pub content_type: String,
    pub body: Bytes,
}

/// Whether a request can be converted to a form. Data URLs are not decoded for this check.
///
/// # Errors
/// The first member that cannot be converted.
pub fn fits_form(document: &JsonDocument) -> Result<(), UnconvertibleField> {
    pieces(document, ImageRequestRewrite::NONE).map(|_| ())
}

/// Converts a request to a form. The boundary is derived from `seed`, which should be different each time.
///
/// # Errors
/// A member cannot be a form field, or an image is not valid base64.
pub fn encode_form(
    document: &JsonDocument,
    rewrite: ImageRequestRewrite<'_>,
    seed: &str,
) -> Result<EncodedForm, UnconvertibleField> {
    let pieces = pieces(document, rewrite)?;
    let room: usize = pieces.iter().map(OutgoingPart::room).sum();
    let seed: String = seed
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(32)
        .collect();
    let mut count = 0;
    loop {
        let boundary = format!("headgate-{seed}-{count}");
        let mut body = Vec::with_capacity(room);
        for piece in &pieces {
            piece.write(&mut body, &boundary)?;
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        // Only a forged file could contain the boundary, and nobody knows the seed.
        if memmem::find_iter(&body, &boundary).count() == pieces.len() + 1 {
            return Ok(EncodedForm {
                content_type: format!("multipart/form-data; boundary={boundary}"),
                body: body.into(),
            });
        }
        count += 1;
    }
}

/// A part to be written.
struct OutgoingPart<'d> {
    name: String,
    /// The path of its value in the JSON, for errors.
    at: String,
    value: PartContent<'d>,
}

enum PartContent<'d> {
    Text(std::borrow::Cow<'d, str>),
    /// A data URL.
    File(std::borrow::Cow<'d, str>),
}

fn pieces<'d>(
    document: &'d JsonDocument,
    rewrite: ImageRequestRewrite<'d>,
) -> Result<Vec<OutgoingPart<'d>>, UnconvertibleField> {
    let mut pieces = Vec::new();
    for (name, node) in document.root().members() {
        match (&*name, node.kind()) {
            (_, ValueKind::Null) => {}
            (RESPONSE_FORMAT, _) if !rewrite.keep_response_format => {}
            ("images", ValueKind::Array) => {
                // Several images are a list, which has its own name in forms.
                let name = if node.len() == 1 { "image" } else { "image[]" };
                for (index, image) in node.elements().enumerate() {
                    pieces.push(OutgoingPart::file(name, format!("images[{index}]"), image)?);
                }
            }
            ("mask", ValueKind::Object) => {
                pieces.push(OutgoingPart::file("mask", "mask".into(), node)?)
            }
            ("model", ValueKind::String) if rewrite.model.is_some() => {
                pieces.push(OutgoingPart::text(
                    "model",
                    rewrite.model.unwrap_or_default().into(),
                ));
            }
            (name, ValueKind::Array | ValueKind::Object) => return Err(no_place(name)),
            // As a form field, such a name could be read as another field.
            (name, _) if !is_field_name(name) => return Err(no_place(name)),
            (name, ValueKind::String) => {
                pieces.push(OutgoingPart::text(name, node.as_str().unwrap_or_default()));
            }
            (name, ValueKind::Number | ValueKind::Bool) => {
                let raw = String::from_utf8_lossy(node.raw());
                pieces.push(OutgoingPart::text(name, raw));
            }
        }
    }
    Ok(pieces)
}

impl<'d> OutgoingPart<'d> {
    fn text(name: &str, value: std::borrow::Cow<'d, str>) -> Self {
        Self {
            name: name.to_owned(),
            at: name.to_owned(),
            value: PartContent::Text(value),
        }
    }

    fn file(
        name: &str,
        at: String,
        reference: DocumentNode<'d>,
    ) -> Result<Self, UnconvertibleField> {
        let url = reference.get("image_url").and_then(DocumentNode::as_str);
        let Some(url) = url else {
            return Err(no_file(format!("{at}.file_id"), "an uploaded file"));
        };
        let at = format!("{at}.image_url");
        match split_data_uri(&url) {
            // The type is written into a header.
            Some((content_type, _)) if content_type.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Ok(Self {
                    name: name.to_owned(),
                    at,
                    value: PartContent::File(url),
                })
            }
            Some(_) => Err(no_base64(&at)),
            None => Err(no_file(at, "a URL")),
        }
    }

    /// An estimate of the part's size in bytes, hardly ever too low.
    fn room(&self) -> usize {
        const HEAD: usize = 256;
        HEAD + match &self.value {
            PartContent::Text(text) => text.len(),
            PartContent::File(url) => decoded_len(url),
        }
    }

    fn write(&self, body: &mut Vec<u8>, boundary: &str) -> Result<(), UnconvertibleField> {
        let name = &self.name;
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"");
        body.extend_from_slice(head.as_bytes());
        match &self.value {
            PartContent::Text(text) => {
                body.extend_from_slice(b"\r\n\r\n");
                body.extend_from_slice(text.as_bytes());
            }
            PartContent::File(url) => {
                let (content_type, base64) = split_data_uri(url).unwrap_or_default();
                let file = format!(
                    "; filename=\"image.{}\"\r\nContent-Type: {content_type}\r\n\r\n",
                    file_extension(&content_type)
                );
                body.extend_from_slice(file.as_bytes());
                decode_onto(body, base64).map_err(|_| no_base64(&self.at))?;
            }
        }
        body.extend_from_slice(b"\r\n");
        Ok(())
    }
}

/// Whether a JSON member may be a text field: every form parser reads its name in the same way.
fn is_field_name(name: &str) -> bool {
    is_plain_name(name) && !name.contains(['[', ']']) && !matches!(name, "image" | "images")
}

fn no_place(name: &str) -> UnconvertibleField {
    let message = format!(
        "`{name}` is not supported by the provider of this model, which takes multipart forms; remove it"
    );
    UnconvertibleField::new(name, message)
}

fn no_file(at: String, what: &str) -> UnconvertibleField {
    let message = format!(
        "`{at}` is {what}, and the provider of this model requires the image data; send it as a data URL such as `data:image/png;base64,…`, or as a form with files"
    );
    UnconvertibleField::new(at, message)
}

fn no_base64(at: &str) -> UnconvertibleField {
    let message = format!("`{at}` must be a data URL with valid base64; encode the image again");
    UnconvertibleField::new(at, message)
}

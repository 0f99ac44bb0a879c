//! Converts the form of a create in OpenAI's video API to the JSON of the same API.
//!
//! SDKs send a form whenever a file may be in it, members of objects as `input_reference[image_url]`.

use crate::fault::{Fault, FaultKind};
use crate::form::{FormPart, MultipartForm};
use crate::images::{detect_type, encode_onto};
use crate::json::quoted;
use bytes::Bytes;

/// The field with the first image: a file, or an object.
const INPUT_REFERENCE: &str = "input_reference";
/// The maximum size of a text field, in bytes: that of an image as a data URI.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// The JSON of a form: texts are strings, a file becomes `{"image_url": "data:…"}`.
///
/// # Errors
/// A field is repeated, nested where it has no members, no UTF-8 text, or a file in another field than `input_reference`.
pub fn encode_json(form: &MultipartForm) -> Result<Bytes, Fault> {
    let mut json = ObjectWriter::with_room(form.body().len());
    let mut reference = ObjectWriter::with_room(0);
    let mut names: Vec<&str> = Vec::new();
    for part in form.parts() {
        if names.contains(&part.name.as_str()) {
            return Err(invalid(part, "was received more than once; send it once"));
        }
        names.push(&part.name);
        let member = part.name.strip_prefix(INPUT_REFERENCE);
        match (member, part.is_file()) {
            (Some(""), true) => reference.data_uri("image_url", form, part),
            (Some(member), false) if !member.is_empty() => {
                let name = member
                    .strip_prefix('[')
                    .and_then(|member| member.strip_suffix(']'))
                    .filter(|name| !name.contains(['[', ']']))
                    .ok_or_else(|| invalid(part, "is unknown"))?;
                reference.text(name, text(form, part)?);
            }
            (Some(""), false) if part.value.is_empty() => {}
            (Some(""), false) => {
                return Err(invalid(
                    part,
                    "must be a file; add a file name to the part, or send `input_reference[image_url]` with a URL",
                ));
            }
            (_, true) => {
                return Err(invalid(
                    part,
                    "must not be a file; send the image in `input_reference`",
                ));
            }
            (_, false) => json.text(&part.name, text(form, part)?),
        }
    }
    if let Some(reference) = reference.end_if_any() {
        json.raw(INPUT_REFERENCE, &reference);
    }
    Ok(json.end())
}

fn text<'f>(form: &'f MultipartForm, part: &FormPart) -> Result<&'f str, Fault> {
    let value = &form.body()[part.value.clone()];
    if value.len() > TEXT_BYTES_MAX {
        return Err(invalid(part, "is too long for a text field"));
    }
    std::str::from_utf8(value).map_err(|_| invalid(part, "is not UTF-8 text"))
}

fn invalid(part: &FormPart, what: &str) -> Fault {
    let name = &part.name;
    Fault::new(FaultKind::Invalid, format!("form field `{name}` {what}")).param(name)
}

/// Writes a JSON object, member by member.
struct ObjectWriter(Vec<u8>);

impl ObjectWriter {
    fn with_room(bytes: usize) -> Self {
        let mut out = Vec::with_capacity(bytes.saturating_mul(4) / 3 + 64);
        out.push(b'{');
        Self(out)
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(&quoted(name));
        self.0.push(b':');
    }

    fn text(&mut self, name: &str, text: &str) {
        self.raw(name, &quoted(text));
    }

    fn raw(&mut self, name: &str, value: &[u8]) {
        self.name(name);
        self.0.extend_from_slice(value);
    }

    fn data_uri(&mut self, name: &str, form: &MultipartForm, part: &FormPart) {
        let content = &form.body()[part.value.clone()];
        self.name(name);
        let media_type = detect_type(content, part.content_type.as_deref());
        let head = quoted(&format!("data:{media_type};base64,"));
        // The base64 needs no escapes; the quote after it closes the string.
        self.0.extend_from_slice(&head[..head.len() - 1]);
        encode_onto(&mut self.0, content);
        self.0.push(b'"');
    }

    fn end(mut self) -> Bytes {
        self.0.push(b'}');
        self.0.into()
    }

    fn end_if_any(self) -> Option<Bytes> {
        (self.0.len() > 1).then(|| self.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn convert(parts: &[(&str, &[u8])]) -> Result<Value, Fault> {
        let mut body = Vec::new();
        for (head, value) in parts {
            let head = format!("--b\r\nContent-Disposition: form-data; name={head}\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(value);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--b--\r\n");
        let form = MultipartForm::parse(body.into(), "b").unwrap();
        encode_json(&form).map(|json| serde_json::from_slice(&json).unwrap())
    }

    #[test]
    fn a_form_becomes_equal_json() {
        let png = b"\x89PNG\r\n\x1a\n";
        let converted = convert(&[
            ("\"model\"", b"m"),
            ("\"prompt\"", "a \"gate\"".as_bytes()),
            ("\"seconds\"", b"4"),
            ("\"input_reference\"; filename=\"a.png\"", png),
        ]);
        let expected = json!({
            "model": "m", "prompt": "a \"gate\"", "seconds": "4",
            "input_reference": {"image_url": "data:image/png;base64,iVBORw0KGgo="},
        });
        assert_eq!(converted.unwrap(), expected);
        let converted = convert(&[("\"input_reference[image_url]\"", b"https://x.example/a.png")]);
        let expected = json!({"input_reference": {"image_url": "https://x.example/a.png"}});
        assert_eq!(converted.unwrap(), expected);
    }

    #[test]
    fn a_field_without_equal_json_is_refused_by_its_name() {
        for (parts, param) in [
            (
                &[("\"model\"", &b"a"[..]), ("\"model\"", b"b")][..],
                "model",
            ),
            (&[("\"prompt\"; filename=\"a\"", b"a")], "prompt"),
            (&[("\"input_reference\"", b"a")], "input_reference"),
            (
                &[("\"input_reference[a][b]\"", b"a")],
                "input_reference[a][b]",
            ),
            (&[("\"prompt\"", b"\xff")], "prompt"),
        ] {
            let fault = convert(parts).unwrap_err();
            assert_eq!(fault.param.as_deref(), Some(param), "{parts:?}");
        }
    }
}

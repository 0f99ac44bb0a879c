//! Converts an image edit from a form to JSON.

use super::field_name::{ImageFieldNameSyntax, is_member_of_field};
use super::media::{detect_type, encode_onto, encoded_len};
use super::{ImageRequestRewrite, RESPONSE_FORMAT, UnconvertibleField};
use crate::form::{FormPart, MultipartForm};
use crate::json::quoted;
use bytes::Bytes;
use std::ops::Range;

/// Fields that are numbers in JSON.
const NUMBERS: [&str; 3] = ["n", "output_compression", "partial_images"];
/// Fields that are booleans in JSON.
const FLAGS: [&str; 1] = ["stream"];
/// The maximum size of a text field in bytes: that of an image in JSON.
const TEXT_BYTES_MAX: usize = 20_971_520;

/// The URL at which a file of a form is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFormFileUrl {
    /// The content of the file within the body.
    pub span: Range<usize>,
    pub url: String,
}

/// How files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRepresentation<'u> {
    /// As data URLs with their content.
    DataUrls,
    /// As data URLs without content, for filters that only need the structure.
    StandIns,
    /// As these URLs, and as data URLs where there is none.
    Urls(&'u [StoredFormFileUrl]),
}

/// The members of an edit, collected from the parts of its form.
#[derive(Default)]
struct EditFormFields<'f> {
    images: Vec<&'f FormPart>,
    images_named: Option<ImageFieldNameSyntax>,
    mask: Option<&'f FormPart>,
    background: Option<&'f FormPart>,
    /// Names without `[]`, each with its parts; a list has several.
    texts: Vec<(&'f str, Vec<&'f FormPart>)>,
}

/// Whether a form can be converted to JSON unambiguously.
///
/// # Errors
/// The first field that cannot be converted.
pub fn fits_json(form: &MultipartForm) -> Result<(), UnconvertibleField> {
    let nested = form.parts().iter().find(|part| {
        let name = part.name.strip_suffix("[]").unwrap_or(&part.name);
        name.contains(['[', ']']) && ImageFieldNameSyntax::parse(&part.name).is_none()
    });
    match nested {
        None => Ok(()),
        Some(part) => Err(UnconvertibleField::new(
            &part.name,
            format!(
                "form field `{}` is not supported by the provider of this model, which takes JSON; remove it, or send JSON",
                part.name
            ),
        )),
    }
}

/// Converts a form to JSON.
///
/// # Errors
/// A field is ambiguous (for example because it is repeated), or the form has no image.
pub fn encode_json(
    form: &MultipartForm,
    files: FileRepresentation<'_>,
    rewrite: ImageRequestRewrite<'_>,
) -> Result<Bytes, UnconvertibleField> {
    let members = EditFormFields::from_form(form)?;
    let mut json = ImageEditJsonWriter::new(form, files);
    for (name, parts) in &members.texts {
        match (*name, rewrite.model) {
            (RESPONSE_FORMAT, _) if !rewrite.keep_response_format => {}
            ("model", Some(_)) => {}
            (name, _) => json.text(name, parts)?,
        }
    }
    if let Some(model) = rewrite.model {
        json.member("model", |out| out.extend_from_slice(&quoted(model)));
    }
    json.images(&members.images);
    if let Some(mask) = members.mask {
        json.member_reference("mask", mask);
    }
    if let Some(background) = members.background {
        json.member_data_url("background", background);
    }
    Ok(json.end())
}

impl<'f> EditFormFields<'f> {
    fn from_form(form: &'f MultipartForm) -> Result<Self, UnconvertibleField> {
        let mut members = Self::default();
        for part in form.parts() {
            let image = ImageFieldNameSyntax::parse(&part.name);
            match (part.name.as_str(), part.is_file()) {
                (_, true) if let Some(name) = image => members.add_image(part, name)?,
                ("mask", true) => once(&mut members.mask, part)?,
                ("background", true) => once(&mut members.background, part)?,
                (name, false) if image.is_some() || name == "mask" => {
                    return Err(UnconvertibleField::new(
                        &part.name,
                        format!(
                            "form field `{}` must be a file; add a file name to the part, or send JSON to give an image by URL",
                            part.name
                        ),
                    ));
                }
                (name, true) => {
                    return Err(UnconvertibleField::new(
                        name,
                        format!(
                            "form field `{name}` must not be a file; send images in `image`, or `image[]` for several, and `mask`"
                        ),
                    ));
                }
                (name, false) if is_member_of_field(name) => {
                    return Err(UnconvertibleField::new(
                        name,
                        format!("form field `{name}` is ambiguous; remove it"),
                    ));
                }
                ("images" | "images[]", false) => {
                    return Err(UnconvertibleField::new(
                        &part.name,
                        "send images in `image`, or in `image[]` for several",
                    ));
                }
                (_, false) => members.add_text(part)?,
            }
        }
        match (members.images.is_empty(), members.background) {
            (true, _) => Err(UnconvertibleField::new(
                "image",
                "missing required form field `image`; send the image as a file in `image`, or several in `image[]`",
            )),
            (false, Some(background))
                if members.texts.iter().any(|(name, _)| *name == "background") =>
            {
                Err(twice(background))
            }
            (false, _) => Ok(members),
        }
    }

    fn add_image(
        &mut self,
        part: &'f FormPart,
        name: ImageFieldNameSyntax,
    ) -> Result<(), UnconvertibleField> {
        let next = match *self.images_named.get_or_insert(match name {
            ImageFieldNameSyntax::Indexed(_) => ImageFieldNameSyntax::Indexed(0),
            same => same,
        }) {
            ImageFieldNameSyntax::Indexed(_) => ImageFieldNameSyntax::Indexed(self.images.len()),
            same => same,
        };
        match (name == next, next) {
            (true, _) => {
                self.images.push(part);
                Ok(())
            }
            (false, ImageFieldNameSyntax::Indexed(index))
                if name != ImageFieldNameSyntax::Plain =>
            {
                let message = format!(
                    "form field `{}` is out of order: expected `image[{index}]`",
                    part.name
                );
                Err(UnconvertibleField::new(&part.name, message))
            }
            (false, _) => Err(UnconvertibleField::new(
                "image",
                "images must all have the same field name; send them all as `image[]`",
            )),
        }
    }

    fn add_text(&mut self, part: &'f FormPart) -> Result<(), UnconvertibleField> {
        let base = part.name.strip_suffix("[]").unwrap_or(&part.name);
        match self.texts.iter_mut().find(|(known, _)| *known == base) {
            None => self.texts.push((base, vec![part])),
            Some((_, parts)) if base != part.name && parts[0].name == part.name => parts.push(part),
            Some(_) => return Err(twice(part)),
        }
        Ok(())
    }
}

fn once<'f>(
    place: &mut Option<&'f FormPart>,
    part: &'f FormPart,
) -> Result<(), UnconvertibleField> {
    match place.replace(part) {
        None => Ok(()),
        Some(_) => Err(twice(part)),
    }
}

fn twice(part: &FormPart) -> UnconvertibleField {
    let message = format!("duplicate form field `{}`; send it once", part.name);
    UnconvertibleField::new(&part.name, message)
}

/// Writes a JSON object, member by member.
struct ImageEditJsonWriter<'f> {
    form: &'f MultipartForm,
    files: FileRepresentation<'f>,
    out: Vec<u8>,
}

impl<'f> ImageEditJsonWriter<'f> {
    fn new(form: &'f MultipartForm, files: FileRepresentation<'f>) -> Self {
        /// The maximum size of a member without its value, and of a data URL's prefix.
        const ROOM: usize = 128;
        let room: usize = form
            .parts()
            .iter()
            .map(|part| match (part.is_file(), files) {
                (true, FileRepresentation::StandIns) => ROOM,
                (true, FileRepresentation::Urls(urls))
                    if let Some(url) = url_for_part(part, urls) =>
                {
                    url.len() + ROOM
                }
                (_, _) => encoded_len(part.value.len()) + ROOM,
            })
            .sum();
        let mut out = Vec::with_capacity(room);
        out.push(b'{');
        Self { form, files, out }
    }

    fn member(&mut self, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        self.out.extend_from_slice(&quoted(name));
        self.out.push(b':');
        value(&mut self.out);
    }

    /// Writes a text field of the form as a number, a boolean, a string or a list of strings.
    fn text(&mut self, name: &str, parts: &[&FormPart]) -> Result<(), UnconvertibleField> {
        let texts: Vec<&str> = parts
            .iter()
            .map(|part| part_text(self.form, part))
            .collect::<Result<_, _>>()?;
        let is_list = parts[0].name.ends_with("[]");
        self.member(name, |out| match (is_list, texts.as_slice()) {
            (false, [text]) if NUMBERS.contains(&name) && is_integer(text) => {
                out.extend_from_slice(text.as_bytes());
            }
            (false, [text]) if FLAGS.contains(&name) && matches!(*text, "true" | "false") => {
                out.extend_from_slice(text.as_bytes());
            }
            (false, [text]) => out.extend_from_slice(&quoted(text)),
            (_, texts) => list(out, texts, |out, text| out.extend_from_slice(&quoted(text))),
        });
        Ok(())
    }

    fn images(&mut self, parts: &[&FormPart]) {
        let (form, files) = (self.form, self.files);
        self.member("images", |out| {
            list(out, parts, |out, part| reference(out, form, part, files));
        });
    }

    fn member_reference(&mut self, name: &str, part: &FormPart) {
        let (form, files) = (self.form, self.files);
        self.member(name, |out| reference(out, form, part, files));
    }

    fn member_data_url(&mut self, name: &str, part: &FormPart) {
        let (form, files) = (self.form, self.files);
        self.member(name, |out| data_url(out, form, part, files));
    }

    fn end(mut self) -> Bytes {
        self.out.push(b'}');
        self.out.into()
    }
}

/// Writes `{"image_url": "data:…"}`.
fn reference(
    out: &mut Vec<u8>,
    form: &MultipartForm,
    part: &FormPart,
    files: FileRepresentation<'_>,
) {
    out.extend_from_slice(b"{\"image_url\":");
    data_url(out, form, part, files);
    out.push(b'}');
}

fn data_url(
    out: &mut Vec<u8>,
    form: &MultipartForm,
    part: &FormPart,
    files: FileRepresentation<'_>,
) {
    match files {
        FileRepresentation::StandIns => {
            return out.extend_from_slice(b"\"data:image/png;base64,\"");
        }
        FileRepresentation::Urls(urls) if let Some(url) = url_for_part(part, urls) => {
            return out.extend_from_slice(&quoted(url));
        }
        FileRepresentation::Urls(_) | FileRepresentation::DataUrls => {}
    }
    let content = &form.body()[part.value.clone()];
    let beginning = format!(
        "data:{};base64,",
        detect_type(content, part.content_type.as_deref())
    );
    out.extend_from_slice(&quoted(&beginning));
    // The closing quote is written after the base64, which needs no escapes.
    out.pop();
    encode_onto(out, content);
    out.push(b'"');
}

fn url_for_part<'u>(part: &FormPart, urls: &'u [StoredFormFileUrl]) -> Option<&'u str> {
    let mut urls = urls.iter();
    let found = urls.find(|file| file.span == part.value)?;
    Some(&found.url)
}

fn list<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

fn part_text<'f>(form: &'f MultipartForm, part: &FormPart) -> Result<&'f str, UnconvertibleField> {
    let unfit = |what: &str| {
        let message = format!("form field `{}` {what}", part.name);
        UnconvertibleField::new(&part.name, message)
    };
    let value = &form.body()[part.value.clone()];
    if value.len() > TEXT_BYTES_MAX {
        return Err(unfit("is too long for a text field; send images as files"));
    }
    std::str::from_utf8(value).map_err(|_| unfit("is not UTF-8 text; send images as files"))
}

/// Whether `text` is an integer in JSON's syntax.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits == "0" || !digits.starts_with('0');
    (1..20).contains(&digits.len()) && is_plain && digits.bytes().all(|byte| byte.is_ascii_digit())
}

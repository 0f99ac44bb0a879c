//! The names of image fields in a form: `image`, once or repeated, `image[]`, or `image[0]` and so on.

use crate::form::{FormPart, MultipartForm};
use crate::json::edit::JsonEdits;

/// The name of several images in forms for providers, whichever name the caller used.
const LIST: &str = "\"image[]\"";

/// The form of the name of an image field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFieldNameSyntax {
    /// `image`
    Plain,
    /// `image[]`
    List,
    /// `image[0]`
    Indexed(usize),
}

impl ImageFieldNameSyntax {
    /// `None` for fields that are not images.
    pub fn parse(name: &str) -> Option<Self> {
        match name.strip_prefix("image")? {
            "" => Some(Self::Plain),
            "[]" => Some(Self::List),
            index => {
                let digits = index.strip_prefix('[')?.strip_suffix(']')?;
                let index: usize = digits.parse().ok()?;
                // Some parsers do not accept `[01]` and `[+1]` as an index.
                (index.to_string() == digits).then_some(Self::Indexed(index))
            }
        }
    }
}

/// Text fields of an image edit.
pub const TEXT_FIELDS: [&str; 14] = [
    "background",
    "input_fidelity",
    "model",
    "moderation",
    "n",
    "output_compression",
    "output_format",
    "partial_images",
    "prompt",
    "quality",
    "response_format",
    "size",
    "stream",
    "user",
];

/// Image fields of an image edit.
const IMAGE_FIELDS: [&str; 3] = ["image", "images", "mask"];

/// Whether a name is a member of a field that has no members: to some parsers `model[0]` or `image[0][url]` is the
/// field itself. List names such as `model[]` are not reported.
pub fn is_member_of_field(name: &str) -> bool {
    let Some((field, _)) = name.split_once(['[', '.']) else {
        return false;
    };
    let is_list = name.strip_suffix("[]") == Some(field);
    !is_list && (TEXT_FIELDS.contains(&field) || IMAGE_FIELDS.contains(&field))
}

/// Renames several images to `image[]`: of a repeated `image` some parsers read only the last one, and some do not
/// support indexes.
pub fn name_as_list(form: &MultipartForm, edits: &mut JsonEdits) {
    let images: Vec<(&FormPart, ImageFieldNameSyntax)> = images(form).collect();
    let is_list = images.len() > 1;
    for (part, name) in images {
        match name {
            ImageFieldNameSyntax::Plain if is_list => {
                edits.replace(part.written_name.clone(), LIST)
            }
            ImageFieldNameSyntax::Indexed(_) => edits.replace(part.written_name.clone(), LIST),
            ImageFieldNameSyntax::Plain | ImageFieldNameSyntax::List => {}
        }
    }
}

/// The field name of the image at an index, or of all images.
pub fn field_of_image(form: &MultipartForm, index: Option<usize>) -> &str {
    let mut images = images(form);
    match (index, images.next()) {
        (_, None)
        | (None, Some((_, ImageFieldNameSyntax::Plain | ImageFieldNameSyntax::Indexed(_)))) => {
            "image"
        }
        (None | Some(0), Some((first, _))) => &first.name,
        (Some(index), Some((first, _))) => images
            .nth(index - 1)
            .map_or(&first.name, |(part, _)| &part.name),
    }
}

fn images(form: &MultipartForm) -> impl Iterator<Item = (&FormPart, ImageFieldNameSyntax)> {
    let parts = form.parts().iter();
    parts.filter_map(|part| Some((part, ImageFieldNameSyntax::parse(&part.name)?)))
}

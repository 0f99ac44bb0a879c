//! The names that a form gives its images: `image`, once or repeated, `image[]`, or `image[0]` and so on.

use crate::form::{FormPart, MultipartForm};
use crate::json::edit::JsonEdits;

/// Several images go to providers under this name, whichever their caller used.
const LIST: &str = "\"image[]\"";

/// How a field is named that holds an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFieldName {
    /// `image`
    Plain,
    /// `image[]`
    List,
    /// `image[0]`
    Indexed(usize),
}

impl ImageFieldName {
    /// None for fields that hold no images.
    pub fn of(name: &str) -> Option<Self> {
        match name.strip_prefix("image")? {
            "" => Some(Self::Plain),
            "[]" => Some(Self::List),
            index => {
                let digits = index.strip_prefix('[')?.strip_suffix(']')?;
                let index: usize = digits.parse().ok()?;
                // `[01]` and `[+1]` are no index to some readers.
                (index.to_string() == digits).then_some(Self::Indexed(index))
            }
        }
    }
}

/// Fields of an edit that hold text.
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

/// Fields of an edit that hold images.
const IMAGE_FIELDS: [&str; 3] = ["image", "images", "mask"];

/// Whether a name is that of a member of a field that has none: what a form writes as a member, `model[0]` or
/// `image[0][url]`, is the field itself to some readers. Lists, `model[]`, are told from their fields elsewhere.
pub fn is_member_of_field(name: &str) -> bool {
    let Some((field, _)) = name.split_once(['[', '.']) else {
        return false;
    };
    let is_list = name.strip_suffix("[]") == Some(field);
    !is_list && (TEXT_FIELDS.contains(&field) || IMAGE_FIELDS.contains(&field))
}

/// Names several images as a list, `image[]`: of a repeated field some readers keep the last one only, and some
/// know no indexes.
pub fn name_as_list(form: &MultipartForm, edits: &mut JsonEdits) {
    let images: Vec<(&FormPart, ImageFieldName)> = images(form).collect();
    let is_list = images.len() > 1;
    for (part, name) in images {
        match name {
            ImageFieldName::Plain if is_list => edits.replace(part.written_name.clone(), LIST),
            ImageFieldName::Indexed(_) => edits.replace(part.written_name.clone(), LIST),
            ImageFieldName::Plain | ImageFieldName::List => {}
        }
    }
}

/// The field of the image at an index, or of all of them.
pub fn field_of_image(form: &MultipartForm, index: Option<usize>) -> &str {
    let mut images = images(form);
    match (index, images.next()) {
        (_, None) | (None, Some((_, ImageFieldName::Plain | ImageFieldName::Indexed(_)))) => {
            "image"
        }
        (None | Some(0), Some((first, _))) => &first.name,
        (Some(index), Some((first, _))) => images
            .nth(index - 1)
            .map_or(&first.name, |(part, _)| &part.name),
    }
}

fn images(form: &MultipartForm) -> impl Iterator<Item = (&FormPart, ImageFieldName)> {
    let parts = form.parts().iter();
    parts.filter_map(|part| Some((part, ImageFieldName::of(&part.name)?)))
}

//! Image edits: their form and their JSON, each written as the other, and what an answer to them lacks.

mod field_name;
mod media;
mod response;
mod to_form;
mod to_json;

#[cfg(test)]
mod tests;

pub use field_name::{TEXT_FIELDS, field_of_image, name_as_list};
pub use media::{encode_onto, type_of};
pub use response::{ImageDelivery, MismatchedImage, complete};
pub use to_form::{EncodedForm, encode_form, fits_form};
pub use to_json::{FileEncoding, encode_json, fits_json};

use crate::fault::{Fault, FaultKind};

/// The field that this gateway takes care of where providers do not know it.
pub const RESPONSE_FORMAT: &str = "response_format";

/// What becomes of a request on its way to a channel.
#[derive(Clone, Copy, Debug)]
pub struct ImageRequestRewrite<'m> {
    /// The model's name there.
    pub model: Option<&'m str>,
    /// Whether `response_format` goes along.
    pub keep_response_format: bool,
}

impl ImageRequestRewrite<'_> {
    /// Everything stays as the caller wrote it.
    pub const NONE: Self = Self {
        model: None,
        keep_response_format: true,
    };
}

/// A field that has no place in the other form of a request, or none at all.
#[derive(Debug, PartialEq, Eq)]
pub struct UnconvertibleField {
    /// The field, as the caller knows it.
    pub param: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl UnconvertibleField {
    fn new(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            param: param.into(),
            message: message.into(),
        }
    }
}

impl From<UnconvertibleField> for Fault {
    fn from(unfit: UnconvertibleField) -> Self {
        Self::new(FaultKind::Invalid, unfit.message).param(unfit.param)
    }
}

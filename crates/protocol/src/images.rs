//! Image edits: their form and their JSON, each written as the other, and what an answer to them lacks.

mod answer;
mod field_name;
mod form_of;
mod json_of;
mod media;

#[cfg(test)]
mod tests;

pub use answer::{ImagesAs, Unlike, complete};
pub use field_name::{TEXT_FIELDS, field_of_image, name_as_list};
pub use form_of::{WrittenForm, fits_form, form_of};
pub use json_of::{FilesAs, fits_json, json_of};
pub use media::{encode_onto, type_of};

use crate::fault::{Fault, FaultKind};

/// The field that this gateway takes care of where providers do not know it.
pub const RESPONSE_FORMAT: &str = "response_format";

/// What becomes of a request on its way to a channel.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite<'m> {
    /// The model's name there.
    pub model: Option<&'m str>,
    /// Whether `response_format` goes along.
    pub keep_response_format: bool,
}

impl Rewrite<'_> {
    /// Everything stays as the caller wrote it.
    pub const NONE: Self = Self {
        model: None,
        keep_response_format: true,
    };
}

/// A field that has no place in the other form of a request, or none at all.
#[derive(Debug, PartialEq, Eq)]
pub struct Unfit {
    /// The field, as the caller knows it.
    pub param: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl Unfit {
    fn new(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            param: param.into(),
            message: message.into(),
        }
    }
}

impl From<Unfit> for Fault {
    fn from(unfit: Unfit) -> Self {
        Self::new(FaultKind::Invalid, unfit.message).param(unfit.param)
    }
}

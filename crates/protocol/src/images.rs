//! Image edits: conversion of requests between form and JSON, and completion of responses.

mod field_name;
mod media;
mod response;
mod to_form;
mod to_json;

#[cfg(test)]
mod tests;

pub use field_name::{TEXT_FIELDS, field_of_image, name_as_list};
pub use media::{detect_type, encode_onto};
pub use response::{ImageToConvert, RequestedImageDelivery, complete, image_count, is_image_event};
pub use to_form::{EncodedForm, encode_form, fits_form};
pub use to_json::{FileRepresentation, StoredFormFileUrl, encode_json, fits_json};

use crate::fault::{Fault, FaultKind};
use crate::form::MultipartForm;
use bytes::Bytes;

/// The request field that the gateway applies if a provider does not support it.
pub const RESPONSE_FORMAT: &str = "response_format";

/// How a request is changed for a channel.
#[derive(Clone, Copy, Debug)]
pub struct ImageRequestRewrite<'m> {
    /// The model's name on the channel.
    pub model: Option<&'m str>,
    /// Whether `response_format` is sent to the provider.
    pub keep_response_format: bool,
}

impl ImageRequestRewrite<'_> {
    /// No change.
    pub const NONE: Self = Self {
        model: None,
        keep_response_format: true,
    };
}

/// Writes the fields of an edit's form as JSON, with stand-ins for its files.
///
/// # Errors
/// A field is ambiguous, or the form has no image.
pub fn describe_form(form: &MultipartForm) -> Result<Bytes, Fault> {
    let described = encode_json(
        form,
        FileRepresentation::StandIns,
        ImageRequestRewrite::NONE,
    );
    Ok(described?)
}

/// A field that the other format of the request cannot express, or that is invalid.
#[derive(Debug, PartialEq, Eq)]
pub struct UnconvertibleField {
    /// The field's name in the caller's request.
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

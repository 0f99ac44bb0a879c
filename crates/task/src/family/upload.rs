//! Uploads of media before a create: which media, what is sent, and the id in the response.

use super::VideoFamily;
use super::call::RequestTemplate;
use super::json_fragment::JsonFragment;
use super::source::ValueSourceList;
use super::value_template::{TemplateError, TemplateValues, ValueTemplate};
use crate::generic::{GenericVideoRequest, MediaRole};
use bytes::Bytes;
use headgate_protocol::json::JsonDocument;
use headgate_scalar::ByteSize;
use serde_json::Value;
use std::borrow::Cow;

/// The maximum length of an id as text, in characters.
const ID_CHARS_MAX: usize = 512;

/// The request that uploads a medium.
#[derive(Debug)]
pub struct MediaUpload {
    pub call: RequestTemplate,
    pub(super) content: UploadContent,
    pub(super) id: ValueSourceList,
    pub(super) roles: Vec<MediaRole>,
    pub max_size: ByteSize,
}

/// What an upload sends.
#[derive(Debug)]
pub(super) enum UploadContent {
    Form(Vec<(String, UploadField)>),
    Json(ValueTemplate),
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadField {
    Text(String),
    /// The medium's URL.
    Url,
    /// The medium's content.
    File,
}

/// What the request for one medium sends.
#[derive(Debug)]
pub enum UploadBody<'u> {
    Json(Bytes),
    /// Fields in order.
    Form(Vec<(&'u str, &'u UploadField)>),
}

/// A medium of a create that is uploaded before it.
#[derive(Clone, Copy, Debug)]
pub struct PendingUpload<'r, 'a> {
    /// The index in `medias`.
    pub index: usize,
    pub role: MediaRole,
    url: &'r JsonFragment<'a>,
}

/// A medium that was uploaded.
#[derive(Clone, Debug)]
pub struct UploadedMedium {
    /// The index in `medias`.
    pub index: usize,
    /// The provider's id: a text or a number.
    pub id: Value,
}

/// The ids of a create's media.
#[derive(Clone, Copy)]
pub(super) struct UploadIds<'u> {
    /// `None` if the family uploads nothing.
    pub upload: Option<&'u MediaUpload>,
    pub uploaded: &'u [UploadedMedium],
}

impl UploadIds<'_> {
    /// The id that stands for a medium; 0 if it is not known yet, `None` for a medium that is not uploaded.
    pub fn id(&self, index: usize, role: MediaRole) -> Option<Value> {
        self.upload.filter(|upload| upload.takes(role))?;
        let mut uploaded = self.uploaded.iter();
        let medium = uploaded.find(|medium| medium.index == index);
        Some(medium.map_or(Value::from(0), |medium| medium.id.clone()))
    }
}

/// The family takes the medium only as a URL or only as a data URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", match self.takes_urls { true => "send a URL", false => "send a data URI in base64" })]
pub struct UnsupportedUploadSource {
    takes_urls: bool,
}

impl VideoFamily {
    /// The media of a create that are uploaded before it, in the order of the request.
    pub fn pending_uploads<'r, 'a>(
        &self,
        request: &'r GenericVideoRequest<'a>,
        channel_model: &str,
    ) -> Vec<PendingUpload<'r, 'a>> {
        let Some(upload) = &self.upload else {
            return Vec::new();
        };
        let rules = self.request.for_model(channel_model);
        let medias = request.medias.iter().enumerate();
        medias
            .filter(|(_, media)| {
                upload.takes(media.kind) && rules.media(media.kind).put().is_some()
            })
            .map(|(index, media)| PendingUpload {
                index,
                role: media.kind,
                url: &media.url,
            })
            .collect()
    }
}

impl PendingUpload<'_, '_> {
    pub fn is_data_uri(&self) -> bool {
        // The head of a data URI is short; a URL as a whole is no reason to read a data URI of megabytes.
        let start = self.url.json().get(1..).unwrap_or_default();
        start
            .get(..5)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"data:"))
    }

    /// The URL as text.
    pub fn text(&self) -> Cow<'_, str> {
        self.url.text_value()
    }

    /// The content of the JSON string, a part of `body`, which the create was read from.
    pub fn content(&self, body: &Bytes) -> Bytes {
        let json = self.url.json();
        body.slice_ref(&json[1..json.len() - 1])
    }

    /// The field of the caller's request.
    pub fn param(&self) -> String {
        format!("medias[{}].url", self.index)
    }
}

impl MediaUpload {
    pub(super) fn takes(&self, role: MediaRole) -> bool {
        self.roles.contains(&role)
    }

    /// What is sent for a medium.
    ///
    /// # Errors
    /// The family does not take the medium as it is.
    pub fn body(
        &self,
        medium: &PendingUpload<'_, '_>,
    ) -> Result<UploadBody<'_>, UnsupportedUploadSource> {
        let has = |wanted: &UploadField| match &self.content {
            UploadContent::Form(fields) => fields.iter().any(|(_, field)| field == wanted),
            UploadContent::Json(_) => false,
        };
        match &self.content {
            UploadContent::Json(template) => {
                let value = medium.url;
                let filled = template.fill(TemplateValues {
                    value,
                    create: None,
                });
                match filled {
                    Ok(Some(body)) => Ok(UploadBody::Json(body.to_json().into())),
                    Ok(None) | Err(TemplateError::NoDataUri | TemplateError::NoValue) => {
                        Err(UnsupportedUploadSource { takes_urls: false })
                    }
                }
            }
            UploadContent::Form(_) if medium.is_data_uri() && !has(&UploadField::File) => {
                Err(UnsupportedUploadSource { takes_urls: true })
            }
            UploadContent::Form(fields) => {
                let sends_file = medium.is_data_uri() || !has(&UploadField::Url);
                let fields = fields.iter().filter(|(_, field)| match field {
                    UploadField::Text(_) => true,
                    UploadField::Url => !sends_file,
                    UploadField::File => sends_file,
                });
                let fields = fields.map(|(name, field)| (name.as_str(), field));
                Ok(UploadBody::Form(fields.collect()))
            }
        }
    }

    /// The id in the response to an upload; `None` if there is none that a create can name.
    pub fn uploaded_id(&self, response: &JsonDocument) -> Option<Value> {
        let node = self.id.nodes(response.root()).into_iter().next()?;
        let id: Value = serde_json::from_slice(node.raw()).ok()?;
        let is_id = match &id {
            Value::Number(_) => true,
            Value::String(text) => {
                let is_short = text.chars().count() <= ID_CHARS_MAX;
                !text.is_empty() && is_short && !text.contains(char::is_control)
            }
            _ => false,
        };
        is_id.then_some(id)
    }
}

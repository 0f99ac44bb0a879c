//! Media of a generic create: five kinds, with all names that callers use for them.
//!
//! The protocol does not define the strings of `type` and `role`. `role` accepts the names of the five kinds; `type`
//! accepts `image`, `video` and `audio`, the same with `_url`, or the name of a kind.

use super::{FieldError, WORD_BYTES_MAX, is_given};
use crate::family::json_fragment::JsonFragment;
use headgate_protocol::json::{DocumentNode, ValueKind};
use schemars::JsonSchema;
use serde::Deserialize;

/// An input image, video or audio file.
#[derive(Debug)]
pub struct InputMedia<'a> {
    pub kind: MediaRole,
    /// A URL or a data URI, as the caller wrote it.
    pub(crate) url: JsonFragment<'a>,
}

/// The role of a medium.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum MediaRole {
    /// First frame of the video.
    FirstFrame,
    /// Last frame of the video.
    LastFrame,
    /// Reference image.
    ReferenceImage,
    /// Reference video, or a video to edit or extend.
    ReferenceVideo,
    /// Reference audio.
    ReferenceAudio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MediaType {
    Image,
    Video,
    Audio,
}

impl MediaRole {
    pub const ALL: [Self; 5] = [
        Self::FirstFrame,
        Self::LastFrame,
        Self::ReferenceImage,
        Self::ReferenceVideo,
        Self::ReferenceAudio,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::FirstFrame => "first_frame",
            Self::LastFrame => "last_frame",
            Self::ReferenceImage => "reference_image",
            Self::ReferenceVideo => "reference_video",
            Self::ReferenceAudio => "reference_audio",
        }
    }

    /// Whether it is an image, a video or audio, as callers write `type`.
    pub fn type_name(self) -> &'static str {
        match self.media_type() {
            MediaType::Image => "image",
            MediaType::Video => "video",
            MediaType::Audio => "audio",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn media_type(self) -> MediaType {
        match self {
            Self::FirstFrame | Self::LastFrame | Self::ReferenceImage => MediaType::Image,
            Self::ReferenceVideo => MediaType::Video,
            Self::ReferenceAudio => MediaType::Audio,
        }
    }
}

/// Parses `medias`; empty if it is absent.
pub(super) fn read(medias: Option<DocumentNode<'_>>) -> Result<Vec<InputMedia<'_>>, FieldError> {
    let Some(medias) = medias else {
        return Ok(Vec::new());
    };
    if medias.kind() != ValueKind::Array {
        return Err(FieldError::new(
            "medias",
            "`medias` must be an array of objects, each with `type`, `url` and `role`",
        ));
    }
    let alone = medias.len() == 1;
    let elements = medias.elements().enumerate();
    elements
        .map(|(at, media)| read_one(media, &format!("medias[{at}]"), alone))
        .collect()
}

fn read_one<'a>(
    media: DocumentNode<'a>,
    at: &str,
    alone: bool,
) -> Result<InputMedia<'a>, FieldError> {
    let kind = kind(media, at, alone)?;
    let url = media
        .get("url")
        .filter(|url| url.kind() == ValueKind::String && !url.is_blank());
    let param = format!("{at}.url");
    let message = format!("`{param}` must be an http or https URL or a data URI, as a string");
    let url = url.ok_or_else(|| FieldError::new(param, message))?;
    Ok(InputMedia {
        kind,
        url: JsonFragment::from_node(url),
    })
}

fn kind(media: DocumentNode<'_>, at: &str, alone: bool) -> Result<MediaRole, FieldError> {
    let media_type = word(media, at, "type")?;
    let role = match word(media, at, "role")? {
        Some(role) => Some(MediaRole::named(&role).ok_or_else(|| wrong_role(at))?),
        None => None,
    };
    let Some(media_type) = media_type else {
        return role.ok_or_else(|| wrong_type(at, "is missing"));
    };
    if let Some(kind) = MediaRole::named(&media_type) {
        return match role {
            Some(role) if role != kind => Err(contradiction(at, role)),
            _ => Ok(kind),
        };
    }
    let media_type = match media_type.as_str() {
        "image" | "image_url" => MediaType::Image,
        "video" | "video_url" => MediaType::Video,
        "audio" | "audio_url" => MediaType::Audio,
        _ => return Err(wrong_type(at, "is unknown")),
    };
    match (role, media_type) {
        (Some(role), media_type) if role.media_type() != media_type => Err(contradiction(at, role)),
        (Some(role), _) => Ok(role),
        (None, MediaType::Video) => Ok(MediaRole::ReferenceVideo),
        (None, MediaType::Audio) => Ok(MediaRole::ReferenceAudio),
        (None, MediaType::Image) if alone => Ok(MediaRole::FirstFrame),
        (None, MediaType::Image) => Err(FieldError::new(
            format!("{at}.role"),
            format!(
                "missing required field `{at}.role`: among several media, an image must be \
                 `first_frame`, `last_frame` or `reference_image`"
            ),
        )),
    }
}

/// A member's text; `None` if it is absent, null or empty.
fn word(media: DocumentNode<'_>, at: &str, name: &str) -> Result<Option<String>, FieldError> {
    let Some(node) = media.get(name).filter(is_given) else {
        return Ok(None);
    };
    let param = format!("{at}.{name}");
    let message = format!("`{param}` must be a string");
    let word = node
        .text_start(WORD_BYTES_MAX)
        .ok_or_else(|| FieldError::new(param, message))?;
    Ok(Some(word.into_owned()))
}

fn wrong_role(at: &str) -> FieldError {
    let kinds = MediaRole::ALL.map(MediaRole::name).join(", ");
    FieldError::new(
        format!("{at}.role"),
        format!("`{at}.role` must be one of {kinds}"),
    )
}

fn wrong_type(at: &str, what: &str) -> FieldError {
    let message = format!("`{at}.type` {what}; it must be one of image, video, audio");
    FieldError::new(format!("{at}.type"), message)
}

fn contradiction(at: &str, role: MediaRole) -> FieldError {
    let role = role.name();
    FieldError::new(
        format!("{at}.role"),
        format!("`{at}.role` `{role}` does not match its `type`; remove one of them"),
    )
}

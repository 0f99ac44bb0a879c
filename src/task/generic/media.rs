//! Media of a generic create: five kinds, under all the names that callers give them.
//!
//! The protocol leaves the strings of `type` and `role` open. `role` takes the names of the five kinds; `type` takes
//! `image`, `video` and `audio`, the same with `_url`, or the name of a kind itself.

use super::{Refused, is_given};
use crate::protocol::json::{Kind, Node};
use crate::task::family::given::Given;

/// A medium that a video starts from.
#[derive(Debug)]
pub struct Media<'a> {
    pub kind: MediaKind,
    /// A URL or a data URI, as the caller wrote it.
    pub(in crate::task) url: Given<'a>,
}

/// What a medium is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    FirstFrame,
    LastFrame,
    ReferenceImage,
    ReferenceVideo,
    ReferenceAudio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matter {
    Image,
    Video,
    Audio,
}

impl MediaKind {
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

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn matter(self) -> Matter {
        match self {
            Self::FirstFrame | Self::LastFrame | Self::ReferenceImage => Matter::Image,
            Self::ReferenceVideo => Matter::Video,
            Self::ReferenceAudio => Matter::Audio,
        }
    }
}

/// Reads `medias`; none where it is absent.
pub(super) fn read(medias: Option<Node<'_>>) -> Result<Vec<Media<'_>>, Refused> {
    let Some(medias) = medias else {
        return Ok(Vec::new());
    };
    if medias.kind() != Kind::Array {
        return Err(Refused::new("medias", "`medias` must be a list"));
    }
    let alone = medias.len() == 1;
    let elements = medias.elements().enumerate();
    elements
        .map(|(at, media)| read_one(media, &format!("medias[{at}]"), alone))
        .collect()
}

fn read_one<'a>(media: Node<'a>, at: &str, alone: bool) -> Result<Media<'a>, Refused> {
    let kind = kind(media, at, alone)?;
    let url = media
        .get("url")
        .filter(|url| url.as_str().is_some_and(|url| !url.trim_ascii().is_empty()));
    let param = format!("{at}.url");
    let message = format!("`{param}` must be a URL or a data URI");
    let url = url.ok_or_else(|| Refused::new(param, message))?;
    Ok(Media {
        kind,
        url: Given::of(url),
    })
}

fn kind(media: Node<'_>, at: &str, alone: bool) -> Result<MediaKind, Refused> {
    let matter = word(media, at, "type")?;
    let role = match word(media, at, "role")? {
        Some(role) => Some(MediaKind::named(&role).ok_or_else(|| wrong_role(at))?),
        None => None,
    };
    let Some(matter) = matter else {
        return role.ok_or_else(|| wrong_type(at, "is missing"));
    };
    if let Some(kind) = MediaKind::named(&matter) {
        return match role {
            Some(role) if role != kind => Err(contradiction(at, role)),
            _ => Ok(kind),
        };
    }
    let matter = match matter.as_str() {
        "image" | "image_url" => Matter::Image,
        "video" | "video_url" => Matter::Video,
        "audio" | "audio_url" => Matter::Audio,
        _ => return Err(wrong_type(at, "is not known")),
    };
    match (role, matter) {
        (Some(role), matter) if role.matter() != matter => Err(contradiction(at, role)),
        (Some(role), _) => Ok(role),
        (None, Matter::Video) => Ok(MediaKind::ReferenceVideo),
        (None, Matter::Audio) => Ok(MediaKind::ReferenceAudio),
        (None, Matter::Image) if alone => Ok(MediaKind::FirstFrame),
        (None, Matter::Image) => Err(Refused::new(
            format!("{at}.role"),
            format!(
                "`{at}.role` is missing; among several media an image is \
                 first_frame, last_frame or reference_image"
            ),
        )),
    }
}

/// A member's text; none where it is absent, null or empty.
fn word(media: Node<'_>, at: &str, name: &str) -> Result<Option<String>, Refused> {
    let Some(node) = media.get(name).filter(is_given) else {
        return Ok(None);
    };
    let param = format!("{at}.{name}");
    let message = format!("`{param}` must be text");
    let word = node.as_str().ok_or_else(|| Refused::new(param, message))?;
    Ok(Some(word.into_owned()))
}

fn wrong_role(at: &str) -> Refused {
    let kinds = MediaKind::ALL.map(MediaKind::name).join(", ");
    Refused::new(
        format!("{at}.role"),
        format!("`{at}.role` is not known; it is one of {kinds}"),
    )
}

fn wrong_type(at: &str, what: &str) -> Refused {
    let message = format!("`{at}.type` {what}; it is one of image, video, audio");
    Refused::new(format!("{at}.type"), message)
}

fn contradiction(at: &str, role: MediaKind) -> Refused {
    let role = role.name();
    Refused::new(
        format!("{at}.role"),
        format!("`{at}` has a `type` that cannot be a {role}"),
    )
}

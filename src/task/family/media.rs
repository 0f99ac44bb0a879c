//! Media in creates: where a family's requests have their URLs, and what the family takes as data URIs.

use super::VideoFamily;
use crate::protocol::json::{DocumentNode, JsonDocument, ValueKind};
use crate::scalar::ByteSize;
use crate::task::generic::GenericVideoRequest;
use crate::task::media_kind::MediaKind;
use http::{HeaderName, HeaderValue};
use std::collections::BTreeMap;

/// What a family takes as media.
#[derive(Debug, Default)]
pub struct FamilyMedia {
    /// Kinds whose data URIs are replaced by URLs.
    pub(super) hosted: Vec<MediaKind>,
    /// Kinds that the provider takes as data URIs, too.
    pub(super) inline: Vec<MediaKind>,
    pub(super) roles: BTreeMap<String, MediaRoleRule>,
    pub(super) places: Vec<MediaPlace>,
    /// Largest request of the provider, in bytes.
    pub(super) request_bytes_max: Option<u64>,
    pub(super) scheme_headers: Vec<SchemeHeader>,
}

/// What a medium in a role must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaRoleRule {
    pub kind: MediaKind,
    /// Largest decoded size of a data URI.
    pub max_size: ByteSize,
}

/// A place of URLs in native requests.
#[derive(Debug)]
pub(super) struct MediaPlace {
    /// Pointer of the list whose elements have media; empty for the request itself.
    pub each_of: Option<String>,
    /// Pointers within the element.
    pub url: String,
    pub role_at: Option<String>,
    pub role_default: Option<String>,
}

/// A header that a request needs if it has URLs of a scheme.
#[derive(Debug)]
pub(super) struct SchemeHeader {
    /// The start of such URLs.
    pub prefix: String,
    pub name: HeaderName,
    pub value: HeaderValue,
}

/// A URL of a medium in a create.
#[derive(Debug)]
pub struct MediaUrl<'a> {
    pub node: DocumentNode<'a>,
    /// The field, such as `input.media[0].url`.
    pub param: String,
    pub role: String,
    pub rule: MediaRoleRule,
}

impl VideoFamily {
    /// The URLs of media in a create, in a request of the generic protocol or of this family's own. Media of unknown
    /// roles are omitted: whatever validates the request reports them.
    pub fn media_urls<'a>(&self, request: &'a JsonDocument, is_generic: bool) -> Vec<MediaUrl<'a>> {
        let named = match is_generic {
            true => generic_urls(request),
            false => self.media.native_urls(request),
        };
        let known = named.into_iter().filter_map(|(node, param, role)| {
            let rule = *self.media.roles.get(&role)?;
            Some(MediaUrl {
                node,
                param,
                role,
                rule,
            })
        });
        known.collect()
    }

    /// Whether data URIs of this kind are replaced by URLs.
    pub fn hosts(&self, kind: MediaKind) -> bool {
        self.media.hosted.contains(&kind)
    }

    /// Whether the provider takes data URIs of this kind.
    pub fn takes_inline(&self, kind: MediaKind) -> bool {
        self.media.inline.contains(&kind)
    }

    /// Largest request that the provider takes, in bytes.
    pub fn request_bytes_max(&self) -> Option<u64> {
        self.media.request_bytes_max
    }

    /// The headers that the provider requires for URLs of certain schemes, given a URL.
    pub fn headers_for_url(&self, url: &str) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        let headers = self.media.scheme_headers.iter();
        let needed = headers.filter(move |header| url.starts_with(&header.prefix));
        needed.map(|header| (&header.name, &header.value))
    }
}

type NamedUrl<'a> = (DocumentNode<'a>, String, String);

fn generic_urls(request: &JsonDocument) -> Vec<NamedUrl<'_>> {
    let Ok(generic) = GenericVideoRequest::read(request) else {
        return Vec::new();
    };
    let list = request.root().get("medias");
    let nodes = list.into_iter().flat_map(DocumentNode::elements);
    let urls = nodes.zip(&generic.medias).enumerate();
    let named = urls.filter_map(|(index, (node, media))| {
        let url = node.get("url")?;
        let param = format!("medias[{index}].url");
        Some((url, param, media.kind.name().to_owned()))
    });
    named.collect()
}

impl FamilyMedia {
    fn native_urls<'a>(&self, request: &'a JsonDocument) -> Vec<NamedUrl<'a>> {
        let mut urls = Vec::new();
        for place in &self.places {
            let Some(list) = &place.each_of else {
                urls.extend(place.url_in(request.root(), String::new()));
                continue;
            };
            let elements = request.root().pointer(list).into_iter();
            let elements = elements.flat_map(DocumentNode::elements).enumerate();
            urls.extend(elements.filter_map(|(index, element)| {
                place.url_in(element, format!("{}[{index}]", dotted(list)))
            }));
        }
        urls
    }
}

impl MediaPlace {
    fn url_in<'a>(&self, element: DocumentNode<'a>, at: String) -> Option<NamedUrl<'a>> {
        let url = element.pointer(&self.url)?;
        if url.kind() != ValueKind::String {
            return None;
        }
        let role = self.role_at.as_ref().and_then(|at| element.pointer(at));
        let role = role.and_then(DocumentNode::as_str);
        let role = role.filter(|role| !role.is_empty());
        let role = role.map(|role| role.into_owned());
        let param = match at.is_empty() {
            true => dotted(&self.url),
            false => format!("{at}.{}", dotted(&self.url)),
        };
        Some((url, param, role.or_else(|| self.role_default.clone())?))
    }
}

/// A JSON pointer as messages name fields.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

//! Media in creates: where a family's requests have their URLs, and what the family takes as data URIs.

use super::VideoFamily;
use super::media_rule::{MediaRoleRule, OutputDurationRule, RequestedOutputDuration};
use crate::generic::{GenericField, GenericVideoRequest};
use crate::media_kind::MediaKind;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
use http::{HeaderName, HeaderValue};
use std::collections::BTreeMap;

/// What is read of a role: more than any known one has.
const ROLE_BYTES_MAX: usize = 256;

/// What a family takes as media.
#[derive(Debug)]
pub struct FamilyMediaRules {
    /// Kinds whose data URIs are replaced by URLs.
    pub(super) hosted: Vec<MediaKind>,
    /// Kinds that the provider takes as data URIs, too.
    pub(super) inline: Vec<MediaKind>,
    pub(super) roles: BTreeMap<String, MediaRoleRule>,
    pub(super) places: Vec<NativeMediaPlace>,
    /// Largest request of the provider, in bytes.
    pub(super) request_bytes_max: u64,
    pub(super) output_duration: Option<OutputDurationRule>,
    pub(super) scheme_headers: Vec<UrlSchemeHeader>,
}

/// A place of URLs in native requests.
#[derive(Debug)]
pub(super) struct NativeMediaPlace {
    /// Pointer of the list whose elements have media; empty for the request itself.
    pub each_of: Option<String>,
    /// Pointers within the element.
    pub url: String,
    pub role_at: Option<String>,
    pub role_default: Option<String>,
}

/// A header that a request needs if it has URLs of a scheme.
#[derive(Debug)]
pub(super) struct UrlSchemeHeader {
    /// The start of such URLs.
    pub prefix: String,
    pub name: HeaderName,
    pub value: HeaderValue,
}

/// A URL of a medium in a create.
#[derive(Debug)]
pub struct RequestMediaUrl<'a> {
    pub node: DocumentNode<'a>,
    /// The field, such as `input.media[0].url`.
    pub param: String,
    /// `None` if the family does not know the medium's role, so that nothing is known of what it must be.
    pub role: Option<FamilyMediaRole>,
}

/// A role of media that a family knows, and what a medium in it must be.
#[derive(Clone, Debug)]
pub struct FamilyMediaRole {
    pub name: String,
    pub rule: MediaRoleRule,
}

impl VideoFamily {
    /// The URLs of media in a create, in a request of the generic protocol or of this family's own.
    pub fn media_urls<'a>(
        &self,
        request: &'a JsonDocument,
        is_generic: bool,
    ) -> Vec<RequestMediaUrl<'a>> {
        let named = match is_generic {
            true => generic_urls(request),
            false => self.media.native_urls(request),
        };
        let urls = named.into_iter().map(|(node, param, name)| {
            let rule = name.as_ref().and_then(|name| self.media.roles.get(name));
            let role = name.zip(rule.copied());
            RequestMediaUrl {
                node,
                param,
                role: role.map(|(name, rule)| FamilyMediaRole { name, rule }),
            }
        });
        urls.collect()
    }

    /// Whether data URIs are checked: the family's definition has roles of media.
    pub fn checks_media(&self) -> bool {
        !self.media.roles.is_empty()
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
    pub fn request_bytes_max(&self) -> u64 {
        self.media.request_bytes_max
    }

    /// The duration that a create asks for, if the family limits it by that of input videos; `None` if the provider
    /// chooses it.
    pub fn output_duration(
        &self,
        request: &JsonDocument,
        is_generic: bool,
    ) -> Option<RequestedOutputDuration> {
        let rule = self.media.output_duration.as_ref()?;
        let pointer = match is_generic {
            true => format!("/{}", GenericField::Duration.name()),
            false => rule.at.clone(),
        };
        let requested = request.root().pointer(&pointer);
        let requested = requested.filter(|node| !node.is_null());
        let seconds = match requested {
            Some(node) => node.as_f64().filter(|seconds| *seconds > 0.0)?,
            None => rule.default.as_secs_f64(),
        };
        Some(RequestedOutputDuration {
            param: dotted(&pointer),
            seconds,
            max_with_videos: rule.max_with_videos,
        })
    }

    /// The headers that the provider requires for URLs of certain schemes, given a URL.
    pub fn headers_for_url(&self, url: &str) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        let headers = self.media.scheme_headers.iter();
        let needed = headers.filter(move |header| {
            let start = url.trim_start().get(..header.prefix.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(&header.prefix))
        });
        needed.map(|header| (&header.name, &header.value))
    }
}

/// A URL, its field, and the name of its role.
type NamedUrl<'a> = (DocumentNode<'a>, String, Option<String>);

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
        Some((url, param, Some(media.kind.name().to_owned())))
    });
    named.collect()
}

impl FamilyMediaRules {
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

impl NativeMediaPlace {
    fn url_in<'a>(&self, element: DocumentNode<'a>, at: String) -> Option<NamedUrl<'a>> {
        let url = element.pointer(&self.url)?;
        if url.kind() != ValueKind::String {
            return None;
        }
        let role = self.role_at.as_ref().and_then(|at| element.pointer(at));
        let role = role.and_then(|role| role.text_start(ROLE_BYTES_MAX));
        let role = role.filter(|role| !role.is_empty());
        let role = role.map(|role| role.into_owned());
        let param = match (at.is_empty(), self.url.is_empty()) {
            (true, _) => dotted(&self.url),
            (false, true) => at,
            (false, false) => format!("{at}.{}", dotted(&self.url)),
        };
        Some((url, param, role.or_else(|| self.role_default.clone())))
    }
}

/// A JSON pointer as messages name fields.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

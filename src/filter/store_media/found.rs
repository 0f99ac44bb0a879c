//! Finds the data URIs of a request, and what the families of its channels require of them.

use crate::catalog::model::Candidate;
use crate::filter::view::RequestView;
use crate::protocol::data_uri::{DataUri, InvalidDataUri};
use crate::protocol::fault::{Fault, FaultKind};
use crate::task::family::{MediaRoleRule, MediaUrl, VideoFamily};
use http::{HeaderName, HeaderValue};
use std::ops::Range;
use std::sync::Arc;

/// Longest URL that is compared with the schemes of a family.
const URL_BYTES_MAX: usize = 8 << 10;

/// A data URI in a request.
pub(super) struct FoundDataUri {
    pub span: Range<usize>,
    /// The field, such as `input.media[0].url`.
    pub param: String,
    pub role: String,
    /// If the channels are of several families, the strictest of their rules.
    pub rule: MediaRoleRule,
    pub uri: DataUri,
    /// Whether a family wants a URL in its place.
    pub is_hosted: bool,
    /// Whether all families take it as it is.
    pub is_taken_inline: bool,
}

/// The data URIs of a request, in the order of the families' places.
///
/// # Errors
/// A data URI is malformed.
pub(super) fn data_uris(
    request: &RequestView,
    is_generic: bool,
) -> Result<Vec<FoundDataUri>, Fault> {
    let mut found: Vec<FoundDataUri> = Vec::new();
    let Some(document) = request.body.document() else {
        return Ok(found);
    };
    for family in families(request) {
        for url in family.media_urls(document, is_generic) {
            let kind = url.rule.kind;
            let (is_hosted, is_taken_inline) = (family.hosts(kind), family.takes_inline(kind));
            if !is_hosted && !is_taken_inline {
                continue;
            }
            let span = url.node.span();
            if let Some(known) = found.iter_mut().find(|known| known.span == span) {
                known.rule.max_size = known.rule.max_size.min(url.rule.max_size);
                known.is_hosted |= is_hosted;
                known.is_taken_inline &= is_taken_inline;
                continue;
            }
            let text = document.body().slice(span.start + 1..span.end - 1);
            let Some(read) = DataUri::read(&text) else {
                continue;
            };
            let MediaUrl {
                param, role, rule, ..
            } = url;
            found.push(FoundDataUri {
                span,
                uri: read.map_err(|error| invalid(&param, error))?,
                param,
                role,
                rule,
                is_hosted,
                is_taken_inline,
            });
        }
    }
    Ok(found)
}

/// Checks the size of the request as providers will receive it, `bytes`, against the limits of the families.
///
/// # Errors
/// It is too large for one of them.
pub(super) fn check_request_size(request: &RequestView, bytes: u64) -> Result<(), Fault> {
    let limits = families(request).filter_map(|family| family.request_bytes_max());
    match limits.min() {
        Some(bytes_max) if bytes > bytes_max => Err(Fault::new(
            FaultKind::TooLarge,
            format!(
                "the request body is too large for this model: the limit is {bytes_max} bytes, with media that the gateway stores left out; send media as http or https URLs"
            ),
        )),
        _ => Ok(()),
    }
}

/// The headers that a candidate's provider requires for the URLs in a request.
pub(super) fn headers_for_urls(
    request: &RequestView,
    candidate: &Candidate,
    is_generic: bool,
) -> Vec<(HeaderName, HeaderValue)> {
    let (Some(document), Some(family)) = (request.body.document(), &candidate.channel.family)
    else {
        return Vec::new();
    };
    let urls = family.media_urls(document, is_generic);
    let urls = urls
        .iter()
        .filter(|url| url.node.span().len() <= URL_BYTES_MAX);
    let urls = urls.filter_map(|url| url.node.as_str());
    let mut headers = Vec::new();
    for url in urls {
        for (name, value) in family.headers_for_url(&url) {
            headers.push((name.clone(), value.clone()));
        }
    }
    headers
}

pub(super) fn invalid(param: &str, error: InvalidDataUri) -> Fault {
    let message = format!("`{param}` is an invalid data URI: {error}");
    Fault::new(FaultKind::Invalid, message).param(param)
}

/// The families of the request's candidates, each once.
fn families(request: &RequestView) -> impl Iterator<Item = &Arc<VideoFamily>> {
    let destination = request.destination.iter();
    let candidates = destination.flat_map(|destination| destination.candidates.iter());
    let families = candidates.filter_map(|candidate| candidate.channel.family.as_ref());
    let mut known: Vec<*const VideoFamily> = Vec::new();
    families.filter(move |family| {
        let is_new = !known.contains(&Arc::as_ptr(family));
        known.push(Arc::as_ptr(family));
        is_new
    })
}

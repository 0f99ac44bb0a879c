//! Finds the data URIs of a request, and what the families of its channels require of them.

use bytes::Bytes;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::view::RequestView;
use headgate_core::task::family::{
    FamilyMediaRole, MediaRoleRule, RequestMediaUrl, RequestedOutputDuration, VideoFamily,
};
use headgate_protocol::data_uri::{DataUri, InvalidDataUri};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{DocumentNode, JsonDocument};
use http::{HeaderName, HeaderValue};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Strings of this size are checked wherever they are: no field but a medium has a data URI of this size.
const LONG_STRING_BYTES: usize = 64 << 10;
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

/// The data URIs of a request, in the order of the body.
///
/// # Errors
/// One is malformed, has a role or a field in which the families take none, or there are too many media of a role; or
/// the request is too large without them.
pub(super) fn data_uris(
    request: &RequestView,
    is_generic: bool,
) -> Result<Vec<FoundDataUri>, Fault> {
    let document = match &*request.body {
        RequestBody::Json(document) => document,
        RequestBody::Form { .. } => return Err(form()),
        RequestBody::Absent | RequestBody::Opaque(_) | RequestBody::Streamed(_) => {
            return Ok(Vec::new());
        }
    };
    let long = long_data_uris(document);
    let inside: usize = long.iter().map(|node| node.span().len()).sum();
    let rest = document.body().len() - inside;
    check_request_size(request, rest as u64)?;
    let mut found = BTreeMap::new();
    let mut is_checked = false;
    for family in families(request).filter(|family| family.checks_media()) {
        is_checked = true;
        let urls = family.media_urls(document, is_generic);
        check_counts(&urls)?;
        for url in urls {
            add(&mut found, family, url, document)?;
        }
    }
    let mut others = long.iter();
    let other = others.find(|node| !found.contains_key(&node.span().start));
    match other.filter(|_| is_checked) {
        Some(other) => Err(no_data_uri_field(&other.path())),
        None => Ok(found.into_values().collect()),
    }
}

/// The strings that are data URIs and too large for anything but media.
fn long_data_uris(document: &JsonDocument) -> Vec<DocumentNode<'_>> {
    let long = document.long_strings(LONG_STRING_BYTES);
    let is_data_uri = |node: &DocumentNode<'_>| {
        matches!(DataUri::read(&string_content(*node, document)), Some(Ok(_)))
    };
    long.filter(is_data_uri).collect()
}

/// Adds a URL to the data URIs by where they begin, if it is one.
fn add(
    found: &mut BTreeMap<usize, FoundDataUri>,
    family: &VideoFamily,
    url: RequestMediaUrl<'_>,
    document: &JsonDocument,
) -> Result<(), Fault> {
    let RequestMediaUrl { node, param, role } = url;
    let Some(read) = DataUri::read(&string_content(node, document)) else {
        return Ok(());
    };
    let Some(FamilyMediaRole { name, rule }) = role else {
        return Err(no_data_uri_field(&param));
    };
    let uri = read.map_err(|error| invalid(&param, error))?;
    let (is_hosted, is_taken_inline) = (family.hosts(rule.kind), family.takes_inline(rule.kind));
    let span = node.span();
    let entry = found.entry(span.start).or_insert(FoundDataUri {
        span,
        param,
        role: name,
        rule,
        uri,
        is_hosted: false,
        is_taken_inline: true,
    });
    entry.rule = entry.rule.strictest(rule);
    entry.is_hosted |= is_hosted;
    entry.is_taken_inline &= is_taken_inline;
    Ok(())
}

/// The text of a string, without its quotes.
fn string_content(node: DocumentNode<'_>, document: &JsonDocument) -> Bytes {
    let span = node.span();
    document.body().slice(span.start + 1..span.end - 1)
}

/// Checks how many media of each role the lists of a request have, as URLs or data URIs.
fn check_counts(urls: &[RequestMediaUrl<'_>]) -> Result<(), Fault> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for RequestMediaUrl { param, role, .. } in urls {
        let (Some(role), Some((list, _))) = (role, param.split_once('[')) else {
            continue;
        };
        let count = counts.entry((list, &role.name)).or_default();
        *count += 1;
        if let Some(most) = role.rule.max_count.filter(|most| *count > *most) {
            let name = &role.name;
            let message =
                format!("`{list}` may have at most {most} of the role `{name}`; remove the others");
            return Err(Fault::new(FaultKind::Invalid, message).param(param));
        }
    }
    Ok(())
}

/// The duration of the output, for each family that limits it by that of input videos.
pub(super) fn output_durations(
    request: &RequestView,
    is_generic: bool,
) -> Vec<RequestedOutputDuration> {
    let Some(document) = request.body.document() else {
        return Vec::new();
    };
    let durations = families(request);
    let durations = durations.filter_map(|family| family.output_duration(document, is_generic));
    durations.collect()
}

/// Checks the size of the request as providers will receive it, `bytes`, against the limits of the families.
///
/// # Errors
/// It is too large for one of them.
pub(super) fn check_request_size(request: &RequestView, bytes: u64) -> Result<(), Fault> {
    let limits = families(request).map(|family| family.request_bytes_max());
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

fn no_data_uri_field(param: &str) -> Fault {
    let message = format!(
        "`{param}` is a data URI, which this model takes only as media of a known role; send an http or https URL"
    );
    Fault::new(FaultKind::Invalid, message).param(param)
}

fn form() -> Fault {
    let message = "a request for a video must be JSON, not a form: send `content-type: application/json` and media as URLs or data URIs";
    Fault::new(FaultKind::Invalid, message)
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

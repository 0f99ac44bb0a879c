//! Stores the images of a request for channels that want URLs in their place.

use super::image_content::{InlineImageContent, InvalidImage};
use crate::hosting::MediaPublisher;
use crate::{ContentDescriptor, off_workers};
use headgate_core::catalog::images::ImageEditBodyFormat;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use headgate_protocol::data_uri::DataUri;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::form::MultipartForm;
use headgate_protocol::images::{FileRepresentation, StoredFormFileUrl};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind, quoted};
use std::ops::Range;

/// The URLs of the images that the caller's body contains.
pub(super) struct RequestImageUrls(Vec<StoredFormFileUrl>);

/// An image that the caller's body contains.
pub(super) struct RequestImage {
    span: Range<usize>,
    /// The field, such as `images[0].image_url`.
    pub param: String,
    pub content: InlineImageContent,
}

impl RequestImageUrls {
    /// The URLs in place of the files of a form.
    pub fn file_representation(&self) -> FileRepresentation<'_> {
        FileRepresentation::Urls(&self.0)
    }

    /// Replaces the data URIs of a JSON body.
    pub fn replace_data_uris(&self, edits: &mut JsonEdits) {
        for StoredFormFileUrl { span, url } in &self.0 {
            edits.replace(span.clone(), quoted(url));
        }
    }
}

/// Whether a channel of the request wants its images as URLs.
pub(super) fn is_wanted(request: &RequestView) -> bool {
    let destination = request.destination.iter();
    let mut candidates = destination.flat_map(|destination| destination.candidates.iter());
    candidates.any(wants_urls)
}

pub(super) fn wants_urls(candidate: &Candidate) -> bool {
    candidate.channel.image_edits.body == ImageEditBodyFormat::JsonWithUrls
}

/// Stores the images of the request, all of which are checked before.
///
/// # Errors
/// One is no image: 400; the store is down or full: 503, or 429 if the caller has too many files.
pub(super) async fn store(
    request: &mut RequestView,
    hosting: &MediaPublisher,
) -> Result<(), Fault> {
    // A dry run stores nothing.
    let (Some(caller), Some(_)) = (request.caller.clone(), &request.fetch) else {
        return Ok(());
    };
    let images = request_images(request)?;
    let identified = off_workers(move || identify(images)).await;
    let identified = identified.ok_or_else(stopped)??;
    let mut urls = Vec::new();
    for (image, identified) in identified {
        let RequestImage {
            span,
            param,
            content,
        } = image;
        let url = hosting.store(&caller.name, &identified, content.pieces());
        let url = url.await.map_err(|fault| fault.param(&param))?;
        urls.push(StoredFormFileUrl { span, url });
    }
    request.state.set(RequestImageUrls(urls));
    Ok(())
}

/// The images that the body contains: files of a form, or data URIs.
///
/// # Errors
/// A data URI is not in base64.
pub(super) fn request_images(request: &RequestView) -> Result<Vec<RequestImage>, Fault> {
    match request.body.form() {
        Some(form) => Ok(files(form)),
        None => data_uris(request.body.scanned()),
    }
}

/// Spells the heads of data URIs as providers expect them.
pub(super) fn rewrite_heads(document: &JsonDocument, edits: &mut JsonEdits) {
    for RequestImage { span, content, .. } in data_uris(document).into_iter().flatten() {
        if let Some((bytes, head)) = content.canonical_head() {
            let start = span.start + 1;
            edits.replace(start..start + bytes, head);
        }
    }
}

/// Reads all images as a whole.
fn identify(images: Vec<RequestImage>) -> Result<Vec<(RequestImage, ContentDescriptor)>, Fault> {
    let identified = images.into_iter().map(|image| {
        let identified = image.content.identify();
        let identified = identified.map_err(|error| invalid(&image.param, &error))?;
        Ok((image, identified))
    });
    identified.collect()
}

fn files(form: &MultipartForm) -> Vec<RequestImage> {
    let files = form.parts().iter().filter(|part| part.is_file());
    let images = files.map(|part| RequestImage {
        span: part.value.clone(),
        param: part.name.clone(),
        content: InlineImageContent::File(form.body().slice(part.value.clone())),
    });
    images.collect()
}

fn data_uris(document: &JsonDocument) -> Result<Vec<RequestImage>, Fault> {
    let root = document.root();
    let images = root.get("images").into_iter();
    let images = images.flat_map(DocumentNode::elements).enumerate();
    let images = images.map(|(index, image)| (format!("images[{index}].image_url"), image));
    let mask = root.get("mask").map(|mask| ("mask.image_url".into(), mask));
    let places = images
        .chain(mask)
        .filter_map(|(param, image)| Some((param, image.get("image_url")?)));
    let background = root
        .get("background")
        .map(|background| ("background".into(), background));
    let mut found = Vec::new();
    for (param, node) in places.chain(background) {
        if node.kind() != ValueKind::String {
            continue;
        }
        let span = node.span();
        let text = document.body().slice(span.start + 1..span.end - 1);
        if let Some(uri) = DataUri::read(&text) {
            let uri = uri.map_err(|error| invalid(&param, &error.into()))?;
            let content = InlineImageContent::Base64(uri);
            found.push(RequestImage {
                span,
                param,
                content,
            });
        }
    }
    Ok(found)
}

pub(super) fn invalid(param: &str, error: &InvalidImage) -> Fault {
    Fault::new(FaultKind::Invalid, format!("`{param}` {error}")).param(param)
}

pub(super) fn stopped() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "internal error: the images of the request could not be read",
    )
}

//! Replaces the ids of copied files in a request by the content of the copies.

use crate::{FileCopy, MediaStore, MediaStoreError, RequestFileCopies, off_workers};
use bytes::Bytes;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::body_edit::CheckedBodyEditor;
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::images::encode_onto;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};
use std::sync::Arc;

/// Maximum size of the copies that one request uses, in bytes: they are in memory while it is sent.
const ALL_BYTES_MAX: u64 = 64 << 20;
/// Maximum size of what surrounds the data in a data URI with its member, in bytes.
const DATA_URI_HEAD_BYTES_MAX: u64 = 128;

/// A reference to a copied file.
struct CopyReference<'d> {
    /// The object with the `file_id`.
    object: DocumentNode<'d>,
    /// The field, such as `images[0].file_id`.
    param: String,
    copy: FileCopy,
}

/// Makes the body with data URIs in place of the ids the request's body.
///
/// # Errors
/// A copy cannot be read, the copies are too large together, or an earlier filter refuses the body.
pub(super) async fn insert(
    request: &mut RequestView,
    media: &Arc<MediaStore>,
    editor: &CheckedBodyEditor,
) -> Result<(), Fault> {
    let copies = request.state.take::<RequestFileCopies>();
    let copies = copies.map_or_else(Vec::new, |RequestFileCopies(copies)| copies);
    let RequestBody::Json(document) = &*request.body else {
        return Ok(());
    };
    let references = references(document, &copies);
    if references.is_empty() {
        return Ok(());
    }
    let bytes: u64 = references.iter().map(|found| found.copy.size()).sum();
    if bytes > ALL_BYTES_MAX {
        return Err(too_large(&references));
    }
    let file_bytes = bytes.div_ceil(3) * 4 + references.len() as u64 * DATA_URI_HEAD_BYTES_MAX;
    let sent_bytes = document.body().len() as u64 + file_bytes;
    let Some(permit) = media.admit_copies(sent_bytes).await else {
        return Err(busy(&references));
    };
    let mut edits = request.edits.clone();
    for reference in &references {
        let data_uri = data_uri(media, &reference.copy).await;
        let data_uri = data_uri.map_err(|error| unreadable(error, &reference.param))?;
        replace(&mut edits, reference.object, data_uri);
    }
    let body = document.body().clone();
    drop(references);
    let parsed = off_workers(move || {
        let body = edits.apply(&body).to_bytes();
        JsonDocument::parse(body, &JsonLimits::default())
    });
    let document = parsed.await.ok_or_else(stopped)??;
    let checked = editor.check_with_files(request, document, file_bytes)?;
    request.replace_body(checked);
    // Until the exchange ends.
    request.state.set(permit);
    Ok(())
}

fn references<'d>(document: &'d JsonDocument, copies: &[FileCopy]) -> Vec<CopyReference<'d>> {
    let root = document.root();
    let images = root.get("images").into_iter();
    let images = images.flat_map(DocumentNode::elements).enumerate();
    let images = images.map(|(index, image)| (format!("images[{index}].file_id"), image));
    let mask = root.get("mask");
    let mask = mask.map(|mask| ("mask.file_id".to_owned(), mask));
    let references = images.chain(mask).filter_map(|(param, object)| {
        let id = object.get("file_id").and_then(DocumentNode::as_str)?;
        let copy = copies.iter().find(|copy| *copy.id == *id)?.clone();
        Some(CopyReference {
            object,
            param,
            copy,
        })
    });
    references.collect()
}

fn replace(edits: &mut JsonEdits, object: DocumentNode<'_>, data_uri: Bytes) {
    if let Some(id) = object.get("file_id") {
        edits.remove_member(id);
    }
    edits.insert_member(object, "image_url", data_uri);
}

/// The content of a copy as a data URI, in a JSON string.
async fn data_uri(media: &Arc<MediaStore>, copy: &FileCopy) -> Result<Bytes, MediaStoreError> {
    let mut content = Vec::with_capacity(usize::try_from(copy.size()).unwrap_or_default());
    let reader = media.open_file_copy(copy).await?;
    let mut reader = reader.ok_or(MediaStoreError::ContentChanged)?;
    while let Some(piece) = reader.next_piece().await? {
        content.extend_from_slice(&piece);
    }
    let content_type = copy.content_type.clone();
    let encoded = off_workers(move || {
        let mut json = format!("\"data:{content_type};base64,").into_bytes();
        encode_onto(&mut json, &content);
        json.push(b'"');
        Bytes::from(json)
    });
    encoded.await.ok_or(MediaStoreError::ContentChanged)
}

fn too_large(references: &[CopyReference<'_>]) -> Fault {
    let message = format!(
        "the files of this request are too large together: they were uploaded to another provider account than that of this model, and such files may have {} MiB in one request; send fewer or smaller images, or http or https URLs",
        ALL_BYTES_MAX >> 20
    );
    let param = references.first().map_or("images", |first| &first.param);
    Fault::new(FaultKind::TooLarge, message).param(param)
}

fn busy(references: &[CopyReference<'_>]) -> Fault {
    let param = references.first().map_or("images", |first| &first.param);
    Fault::new(
        FaultKind::Overloaded,
        "the gateway sends too many files by their ids at the moment; try again, or send the images in the request",
    )
    .param(param)
}

fn unreadable(error: MediaStoreError, param: &str) -> Fault {
    tracing::error!(%error, "cannot read from the media store");
    Fault::new(
        FaultKind::Overloaded,
        "the gateway cannot read its copy of this file at the moment; try again, or upload the file again",
    )
    .param(param)
    .detail(error.to_string())
    .source(error)
}

fn stopped() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "internal error: the copies of files could not be inserted",
    )
}

//! `copy_files`: keeps copies of uploaded images, so that edits on other channels than the upload's can use them.

use crate::{
    FileCopy, MediaStore, MediaStoreError, RequestFileCopies, detect_content_type, off_workers,
    within,
};
use bytes::Bytes;
use headgate_core::catalog::images::ImageEditBodyFormat;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, InvalidSettings,
};
use headgate_core::filter::view::{RequestView, ResponseView};
use headgate_core::filter::{
    Filter, FilterAction, FilterDeclaration, HookResult, ResponseBodyAccess,
};
use headgate_core::state::StateStore;
use headgate_core::state::new_id::find_channel_of_new_id;
use headgate_core::task::media_kind::MediaKind;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::ids;
use headgate_protocol::ids::{ReferencedId, ResourceIdKind};
use http::Method;
use std::sync::Arc;
use std::time::Duration;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "copy_files",
    summary: "Keeps copies of uploaded images, so that image edits on other channels can use their ids; removes a copy before its file is deleted.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["route_model"],
        before: &["follow_ids", "map_images"],
        needs: &[FilterPrerequisite::Caller],
        reason: ", so that ids of copied files bind a request to no channel",
        ..FilterChainRules::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| {
        let media = context.features.get::<MediaStore>();
        if let Err(reason) = media.check_directory() {
            context.warn(
                InvalidSettings::new(format!("{reason}; uploaded files will not be copied"))
                    .hint("make `media.directory` writable for the user that runs headgate"),
            );
        }
        Ok(Arc::new(CopyFilesFilter {
            state: context.state.clone(),
            media,
            is_edit: context.is_image_route(),
        }))
    },
};

/// The path parameter with the id of a file.
const PARAMETER: &str = "id";
/// The form field with an uploaded file.
const FILE: &str = "file";
/// Maximum size of a copied file, in bytes: that of an image in an edit.
const FILE_BYTES_MAX: usize = 50_000_000;
/// Bytes by which the kind of content is recognised.
const START_BYTES: usize = 4 << 10;
/// Maximum number of file ids of an edit: 16 images and a mask. More are refused by later filters.
const EDIT_IDS_MAX: usize = 17;
/// How long the response to an upload waits for the copy.
const COPIED_WITHIN: Duration = Duration::from_secs(20);
/// Suggested in `retry-after` if a copy cannot be removed or found.
const STORE_RETRY: Duration = Duration::from_secs(10);

struct CopyFilesFilter {
    state: Arc<dyn StateStore>,
    media: Arc<MediaStore>,
    /// Whether the route is of image edits, not of files.
    is_edit: bool,
}

impl Filter for CopyFilesFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            reads_body: true,
            response_body: match self.is_edit {
                true => ResponseBodyAccess::None,
                // The id is known to the caller when the copy is complete.
                false => ResponseBodyAccess::Replace,
            },
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let is_dry_run = request.fetch.is_none();
        match !self.is_edit && !is_dry_run && deletes_file(request) {
            true => HookResult::later(self.remove_copy(request)),
            false => HookResult::next(),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let is_dry_run = request.fetch.is_none();
        if !self.is_edit || is_dry_run {
            return HookResult::next();
        }
        let named = file_ids(request);
        match named.is_empty() || named.len() > EDIT_IDS_MAX {
            true => HookResult::next(),
            false => HookResult::later(self.find_copies(request, named)),
        }
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        let is_upload = !self.is_edit
            && response.request.method == Method::POST
            && is_of_files(response.request.endpoint_path());
        let made = ids::made_in_body(body).own;
        match (is_upload && response.status.is_success(), made) {
            (true, Some(id)) => HookResult::later(async move {
                self.copy(response.request, &id).await;
                Ok(())
            }),
            _ => HookResult::done(),
        }
    }
}

impl CopyFilesFilter {
    /// Copies the uploaded file. The upload has succeeded, so that it is delivered in any case.
    async fn copy(&self, request: &RequestView, id: &str) {
        let (Some(caller), Some(upload)) = (&request.caller, UploadForm::from_request(request))
        else {
            return;
        };
        let copying = async {
            let image = off_workers(move || upload.image()).await.flatten();
            match image {
                Some((content, content_type)) => {
                    let copied = self
                        .media
                        .copy_file(&caller.name, id, content, content_type);
                    copied.await
                }
                None => Ok(()),
            }
        };
        let reason = match within(COPIED_WITHIN, copying).await {
            Some(Ok(())) => return,
            Some(Err(error)) => error.to_string(),
            None => "the media store did not respond in time".into(),
        };
        tracing::warn!(id = &*request.id, reason, "cannot copy an uploaded file");
    }

    /// Removes the copy before the file: whatever fails in between, a second DELETE finds what is left.
    async fn remove_copy(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        if let (Some(caller), Some(id)) = (&request.caller, request.param(PARAMETER)) {
            let removed = self.media.remove_file_copy(&caller.name, id).await;
            removed.map_err(|error| {
                unavailable(
                    error,
                    "the gateway cannot remove its copy of this file at the moment, so that the file was not deleted; try again",
                )
            })?;
        }
        Ok(FilterAction::Continue)
    }

    /// Finds the copies of files that are not all on one channel of the model which takes ids.
    async fn find_copies(
        &self,
        request: &mut RequestView,
        named: Vec<ReferencedId>,
    ) -> Result<FilterAction, Fault> {
        let Some(caller) = request.caller.clone() else {
            return Ok(FilterAction::Continue);
        };
        if self
            .are_on_one_candidate(request, &caller.name, &named)
            .await
        {
            return Ok(FilterAction::Continue);
        }
        let mut copies: Vec<FileCopy> = Vec::new();
        for ReferencedId { id, .. } in named {
            if copies.iter().any(|copy| copy.id == id) {
                continue;
            }
            let found = self.media.file_copy(&caller.name, &id).await;
            let found = found.map_err(|error| {
                unavailable(
                    error,
                    "the gateway cannot look up its copy of a file at the moment; try again",
                )
            })?;
            copies.extend(found);
        }
        request.hosted_files = copies.iter().map(|copy| copy.id.clone()).collect();
        request.state.set(RequestFileCopies(copies));
        Ok(FilterAction::Continue)
    }

    async fn are_on_one_candidate(
        &self,
        request: &RequestView,
        owner: &Arc<str>,
        named: &[ReferencedId],
    ) -> bool {
        let mut first: Option<Arc<str>> = None;
        for ReferencedId { id, .. } in named {
            let found = find_channel_of_new_id(&*self.state, owner, id).await;
            let Ok(Some(channel)) = found else {
                return false;
            };
            if first.get_or_insert_with(|| channel.clone()) != &channel {
                return false;
            }
        }
        let mut candidates = request
            .destination
            .iter()
            .flat_map(|destination| destination.candidates.iter());
        candidates.any(|candidate| {
            let channel = &candidate.channel;
            // A form has no place for an id.
            Some(&channel.name) == first.as_ref()
                && channel.image_edits.body != ImageEditBodyFormat::Multipart
        })
    }
}

/// An upload as it was sent.
struct UploadForm {
    body: Bytes,
    boundary: String,
}

impl UploadForm {
    fn from_request(request: &RequestView) -> Option<Self> {
        let RequestBody::Opaque(body) = &*request.body else {
            return None;
        };
        Some(Self {
            body: body.clone(),
            boundary: request.form_boundary()?.to_owned(),
        })
    }

    /// The content and type of the uploaded file, if it is the only one and an image that edits may use.
    fn image(&self) -> Option<(Bytes, &'static str)> {
        let mut files = ids::form_values(&self.body, &self.boundary, FILE);
        let (Some(content), None) = (files.next(), files.next()) else {
            return None;
        };
        let start = &content[..content.len().min(START_BYTES)];
        let content_type = detect_content_type(MediaKind::Image, start, "").ok()?;
        let content = self.body.slice_ref(content);
        (content.len() <= FILE_BYTES_MAX).then_some((content, content_type))
    }
}

fn file_ids(request: &RequestView) -> Vec<ReferencedId> {
    let RequestBody::Json(document) = &*request.body else {
        return Vec::new();
    };
    let mut named = ids::named_in_body(document);
    named.retain(|named| named.kind == ResourceIdKind::File);
    named
}

fn is_of_files(path: &str) -> bool {
    ResourceIdKind::from_path(path) == ResourceIdKind::File
}

/// Whether the request deletes a file.
fn deletes_file(request: &RequestView) -> bool {
    request.method == Method::DELETE && is_of_files(&request.path)
}

fn unavailable(error: MediaStoreError, message: &str) -> Fault {
    Fault::new(FaultKind::Overloaded, message)
        .retry_after(STORE_RETRY)
        .detail(error.to_string())
        .source(error)
}

//! `map_images`: converts image edits to the channel's format, and completes the responses.

mod file_copies;
mod image_check;
mod image_content;
mod inline;
mod request;
mod request_urls;
mod response;
mod to_urls;

use crate::MediaStore;
use crate::hosting::MediaPublisher;
use bytes::Bytes;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::images::ImageEditBodyFormat;
use headgate_core::filter::body_edit::CheckedBodyEditor;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    InvalidSettings,
};
use headgate_core::filter::view::{AttemptView, RequestView, ResponseView};
use headgate_core::filter::{
    Filter, FilterAction, FilterDeclaration, HookResult, ResponseBodyAccess, no_other_model,
};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "map_images",
    summary: "Converts image edits to the format of the channel, JSON or multipart; handles `response_format`, and adds missing fields to responses.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["validate", "edit_json", "replace"],
        needs: &[FilterPrerequisite::Body, FilterPrerequisite::Model],
        ..FilterChainRules::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| match context.is_image_route() {
        true => Ok(Arc::new(MapImagesFilter::build(context))),
        false => Err(InvalidSettings::new(
            "`map_images` requires a route with `protocol: image_edit`",
        )
        .hint("write `protocol: image_edit` in the route")),
    },
};

struct MapImagesFilter {
    /// Where images may be fetched from.
    egress: Arc<EgressPolicy>,
    /// `None` if stored images have no URLs.
    hosting: Option<MediaPublisher>,
    /// Has the copies of files.
    media: Arc<MediaStore>,
    editor: CheckedBodyEditor,
}

impl MapImagesFilter {
    fn build(context: &BuildContext<'_>) -> Self {
        let hosting = MediaPublisher::from_context(context);
        // Tokens in the gateway's own URLs are encrypted.
        let has_keys = context.tasks.keys.is_some();
        let media = context.features.get::<MediaStore>();
        let hosting = hosting.filter(|_| has_keys || media.is_presigned());
        MediaPublisher::warn_of_missing_route(context);
        let mut channels = context.catalog.channels();
        let wanting = channels
            .find(|channel| channel.image_edits.body == ImageEditBodyFormat::JsonWithUrls)
            .filter(|_| hosting.is_none());
        if let Some(channel) = wanting {
            context.warn(
                InvalidSettings::new(format!(
                    "channel `{}` wants URLs of images, and gets data URLs: the gateway has no URLs of stored media",
                    channel.name
                ))
                .hint("set `server.public_url` and `task_keys`, or `media.s3` with `presigned: true`"),
            );
        }
        Self {
            egress: context.egress.clone(),
            hosting,
            media,
            editor: context.body_editor(DESCRIPTOR.name),
        }
    }
}

impl Filter for MapImagesFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            response_body: ResponseBodyAccess::Replace,
            ..FilterDeclaration::default()
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        response::name_ignored_for_streams(request);
        HookResult::later(async move {
            if !request.hosted_files.is_empty() {
                file_copies::insert(request, &self.media, &self.editor).await?;
            }
            request::retain_capable(request)?;
            match &self.hosting {
                Some(hosting) if request_urls::is_wanted(request) => {
                    request_urls::store(request, hosting).await?;
                }
                _ => image_check::check(request).await?,
            }
            Ok(FilterAction::Continue)
        })
    }

    /// What this filter prepared is for the channels of the model that the request names.
    fn on_fallback<'a>(&'a self, _request: &'a mut RequestView) -> HookResult<'a, ()> {
        HookResult::fail(no_other_model())
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        HookResult::from(request::convert_body(request, attempt))
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if !response.status.is_success() {
            return HookResult::done();
        }
        let hosting = self.hosting.as_ref();
        HookResult::later(
            async move { response::finish(response, body, &self.egress, hosting).await },
        )
    }
}

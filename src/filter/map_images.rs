//! `map_images`: converts image edits to the channel's format, and completes the responses.

mod inline;
mod request;
mod response;

use super::descriptor::{
    ChainSide, FilterDescriptor, FilterPlacement, FilterPrerequisite, InvalidSettings,
};
use super::view::{AttemptView, RequestView, ResponseView};
use super::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use crate::catalog::egress::EgressPolicy;
use crate::protocol::Protocol;
use bytes::Bytes;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "map_images",
    summary: "Converts image edits to the format of the channel, JSON or multipart; handles `response_format`, and adds missing fields to responses.",
    side: ChainSide::Request,
    placement: FilterPlacement {
        after: &["validate"],
        needs: &[FilterPrerequisite::Body, FilterPrerequisite::Model],
        ..FilterPlacement::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| match context.protocol {
        Some(Protocol::ImageEdit) => Ok(Arc::new(MapImagesFilter {
            egress: context.egress.clone(),
        })),
        _ => Err(
            InvalidSettings::new("`map_images` requires a route with `protocol: image_edit`")
                .hint("write `protocol: image_edit` in the route"),
        ),
    },
};

struct MapImagesFilter {
    /// Where images may be fetched from.
    egress: Arc<EgressPolicy>,
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
        HookResult::from(request::retain_capable(request))
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
        HookResult::later(async move { response::finish(response, body, &self.egress).await })
    }
}

//! `map_images`: image edits in the form that the channel wants, answered with what the protocol promises.

mod answer;
mod ask;
mod inline;

use super::kind::{FilterKind, InvalidSettings, Need, Place, Side};
use super::view::{AnswerView, AttemptView, RequestView};
use super::{Access, Declaration, Filter, Step};
use crate::catalog::egress::Egress;
use crate::protocol::Protocol;
use bytes::Bytes;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "map_images",
    summary: "Sends image edits in the form that the channel wants, JSON or with files; sees to `response_format`, and adds to answers what the provider left out.",
    side: Side::Request,
    place: Place {
        after: &["validate"],
        needs: &[Need::Body, Need::Model],
        ..Place::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, parts| match parts.protocol {
        Some(Protocol::ImageEdit) => Ok(Arc::new(MapImages {
            egress: parts.egress.clone(),
        })),
        _ => Err(
            InvalidSettings::new("`map_images` is for routes of image edits")
                .hint("write `protocol: image_edit` in the route"),
        ),
    },
};

struct MapImages {
    /// Where images may be fetched.
    egress: Arc<Egress>,
}

impl Filter for MapImages {
    fn declare(&self) -> Declaration {
        Declaration {
            response_body: Access::Replace,
            ..Declaration::default()
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        answer::say_what_streams_lack(request);
        Step::from(ask::keep_able(request))
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> Step<'a, ()> {
        Step::from(ask::shape(request, attempt))
    }

    fn on_response_body<'a>(
        &'a self,
        answer: &'a mut AnswerView<'_>,
        body: &'a mut Bytes,
    ) -> Step<'a, ()> {
        if !answer.status.is_success() {
            return Step::done();
        }
        Step::later(async move { answer::finish(answer, body, &self.egress).await })
    }
}

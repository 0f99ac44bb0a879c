//! `convert_videos`: makes a generic create of one in the format of OpenAI's video API.

mod openai_create;
mod video_size;

use headgate_core::filter::body_edit::{CheckedBodyEditor, edited_document};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, InvalidSettings,
};
use headgate_core::filter::view::{AttemptView, RequestView};
use headgate_core::filter::{Filter, HookResult};
use headgate_core::task::openai_video;
use headgate_core::task::requested_format::RequestedVideoFormat;
use headgate_protocol::TaskApiFormat;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{HeaderValue, header};
use openai_create::OpenAiCreate;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "convert_videos",
    summary: "Converts a create in the format of OpenAI's video API to the generic one, so that models of every family serve it.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["validate", "idempotency", "edit_json", "replace"],
        before: &["rate_limit", "store_media", "callbacks", "map_task"],
        needs: &[FilterPrerequisite::Body, FilterPrerequisite::Model],
        reason: ", which reads the request as the caller wrote it",
        ..FilterChainRules::ALWAYS
    },
    settings: None,
    bare: true,
    build: |_, context| {
        let tasks = context.protocol.and_then(|it| it.descriptor().tasks);
        if tasks != Some(TaskApiFormat::OpenAi) {
            return Err(InvalidSettings::new(
                "`convert_videos` requires a route with `protocol: videos`",
            )
            .hint("write `protocol: videos` in the route"));
        }
        Ok(Arc::new(ConvertVideosFilter {
            editor: context.body_editor(DESCRIPTOR.name),
        }))
    },
};

struct ConvertVideosFilter {
    editor: CheckedBodyEditor,
}

impl Filter for ConvertVideosFilter {
    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::from(self.convert(request))
    }

    fn on_attempt<'a>(
        &'a self,
        _request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        // The caller may have sent a form.
        let json = HeaderValue::from_static("application/json");
        attempt.headers.insert(header::CONTENT_TYPE, json);
        HookResult::done()
    }
}

impl ConvertVideosFilter {
    /// Makes the generic create the body of the request.
    fn convert(&self, request: &mut RequestView) -> Result<(), Fault> {
        let (generic, requested) = match request.edits.is_empty() {
            true => generic_create(request.body.scanned())?,
            false => {
                let body = request.body.scanned().body();
                generic_create(&edited_document(body, &request.edits, request.body_limit)?)?
            }
        };
        request.field_names = Some(&openai_video::FIELD_NAMES);
        let checked = self.editor.check(request, generic)?;
        request.replace_body(checked);
        request.state.set(requested);
        Ok(())
    }
}

fn generic_create(document: &JsonDocument) -> Result<(JsonDocument, RequestedVideoFormat), Fault> {
    let create = OpenAiCreate::read(document)?;
    let generic = JsonDocument::parse(create.to_generic(), &JsonLimits::default())?;
    Ok((generic, create.requested()))
}

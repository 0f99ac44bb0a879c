//! `store_media`: checks data URIs in requests for videos, and replaces those that the provider does not take by URLs.

mod check;
mod found;
mod limits;

use crate::hosting::MediaPublisher;
use crate::off_workers;
use bytes::Bytes;
use check::{CheckedDataUri, check_all};
use found::FoundDataUri;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::body_edit::{CheckedBodyEditor, edited_document};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, InvalidSettings,
};
use headgate_core::filter::view::{AttemptView, RequestView};
use headgate_core::filter::{Filter, FilterAction, HookResult, no_other_model};
use headgate_core::task::NO_KEYS_HINT;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::quoted;
use limits::check_limits;
use std::ops::Range;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "store_media",
    summary: "Checks the data URIs of a video request, and replaces those that the provider does not take by URLs of the media store.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["validate", "idempotency", "rate_limit"],
        needs: &[
            FilterPrerequisite::Body,
            FilterPrerequisite::Caller,
            FilterPrerequisite::Model,
        ],
        reason: ", so that nothing is stored for a request that is refused",
        ..FilterChainRules::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| {
        if context.tasks.keys.is_none() {
            return Err(
                InvalidSettings::new("`store_media` requires `task_keys`").hint(NO_KEYS_HINT)
            );
        }
        let hosting = MediaPublisher::from_context(context);
        MediaPublisher::warn_of_missing_route(context);
        if hosting.is_none() && context.public_url.is_none() {
            context.warn(
                InvalidSettings::new("stored media have no URLs: data URIs that the provider does not take get 400")
                    .hint("set `server.public_url` to the URL by which providers reach this gateway, or `media.s3` with `presigned: true`"),
            );
        }
        if hosting.is_some() {
            MediaPublisher::warn_of_settings(context);
        }
        Ok(Arc::new(StoreMediaFilter {
            hosting,
            is_generic: context.is_generic_task_route(),
            editor: context.body_editor(DESCRIPTOR.name),
        }))
    },
};

/// Largest request that may be left, in bytes, where files of it are stored: it is in memory until its end.
const REMAINING_BYTES_MAX: usize = 8 << 20;
/// Bytes that the URL of a stored file may take.
const URL_BYTES_ESTIMATE: usize = 400;

struct StoreMediaFilter {
    /// `None` if the gateway has no URL that others reach it by.
    hosting: Option<MediaPublisher>,
    /// Whether callers use the generic protocol, not that of the channel's family.
    is_generic: bool,
    editor: CheckedBodyEditor,
}

impl Filter for StoreMediaFilter {
    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let mut found = match found::data_uris(request, self.is_generic) {
            Ok(found) => found,
            Err(fault) => return HookResult::fail(fault),
        };
        let is_any_hosted = found.iter().any(|one| self.is_hosted(one));
        if is_any_hosted && self.remaining_bytes(request, &found) > REMAINING_BYTES_MAX {
            // Providers take URLs of every kind of media.
            found.iter_mut().for_each(|one| one.is_hosted = true);
        }
        let mut sent = found.iter().filter(|one| !self.is_hosted(one));
        if let Some(refused) = sent.find(|one| !one.is_taken_inline) {
            return HookResult::fail(not_available(refused, self.hosting.is_some()));
        }
        let remaining = self.remaining_bytes(request, &found);
        if let Err(fault) = found::check_request_size(request, remaining as u64) {
            return HookResult::fail(fault);
        }
        match found.is_empty() {
            true => HookResult::next(),
            false => HookResult::later(self.replace(request, found)),
        }
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
        for (name, value) in found::headers_for_urls(request, &attempt.candidate, self.is_generic) {
            attempt.headers.insert(name, value);
        }
        HookResult::done()
    }
}

impl StoreMediaFilter {
    fn is_hosted(&self, found: &FoundDataUri) -> bool {
        found.is_hosted && self.hosting.is_some()
    }

    /// The size of the request with URLs in the place of what is hosted, in bytes.
    fn remaining_bytes(&self, request: &RequestView, found: &[FoundDataUri]) -> usize {
        let replaced = found.iter().filter(|one| self.is_hosted(one));
        let gone = replaced.map(|one| one.span.len().saturating_sub(URL_BYTES_ESTIMATE));
        request.body.len() - gone.sum::<usize>()
    }

    /// Checks all data URIs before any is stored, then replaces those that are hosted.
    async fn replace(
        &self,
        request: &mut RequestView,
        found: Vec<FoundDataUri>,
    ) -> Result<FilterAction, Fault> {
        let checked = off_workers(move || check_all(found)).await;
        let checked = checked.ok_or_else(unchecked)??;
        check_limits(&checked, &found::output_durations(request, self.is_generic))?;
        // A dry run stores nothing.
        let owner = request.caller.clone().filter(|_| request.fetch.is_some());
        let store = self.hosting.as_ref().zip(owner);
        let mut replaced: Vec<(Range<usize>, Bytes)> = Vec::new();
        for CheckedDataUri { found, content, .. } in checked {
            if let (true, Some((hosting, owner))) = (self.is_hosted(&found), &store) {
                let pieces = found.uri.decoded_pieces();
                let stored = hosting.store(&owner.name, &content, pieces).await;
                let url = stored.map_err(|fault| fault.param(&found.param))?;
                replaced.push((found.span, quoted(&url)));
            } else if let Some((bytes, head)) = found.uri.canonical_head() {
                // Providers compare the head with their own spelling.
                let start = found.span.start + 1;
                replaced.push((start..start + bytes, head.into()));
            }
        }
        self.replace_spans(request, replaced)?;
        Ok(FilterAction::Continue)
    }

    /// Makes the body with the replacements, and with the edits of earlier filters, the request's body: later filters
    /// read it instead of the large one, which is dropped.
    fn replace_spans(
        &self,
        request: &mut RequestView,
        replaced: Vec<(Range<usize>, Bytes)>,
    ) -> Result<(), Fault> {
        if replaced.is_empty() {
            return Ok(());
        }
        let RequestBody::Json(document) = &*request.body else {
            return Ok(());
        };
        let mut edits = request.edits.clone();
        for (span, with) in replaced {
            edits.replace(span, with);
        }
        let edited = edited_document(document.body(), &edits, request.body_limit)?;
        let checked = self.editor.check(request, edited)?;
        request.replace_body(checked);
        Ok(())
    }
}

/// The fault if a check ended without a result.
fn unchecked() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "the gateway cannot check the media of this request",
    )
}

/// The fault for a data URI of a kind that the provider does not take, and that cannot be replaced. What is missing is
/// for the operator only.
fn not_available(found: &FoundDataUri, has_url: bool) -> Fault {
    let (param, kind) = (&found.param, found.rule.kind.name());
    let message = format!(
        "`{param}`: data URIs of kind {kind} are not available here; send an http or https URL"
    );
    let missing = match has_url {
        true => "the kind is neither in `hosted` nor in `inline` of the family's `media`",
        false => {
            "stored media have no URLs: set `server.public_url` and add a route that serves them, or set `media.s3` with `presigned: true`"
        }
    };
    Fault::new(FaultKind::Invalid, message)
        .param(param)
        .detail(missing)
}

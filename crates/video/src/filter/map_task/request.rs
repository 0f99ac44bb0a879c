//! Requests for video tasks: translates creates for the family, and opens task ids for queries and cancels.

use super::mapped_create::{self, MappedCreateRequest, create_for};
use super::{MapTaskFilter, no_family};
use crate::filter::callbacks::query_member;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::{AttemptView, RequestDestination, RequestView};
use headgate_core::task::family::{CallbackTarget, MappedRequest, RequestTemplate, VideoFamily};
use headgate_core::task::generic::{FieldError, GenericVideoRequest};
use headgate_core::task::id::TaskId;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{DocumentNode, JsonDocument, quoted};
use headgate_protocol::{ChannelProtocol, TaskApiFormat};
use http::HeaderValue;

/// The member of creates that names where status changes are delivered.
pub(super) const CALLBACK_URL: &str = "callback_url";

impl MapTaskFilter {
    /// Opens the task id in the path, and binds the request to the channel and the credential that created the task.
    pub(super) fn find_task(&self, request: &mut RequestView) -> Result<(), Fault> {
        let task = self.open(request, &self.id_in(request).ok_or_else(unknown)?)?;
        let channel = self.catalog.channel(&task.channel).ok_or_else(|| {
            Fault::new(
                FaultKind::Gone,
                "the channel that created this task was removed from this gateway; ask its operator",
            )
            .detail(format!("channel `{}` is not configured", task.channel))
        })?;
        let family = channel.family.as_ref().ok_or_else(no_family)?;
        // A route for one family does not accept ids of another.
        let speaks = request.protocol.is_none_or(|protocol| {
            self.is_generic() || channel.protocols.contains(&protocol.on_channels())
        });
        if *family.name != *task.family || !speaks {
            return Err(unknown());
        }
        let protocol = request.protocol.map(ChannelProtocol::for_caller);
        request.destination = Some(RequestDestination {
            model: self.catalog.get(&task.model),
            candidates: [Candidate::for_task(channel.clone(), &task, protocol)].into(),
        });
        request.info.subrequest_candidate = request
            .destination
            .as_ref()
            .and_then(|destination| destination.candidates.first().cloned());
        request.state.set(task);
        Ok(())
    }

    /// Keeps the candidates that support the create, and that know the tasks it refers to.
    pub(super) fn retain_capable(&self, request: &mut RequestView) -> Result<(), Fault> {
        let Some(destination) = &request.destination else {
            return Err(Fault::new(
                FaultKind::Internal,
                "internal error: no channel was selected for this request",
            )
            .detail("no filter before `map_task` found a channel"));
        };
        let mut able = Vec::new();
        let mut refused = None;
        let candidates = destination.candidates.clone();
        for candidate in candidates.iter() {
            let Some(family) = &candidate.channel.family else {
                continue;
            };
            match self.translate(request, candidate, family) {
                Ok(()) => able.push(candidate.clone()),
                Err(fault) => refused = Some(fault),
            }
        }
        if able.is_empty() {
            return Err(refused.unwrap_or_else(no_family));
        }
        self.follow_named(request, &mut able)?;
        if let Some(destination) = &mut request.destination {
            destination.candidates = able.into();
        }
        Ok(())
    }

    pub(super) fn prepare_create(
        &self,
        request: &RequestView,
        attempt: &mut AttemptView,
    ) -> Result<(), Fault> {
        let family = attempt
            .candidate
            .channel
            .family
            .clone()
            .ok_or_else(no_family)?;
        let path = match self.is_generic() {
            true => {
                let create = create_for(request, &attempt.candidate);
                let create = create.ok_or_else(no_family)?;
                attempt.request_override.body = Some(create.body.clone());
                attempt.request_override.is_form = family.create.is_form;
                create.path.clone()
            }
            false => {
                if let Some(callback_url) = unused_callback_url(request, &family) {
                    attempt.edits.remove_member(callback_url);
                }
                if family.native_api().replaces_urls() {
                    // A caller who waits for the video, not for the task, would wait for minutes.
                    attempt.headers.remove("prefer");
                    pass_callback_query(request, &family, attempt);
                }
                let path = self.native_path(&family, request, &attempt.candidate);
                path.ok_or_else(no_family)?
            }
        };
        override_request(attempt, &family.create.call, path);
        Ok(())
    }

    /// Translates a generic create, once for all candidates with the same family and model. Creates of callers who use
    /// the family's protocol are not translated.
    fn translate(
        &self,
        request: &mut RequestView,
        candidate: &Candidate,
        family: &VideoFamily,
    ) -> Result<(), Fault> {
        if !self.is_generic() {
            return not_refused(request, family);
        }
        if create_for(request, candidate).is_some() {
            return Ok(());
        }
        let body = request.body.scanned();
        let mut generic = GenericVideoRequest::read(body).map_err(invalid)?;
        let model = candidate.model.as_ref().ok_or_else(no_family)?;
        let resolution = self.near_resolution(&generic, family, &model.name);
        if let Some(name) = &resolution {
            generic.set_resolution(name);
        }
        let mapped = family
            .request(&generic, &model.name, self.unsupported)
            .map_err(invalid)?;
        self.check_schemas(request.model(), family, &mapped)?;
        let pending = family.pending_uploads(&generic, &model.name);
        Self::check_uploads(family, &pending)?;
        let uploads = pending.len();
        let ratio = generic.ratio();
        let MappedRequest {
            path,
            body,
            ignored,
            ..
        } = mapped;
        let callers_name = |field| request.field_names.map_or(field, |names| names.name(field));
        let names = ignored.iter().map(|one| callers_name(&*one.param));
        let mut names: Vec<&str> = names.collect();
        names.dedup();
        let ignored = match names.is_empty() {
            true => None,
            false => HeaderValue::from_str(&names.join(", ")).ok(),
        };
        let create = MappedCreateRequest {
            family: family.name.clone(),
            model: model.name.clone(),
            body,
            path,
            resolution,
            ratio,
            uploads,
            ignored,
        };
        mapped_create::store_create(request, create);
        Ok(())
    }

    /// The model's resolution in place of that of a `size`: callers of OpenAI's format name pixels, not resolutions. What is
    /// made is returned as the task's size.
    fn near_resolution(
        &self,
        generic: &GenericVideoRequest<'_>,
        family: &VideoFamily,
        channel_model: &str,
    ) -> Option<String> {
        if self.format != TaskApiFormat::OpenAi {
            return None;
        }
        let near = family.near_resolution(&generic.resolution()?, channel_model)?;
        Some(near.to_owned())
    }

    /// Tasks that a create refers to must belong to the caller; the create is bound to their channel.
    fn follow_named(
        &self,
        request: &mut RequestView,
        able: &mut Vec<Candidate>,
    ) -> Result<(), Fault> {
        if self.is_generic() {
            return Ok(());
        }
        let Some(body) = request.body.document() else {
            return Ok(());
        };
        let families = able.iter().filter_map(|able| able.channel.family.as_ref());
        let mut nodes: Vec<_> = families
            .flat_map(|family| family.tasks_named_in(body))
            .collect();
        // Several channels of one family yield the same nodes.
        nodes.sort_by_key(|node| node.span().start);
        nodes.dedup_by_key(|node| node.span().start);
        let mut named = Vec::new();
        for node in nodes {
            let id = node.as_str().unwrap_or_default();
            let task = self.open(request, &id)?;
            able.retain(|candidate| *candidate.channel.name == *task.channel);
            named.push((node.span(), task.upstream));
        }
        if able.is_empty() {
            return Err(unknown());
        }
        for (span, upstream) in named {
            request.edits.replace(span, quoted(&upstream));
        }
        Ok(())
    }

    /// Opens a caller's task id. Any text that does not open gets the same error.
    fn open(&self, request: &RequestView, id: &str) -> Result<TaskId, Fault> {
        let caller = request.caller.as_ref().ok_or_else(unknown)?;
        let keys = self.tasks.keys().map_err(|error| unknown().source(error))?;
        keys.open_for(&caller.name, id)
            .map_err(|error| unknown().source(error))
    }
}

/// The member `callback_url` of a native create, if the family has none: its provider would never call there.
pub(super) fn unused_callback_url<'r>(
    request: &'r RequestView,
    family: &VideoFamily,
) -> Option<DocumentNode<'r>> {
    let root = request.body.document()?.root();
    let node = root.get(CALLBACK_URL)?;
    (!family.sends_callbacks() && !node.is_null()).then_some(node)
}

/// # Errors
/// A create in the vendor's own API has a member that the family refuses there.
fn not_refused(request: &RequestView, family: &VideoFamily) -> Result<(), Fault> {
    let Some(document) = request.body.document() else {
        return Ok(());
    };
    let is_given = |pointer: &str| {
        let node = document.root().pointer(pointer);
        node.is_some_and(|node| !node.is_null())
    };
    let mut refused = family.native_api().refused().iter();
    match refused.find(|pointer| is_given(pointer)) {
        None => Ok(()),
        Some(pointer) => {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            let message = format!("`{field}` is not available through this gateway; remove it");
            Err(Fault::new(FaultKind::Invalid, message).param(field))
        }
    }
}

impl MapTaskFilter {
    /// The upstream path of a create in the family's own protocol.
    pub(super) fn native_path(
        &self,
        family: &VideoFamily,
        request: &RequestView,
        candidate: &Candidate,
    ) -> Option<String> {
        let model = candidate.model.as_ref().map_or("", |model| &*model.name);
        match self.calls.find(request, Some(&family.name)) {
            Some(known) => known.call.create_path(model),
            None if family.native_api().replaces_urls() => None,
            None => native_path(family, request, model),
        }
    }
}

/// Sends the caller's callback URL where a vendor has it in the query, unless `callbacks` has put the gateway's there: a URL
/// in the body is sent likewise.
fn pass_callback_query(request: &RequestView, family: &VideoFamily, attempt: &mut AttemptView) {
    if let Some(CallbackTarget::Query(name)) = family.callback_target()
        && let Some(url) = query_member(request.query.as_deref(), name)
        && !attempt.query_members.iter().any(|(known, _)| known == name)
    {
        attempt.query_members.push((name.to_owned(), url));
    }
}

/// The upstream path of a create in the protocol of a family that does not declare its calls.
fn native_path(family: &VideoFamily, request: &RequestView, model: &str) -> Option<String> {
    let has = |pointer: &str| {
        let root = request.body.document().map(JsonDocument::root);
        let node = root.and_then(|root| root.pointer(pointer));
        node.is_some_and(|node| !node.is_null() && node.str_len() != Some(0))
    };
    family.create.path(&request.path, model, has, None)
}

fn override_request(attempt: &mut AttemptView, call: &RequestTemplate, path: String) {
    attempt.request_override.method = Some(call.method.clone());
    attempt.request_override.path = Some(path);
    for (name, value) in call.headers() {
        attempt.headers.insert(name, value);
    }
}

pub(super) fn invalid(refused: FieldError) -> Fault {
    Fault::new(FaultKind::Invalid, refused.message).param(refused.param)
}

/// The same error for another caller's id, a forged id and an id that never existed, so that callers cannot tell them
/// apart.
pub(super) fn unknown() -> Fault {
    Fault::new(
        FaultKind::UnknownId,
        "no task with this id exists for this API key; check the id",
    )
}

//! Responses to creates: the sealed id of the new task, and errors in the caller's protocol.

use super::mapped_create::{MappedCreateRequest, create_for};
use super::request::{CALLBACK_URL, unused_callback_url};
use super::{MapTaskFilter, no_family};
use crate::costs::{TaskCostReservation, reserve};
use crate::polls::task_key;
use bytes::Bytes;
use headgate_core::catalog::price::{BillableMediaOutput, VideoTaskPrice};
use headgate_core::filter::view::{RequestView, ResponseView};
use headgate_core::state::StateStore;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::money::{ChannelCreateReservation, CreateReservation};
use headgate_core::task::family::{CreatedTask, SentCreate, VideoFamily};
use headgate_core::task::id::{TaskId, credential_fingerprint};
use headgate_core::task::openai_video;
use headgate_core::task::requested_format::RequestedVideoFormat;
use headgate_core::task::resolution::video_size;
use headgate_core::task::status::created;
use headgate_protocol::TaskApiFormat;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{HeaderName, HeaderValue, StatusCode};
use std::sync::Arc;

/// What a new task costs until it has ended.
pub(super) struct NewTaskCost {
    key: Arc<str>,
    caller: Arc<str>,
    reservation: TaskCostReservation,
}

/// Lists the fields that were removed from a create.
const IGNORED: HeaderName = HeaderName::from_static("x-headgate-ignored");

impl MapTaskFilter {
    /// Seals the provider's id of a new task; also returns what it costs, if that is settled at its end.
    ///
    /// # Errors
    /// The response has no task id. The task may exist nevertheless, but nobody can query it.
    pub(super) fn created_reply(
        &self,
        response: &mut ResponseView<'_>,
        body: &Bytes,
    ) -> Result<(Bytes, Option<NewTaskCost>), Fault> {
        let family = video_family(response)?;
        let price = self.note_video(response, &family);
        let (document, created_task) = JsonDocument::parse(body.clone(), &JsonLimits::default())
            .ok()
            .and_then(|document| {
                let created = self.upstream_task(response, &family, &document)?;
                Some((document, created))
            })
            .ok_or_else(|| {
                unreadable("the provider's response has no task id, and the task may have been created and billed; tell the operator of this gateway")
                    .detail(format!("response: {}", String::from_utf8_lossy(body)))
            })?;
        let task = self.new_task(response, &family, created_task)?;
        self.polls.record_created(&task);
        let keys = self
            .tasks
            .keys()
            .map_err(|error| no_family().source(error))?;
        let id = keys.seal(&task);
        if let Some(names) = self.ignored_fields(response, &family) {
            response.headers.insert(IGNORED, names);
        }
        response.request.info.response_id = Some(id.clone());
        if self.is_generic() {
            // These formats have no other success, whichever the vendor has.
            response.status = StatusCode::OK;
        }
        let reply = match self.format {
            TaskApiFormat::Generic => created(&id),
            TaskApiFormat::OpenAi => openai_video::created(&id, &task),
            TaskApiFormat::Native => {
                self.native_created(response.request, &family, &document, (&id, &task))
            }
        };
        let caller = response.request.caller.as_ref();
        let caller_label = caller.and_then(|caller| caller.metric_label.as_ref());
        let caller_label = caller_label.map(ToString::to_string);
        let state = &mut response.request.state;
        let channel_money = state
            .get_mut::<ChannelCreateReservation>()
            .and_then(ChannelCreateReservation::take);
        let create = state.get_mut::<CreateReservation>();
        let cost = price.map(|(price, currency)| NewTaskCost {
            key: task_key(&task),
            caller: task.caller.into(),
            reservation: TaskCostReservation {
                task_id: id,
                channel: task.channel,
                model: task.model,
                currency,
                price,
                money: create.map(CreateReservation::keep),
                channel_money,
                caller_label,
            },
        });
        Ok((reply, cost))
    }

    /// What the provider says of the new task.
    fn upstream_task(
        &self,
        response: &ResponseView<'_>,
        family: &VideoFamily,
        document: &JsonDocument,
    ) -> Option<CreatedTask> {
        let candidate = response.candidate?;
        let path = match create_for(response.request, candidate) {
            Some(create) => create.path.clone(),
            None => self.native_path(family, response.request, candidate)?,
        };
        let create = SentCreate {
            path: &path,
            channel_model: candidate.model.as_ref().map_or("", |model| &*model.name),
        };
        let created = family.created(document, create, &candidate.channel.origin.url());
        let id = &*response.request.id;
        created
            .inspect_err(|error| tracing::warn!(id, %error, "a create has no usable task id"))
            .ok()
    }

    /// The names of the fields that were left out of the create.
    fn ignored_fields(
        &self,
        response: &ResponseView<'_>,
        family: &VideoFamily,
    ) -> Option<HeaderValue> {
        match self.is_generic() {
            true => create_for(response.request, response.candidate?)?
                .ignored
                .clone(),
            false => unused_callback_url(response.request, family)
                .map(|_| HeaderValue::from_static(CALLBACK_URL)),
        }
    }

    /// Translates a provider's error to the caller's protocol.
    pub(super) fn translate_error(&self, response: &mut ResponseView<'_>, body: &mut Bytes) {
        let Ok(family) = video_family(response) else {
            return;
        };
        let request = &*response.request;
        let error = (response.status, &*body);
        let translated = self.error_body(&family, request.protocol, error, &request.id);
        if let Some(translated) = translated {
            *body = translated;
        }
    }

    /// Keeps what an accepted create asks for, if the configuration has prices; returns its price and the currency.
    fn note_video(
        &self,
        response: &mut ResponseView<'_>,
        family: &VideoFamily,
    ) -> Option<(VideoTaskPrice, String)> {
        let candidate = response.candidate?;
        let price = candidate.price()?;
        let body = response.request.body.document()?;
        let model = candidate.model.as_ref();
        let model = model.map_or("", |model| &*model.name);
        let mut video = family.requested_video(body, model, self.is_generic());
        let create = create_for(response.request, candidate);
        if let Some(resolution) = create.and_then(|create| create.resolution.clone()) {
            video.resolution = Some(resolution);
        }
        let task = price.video_task(&video);
        response
            .request
            .state
            .set(BillableMediaOutput::Video(video));
        Some((task?, price.currency.to_string()))
    }

    fn new_task(
        &self,
        response: &ResponseView<'_>,
        family: &Arc<VideoFamily>,
        created: CreatedTask,
    ) -> Result<TaskId, Fault> {
        let request = &*response.request;
        let candidate = response.candidate.ok_or_else(no_family)?;
        let key = request.info.credential.map(|key| key as usize);
        let credential = key.and_then(|key| candidate.channel.credentials.get(key));
        let create = create_for(request, candidate);
        Ok(TaskId {
            caller: request
                .caller
                .as_ref()
                .ok_or_else(no_family)?
                .name
                .to_string(),
            channel: candidate.channel.name.to_string(),
            credential: credential.map_or(0, |credential| {
                credential_fingerprint(credential.identity.expose())
            }),
            model: request
                .model()
                .map_or_else(String::new, |model| model.name.to_string()),
            created: unix_ms() / 1000,
            ratio: create.and_then(|create| create.ratio.clone()),
            upstream: created.upstream,
            query_url: created.query_url,
            family: family.name.to_string(),
            requested: requested_format(request, create),
        })
    }
}

impl NewTaskCost {
    /// Stores the cost, so that the gateway that sees the task's end can settle it.
    pub(super) async fn reserve(&self, state: &dyn StateStore) {
        reserve(state, &self.key, &self.caller, &self.reservation).await;
    }
}

/// Length and size of the task, with the size that is made if the model has no resolution of the requested one.
fn requested_format(
    request: &RequestView,
    create: Option<&MappedCreateRequest>,
) -> RequestedVideoFormat {
    let requested: Option<&RequestedVideoFormat> = request.state.get();
    let mut requested = requested.cloned().unwrap_or_default();
    if let Some(create) = create
        && let Some(resolution) = &create.resolution
        && requested.size.is_some()
    {
        let ratio = create.ratio.as_deref();
        requested.size = ratio.and_then(|ratio| video_size(resolution, ratio));
    }
    requested
}

fn video_family(response: &ResponseView<'_>) -> Result<Arc<VideoFamily>, Fault> {
    let candidate = response.candidate.ok_or_else(no_family)?;
    candidate.channel.family.clone().ok_or_else(no_family)
}

fn unreadable(message: &str) -> Fault {
    Fault::new(FaultKind::UnreadableResponse, message)
}

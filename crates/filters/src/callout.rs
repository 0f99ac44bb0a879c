//! `callout`: calls an HTTP service, which decides whether a request or a response may continue, and with which changes.

mod arguments;
mod body_text;
mod call;
mod changes;
mod held_text;
mod json_object;
mod litellm;
mod payload;
mod payload_selection;
mod proposed_changes;
mod response_excerpt;
mod service_payload;
mod service_reply;
mod settings;
mod stream_settings;

use body_text::extract_texts;
use bytes::Bytes;
use changes::AcceptedChanges;
use headgate_core::callout::{CalloutService, PlannedCallout};
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::body_edit::{CheckedBody, CheckedBodyEditor};
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    InvalidSettings, settings_schema,
};
use headgate_core::filter::output_check::OutputCheckMode;
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::view::{RequestView, ResponseView};
use headgate_core::filter::{
    Filter, FilterAction, FilterDeclaration, HookResult, InspectionLimit, ResponseBodyAccess,
};
use headgate_protocol::Protocol;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::sse::SseEvent;
use headgate_schema::CompiledSchema;
use held_text::HeldStreamTextsByFilter;
use http::StatusCode;
use payload::CallingRoute;
use payload_selection::PayloadFormat;
use response_excerpt::ResponseExcerpt;
use service_payload::PlacedText;
use service_reply::ServiceReply;
use settings::{CalloutConfig, CalloutSettings};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "callout",
    summary: "Calls an HTTP service, which decides whether a request, or in the response chain a response, may continue, and with which changes: moderation, policy, enrichment, external authorisation.",
    side: ChainSide::Either,
    placement: FilterChainRules {
        after: &["authenticate"],
        needs: &[FilterPrerequisite::Body],
        reason: ", so that unauthenticated requests cause no calls",
        ..FilterChainRules::CHECK
    },
    settings: Some(settings_schema::<CalloutConfig>),
    bare: false,
    build: |settings, context| {
        let settings = CalloutSettings::read(settings, context)?;
        Ok(Arc::new(CalloutFilter::build(settings, context)?))
    },
};

struct CalloutFilter {
    settings: CalloutSettings,
    service: Arc<CalloutService>,
    route: Arc<str>,
    protocol: Option<Protocol>,
    side: ChainSide,
    /// Of the requests that the service may edit.
    schema: Option<Arc<CompiledSchema>>,
    editor: CheckedBodyEditor,
}

impl Filter for CalloutFilter {
    fn declare(&self) -> FilterDeclaration {
        let is_response = self.side == ChainSide::Response;
        FilterDeclaration {
            ignores_body: !self.reads_body(),
            response_body: match is_response {
                true => ResponseBodyAccess::Replace,
                false => ResponseBodyAccess::None,
            },
            output_check: self.settings.output_check,
            inspection_limit: self.inspection_limit(),
            ..FilterDeclaration::default()
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        // The parts of the request that questions about responses have.
        if self.side == ChainSide::Response {
            inputs.add_caller();
            inputs.add_path();
            match self.settings.sent.format {
                PayloadFormat::Headgate => {
                    let headers = self.settings.sent.headers.iter();
                    headers.for_each(|name| inputs.add_header(name));
                }
                PayloadFormat::Litellm => inputs.add_headers(),
            }
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.side == ChainSide::Request && !self.reads_body() && is_served(request) {
            true => HookResult::later(self.call_for_request(request)),
            false => HookResult::next(),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.side == ChainSide::Request && self.reads_body() && is_served(request) {
            true => HookResult::later(self.call_for_request(request)),
            false => HookResult::next(),
        }
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        let is_called = self.side == ChainSide::Response
            && response.status.is_success()
            && !body.is_empty()
            && is_served(response.request);
        match is_called {
            true => HookResult::later(async move { self.call_for_body(response, body).await }),
            false => HookResult::done(),
        }
    }

    fn on_held_event(&self, request: &mut RequestView, event: &SseEvent) -> bool {
        let data = Bytes::copy_from_slice(event.data());
        let overlap = self.settings.overlap;
        let held = request.state.get_or_default::<HeldStreamTextsByFilter>();
        let held = held.get_mut(self.identity());
        held.add(self.protocol, &data, overlap);
        held.waits()
    }

    fn callout(&self) -> Option<PlannedCallout> {
        let is_held = matches!(self.settings.output_check, OutputCheckMode::Streams(_));
        Some(PlannedCallout {
            service: self.service.name.clone(),
            phases: match (self.side, is_held) {
                (ChainSide::Response, true) => &["response", "stream"],
                (ChainSide::Response, false) => &["response"],
                _ => &["request"],
            },
            on_failure: self.settings.on_failure.name(),
        })
    }

    fn on_window<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a, ()> {
        let held = request.state.get_or_default::<HeldStreamTextsByFilter>();
        match held.get_mut(self.identity()).waits() {
            true => HookResult::later(self.call_for_window(request)),
            false => HookResult::done(),
        }
    }
}

/// Whether this is no dry run, in which no service is called.
fn is_served(request: &RequestView) -> bool {
    request.fetch.is_some()
}

impl CalloutFilter {
    fn build(
        settings: CalloutSettings,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        let service = context.services.get(&settings.service);
        let service =
            service.ok_or_else(|| settings::unknown_service(&settings.service, context))?;
        let edits_requests =
            context.side == ChainSide::Request && !settings.allowed.pointers.is_empty();
        let schema = context.protocol.filter(|_| edits_requests);
        let schema = schema.map(|protocol| context.schemas.request_schema(protocol));
        Ok(Self {
            service: service.clone(),
            route: context.route.into(),
            protocol: context.protocol,
            side: context.side,
            schema: schema
                .transpose()
                .map_err(|invalid| invalid.at("/allow/edit_body"))?,
            editor: context.body_editor(DESCRIPTOR.name),
            settings,
        })
    }

    /// How much of a request is sent to the service.
    fn inspection_limit(&self) -> Option<InspectionLimit> {
        let is_sent = self.side == ChainSide::Request && !self.settings.sent.fields.is_empty();
        is_sent.then_some(InspectionLimit {
            bytes: self.settings.sent.bytes_max as u64,
            setting: "send.max_bytes",
        })
    }

    /// Whether calls for requests need the body.
    fn reads_body(&self) -> bool {
        let CalloutSettings { sent, allowed, .. } = &self.settings;
        self.side == ChainSide::Request && (!sent.fields.is_empty() || !allowed.pointers.is_empty())
    }

    fn route(&self) -> CallingRoute<'_> {
        CallingRoute {
            name: &self.route,
            protocol: self.protocol,
        }
    }

    /// Distinguishes the state of this filter from that of others of its kind.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    async fn call_for_request(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        // The service sees what the provider will.
        let edited = edited_body(request)?;
        let document = match &edited {
            Some(edited) => Some(edited),
            None => request.body.document(),
        };
        let payload = payload::for_request(&self.settings.sent, &self.route(), request, document);
        let editable = document.filter(|_| request.body.form().is_none());
        let mut summary = request.info.callouts;
        let called = self
            .call(&mut summary, &request.id, payload, |reply, sent| {
                let AcceptedChanges { headers, body } =
                    self.settings.allowed.accept(reply, sent, editable)?;
                let body = body.map(|body| self.check_edited(request, body));
                Ok((headers, body.transpose()?))
            })
            .await;
        request.info.callouts = summary;
        let Some((headers, body)) = called? else {
            return Ok(FilterAction::Continue);
        };
        for (name, value) in headers {
            request.header_edits.set(&name, value);
        }
        if let Some(checked) = body {
            request.replace_body(checked);
        }
        Ok(FilterAction::Continue)
    }

    /// An edited request must be one that the route would accept.
    fn check_edited(
        &self,
        request: &RequestView,
        body: JsonDocument,
    ) -> Result<CheckedBody, String> {
        let profile = request
            .model()
            .zip(self.protocol)
            .and_then(|(model, protocol)| model.profile(protocol))
            .map(|profile| &**profile);
        let schemas = self.schema.as_deref().into_iter().chain(profile);
        for schema in schemas {
            if let Some(violation) = schema.violations(&body, 1).first() {
                return Err(format!(
                    "the edited body is invalid at `{}`",
                    violation.pointer
                ));
            }
        }
        let checked = self.editor.check(request, body);
        checked.map_err(|fault| {
            fault
                .detail
                .clone()
                .unwrap_or_else(|| fault.message.clone())
        })
    }

    async fn call_for_body(
        &self,
        response: &mut ResponseView<'_>,
        body: &mut Bytes,
    ) -> Result<(), Fault> {
        let document = JsonDocument::parse(body.clone(), &JsonLimits::default()).ok();
        let status = response.status;
        let sent = &self.settings.sent;
        let texts = extract_texts(sent.format, self.protocol, body, document.as_ref());
        let payload = texts.and_then(|texts| {
            let excerpt = ResponseExcerpt {
                status,
                texts,
                document: document.as_ref(),
                window: None,
            };
            payload::for_response(sent, &self.route(), response.request, excerpt)
        });
        let mut summary = response.request.info.callouts;
        let id = response.request.id.clone();
        let called = self
            .call(&mut summary, &id, payload, |reply, sent| {
                let document = document.as_ref();
                self.settings.allowed.accept(reply, sent, document)
            })
            .await;
        response.request.info.callouts = summary;
        let Some(changes) = called? else {
            return Ok(());
        };
        for (name, value) in changes.headers {
            response.headers.insert(name, value);
        }
        if let Some(edited) = changes.body {
            *body = edited.body().clone();
        }
        Ok(())
    }

    async fn call_for_window(&self, request: &mut RequestView) -> Result<(), Fault> {
        let held = request.state.get_or_default::<HeldStreamTextsByFilter>();
        let held = held.get_mut(self.identity());
        let (texts, window) = (held.window(), held.windows + 1);
        let is_unreadable = held.is_unreadable;
        let payload = match is_unreadable {
            true => Err("an event of the stream is not strict JSON, or has too many texts".into()),
            false => {
                let excerpt = ResponseExcerpt {
                    status: StatusCode::OK,
                    texts: texts.into_iter().map(PlacedText::fixed).collect(),
                    document: None,
                    window: Some(window),
                };
                payload::for_response(&self.settings.sent, &self.route(), request, excerpt)
            }
        };
        let mut summary = request.info.callouts;
        let called = self
            .call(
                &mut summary,
                &request.id,
                payload,
                ServiceReply::check_unchanged,
            )
            .await;
        request.info.callouts = summary;
        called?;
        let held = request.state.get_or_default::<HeldStreamTextsByFilter>();
        held.get_mut(self.identity()).release(self.settings.overlap);
        Ok(())
    }
}

/// The body with the edits of earlier filters; `None` if they made none.
fn edited_body(request: &RequestView) -> Result<Option<JsonDocument>, Fault> {
    let RequestBody::Json(document) = &*request.body else {
        return Ok(None);
    };
    if request.edits.is_empty() {
        return Ok(None);
    }
    let body = request.edits.apply(document.body()).to_bytes();
    let edited = JsonDocument::parse(body, &JsonLimits::default())?;
    Ok(Some(edited))
}

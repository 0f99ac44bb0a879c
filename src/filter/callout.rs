//! `callout`: asks an HTTP service whether a request or a response may continue, and with which changes.

mod changes;
mod held_text;
mod question;
mod settings;

use super::body::RequestBody;
use super::descriptor::{
    BuildContext, ChainSide, FilterDescriptor, FilterPlacement, FilterPrerequisite,
    InvalidSettings, settings_schema,
};
use super::stream_info::CalloutSummary;
use super::view::{RequestView, ResponseView};
use super::{Filter, FilterAction, FilterDeclaration, HookResult, ResponseBodyAccess};
use crate::callout::{
    CallFailure, CallOutcome, CalloutService, ProposedChanges, ServiceAnswer, ServiceDenial,
};
use crate::protocol::Protocol;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::edit::JsonEdits;
use crate::protocol::json::{JsonDocument, JsonLimits};
use crate::protocol::response_text::visit_document;
use crate::protocol::schema::CompiledSchema;
use crate::protocol::sse::SseEvent;
use bytes::Bytes;
use changes::AcceptedChanges;
use held_text::HeldTexts;
use http::StatusCode;
use question::AskedResponse;
use settings::{CalloutConfig, CalloutSettings, OnFailureConfig};
use std::sync::Arc;
use std::time::Instant;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "callout",
    summary: "Asks an HTTP service whether a request, or in the response chain a response, may continue, and with which changes: moderation, policy, enrichment, external authorisation.",
    side: ChainSide::Either,
    placement: FilterPlacement {
        after: &["authenticate"],
        needs: &[FilterPrerequisite::Body],
        reason: ", so that strangers cause no questions",
        ..FilterPlacement::CHECK
    },
    settings: Some(settings_schema::<CalloutConfig>),
    bare: false,
    build: |settings, context| {
        let settings = CalloutSettings::read(settings, context)?;
        Ok(Arc::new(CalloutFilter::build(settings, context)?))
    },
};

/// The caller's message if the service has none.
const DENIED: &str = "this request was denied by a policy of the operator of this gateway";
const UNCHECKED: &str = "this request could not be checked by a service of this gateway; try again";

struct CalloutFilter {
    settings: CalloutSettings,
    service: Arc<CalloutService>,
    route: Arc<str>,
    protocol: Option<Protocol>,
    side: ChainSide,
    /// Of the requests that the service may edit.
    schema: Option<Arc<CompiledSchema>>,
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
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.side == ChainSide::Request && !self.reads_body() && is_served(request) {
            true => HookResult::later(self.ask_about_request(request)),
            false => HookResult::next(),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.side == ChainSide::Request && self.reads_body() && is_served(request) {
            true => HookResult::later(self.ask_about_request(request)),
            false => HookResult::next(),
        }
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        let is_asked = self.side == ChainSide::Response
            && response.status.is_success()
            && !body.is_empty()
            && is_served(response.request);
        match is_asked {
            true => HookResult::later(async move { self.ask_about_body(response, body).await }),
            false => HookResult::done(),
        }
    }

    fn on_held_event(&self, request: &mut RequestView, event: &SseEvent) -> bool {
        let data = Bytes::copy_from_slice(event.data());
        let overlap = self.settings.overlap;
        let held = request.state.get_or_default::<HeldTexts>();
        let held = held.of(self.identity());
        held.add(self.protocol, &data, overlap);
        held.waits()
    }

    fn on_window<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a, ()> {
        let held = request.state.get_or_default::<HeldTexts>();
        match held.of(self.identity()).waits() {
            true => HookResult::later(self.ask_about_window(request)),
            false => HookResult::done(),
        }
    }
}

/// Whether this is no dry run, in which nothing is asked.
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
        let schema = schema.map(|protocol| context.schemas.schema_of(protocol));
        Ok(Self {
            service: service.clone(),
            route: context.route.into(),
            protocol: context.protocol,
            side: context.side,
            schema: schema
                .transpose()
                .map_err(|invalid| invalid.at("/allow/edit_body"))?,
            settings,
        })
    }

    /// Whether questions about requests need the body.
    fn reads_body(&self) -> bool {
        let CalloutSettings { sent, allowed, .. } = &self.settings;
        self.side == ChainSide::Request && (!sent.fields.is_empty() || !allowed.pointers.is_empty())
    }

    /// Distinguishes the state of this filter from that of others of its kind.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    async fn ask_about_request(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        // The service sees what the provider will.
        let edited = edited_body(request)?;
        let document = match &edited {
            Some(edited) => Some(edited),
            None => request.body.document(),
        };
        let question = question::about_request(&self.settings.sent, &self.route, request, document);
        let editable = document.filter(|_| request.body.form().is_none());
        let mut summary = request.info.callouts;
        let asked = self
            .ask(&mut summary, &request.id, question, |proposed| {
                let changes = self.settings.allowed.accept(proposed, editable)?;
                self.check_schema(request, changes)
            })
            .await;
        request.info.callouts = summary;
        let Some(changes) = asked? else {
            return Ok(FilterAction::Continue);
        };
        for (name, value) in changes.headers {
            request.header_edits.set(&name, value);
        }
        if let Some(body) = changes.body {
            request.edits = JsonEdits::default();
            request.body = RequestBody::Json(body);
        }
        Ok(FilterAction::Continue)
    }

    /// An edited request must be one that the route would accept.
    fn check_schema(
        &self,
        request: &RequestView,
        changes: AcceptedChanges,
    ) -> Result<AcceptedChanges, String> {
        let Some(body) = &changes.body else {
            return Ok(changes);
        };
        let profile = request
            .model()
            .zip(self.protocol)
            .and_then(|(model, protocol)| model.profile(protocol))
            .map(|profile| &**profile);
        let schemas = self.schema.as_deref().into_iter().chain(profile);
        for schema in schemas {
            if let Some(violation) = schema.violations(body, 1).first() {
                return Err(format!(
                    "the edited body is invalid at `{}`",
                    violation.pointer
                ));
            }
        }
        Ok(changes)
    }

    async fn ask_about_body(
        &self,
        response: &mut ResponseView<'_>,
        body: &mut Bytes,
    ) -> Result<(), Fault> {
        let document = JsonDocument::parse(body.clone(), &JsonLimits::default()).ok();
        let status = response.status;
        let question = text_of(self.protocol, body, document.as_ref()).and_then(|text| {
            let asked = AskedResponse {
                status,
                text: &text,
                document: document.as_ref(),
                window: None,
            };
            question::about_response(&self.settings.sent, &self.route, response.request, &asked)
        });
        let mut summary = response.request.info.callouts;
        let id = response.request.id.clone();
        let asked = self
            .ask(&mut summary, &id, question, |proposed| {
                self.settings.allowed.accept(proposed, document.as_ref())
            })
            .await;
        response.request.info.callouts = summary;
        let Some(changes) = asked? else {
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

    async fn ask_about_window(&self, request: &mut RequestView) -> Result<(), Fault> {
        let held = request.state.get_or_default::<HeldTexts>();
        let held = held.of(self.identity());
        let (text, window) = (held.window(), held.windows + 1);
        let is_unreadable = held.is_unreadable;
        let question = match is_unreadable {
            true => Err("an event of the stream is not strict JSON, or has too many texts".into()),
            false => {
                let asked = AskedResponse {
                    status: StatusCode::OK,
                    text: &text,
                    document: None,
                    window: Some(window),
                };
                question::about_response(&self.settings.sent, &self.route, request, &asked)
            }
        };
        let mut summary = request.info.callouts;
        let asked = self
            .ask(&mut summary, &request.id, question, unchanged)
            .await;
        request.info.callouts = summary;
        asked?;
        let held = request.state.get_or_default::<HeldTexts>();
        held.of(self.identity()).release(self.settings.overlap);
        Ok(())
    }

    /// Asks the service. `None` if it gave no usable answer, and the settings let the request continue.
    ///
    /// # Errors
    /// The service denies, or gave no usable answer.
    async fn ask<T: Send>(
        &self,
        summary: &mut CalloutSummary,
        id: &str,
        question: Result<Bytes, String>,
        accept: impl FnOnce(ProposedChanges) -> Result<T, String> + Send,
    ) -> Result<Option<T>, Fault> {
        let may_deny = self.settings.allowed.deny;
        let judge = |answer: ServiceAnswer| match answer {
            ServiceAnswer::Deny(denial) if may_deny => Ok(Err(denial)),
            ServiceAnswer::Deny(_) => Err("the service denies, which `allow` excludes".to_owned()),
            ServiceAnswer::Continue(proposed) => accept(proposed).map(Ok),
        };
        let began = Instant::now();
        let asked = match question {
            Ok(question) => self.service.ask(id, question, judge).await,
            Err(reason) => {
                self.service.record_unsent();
                Err(CallFailure::new(CallOutcome::NotSent, reason))
            }
        };
        let outcome = match &asked {
            Ok(Ok(_)) => CallOutcome::Continued,
            Ok(Err(_)) => CallOutcome::Denied,
            Err(failed) => failed.outcome,
        };
        summary.note(outcome, began.elapsed());
        match asked {
            Ok(Ok(accepted)) => Ok(Some(accepted)),
            Ok(Err(denial)) => Err(self.denied(denial)),
            Err(failed) => self.failed(id, &failed).map(|()| None),
        }
    }

    fn denied(&self, denial: ServiceDenial) -> Fault {
        let ServiceDenial { status, message } = denial;
        let message = message.unwrap_or_else(|| DENIED.into());
        Fault::new(FaultKind::Denied(status), message)
            .detail(format!("denied by service `{}`", self.service.name))
    }

    fn failed(&self, id: &str, failed: &CallFailure) -> Result<(), Fault> {
        let CallFailure { outcome, detail } = failed;
        let service = &*self.service.name;
        let outcome = outcome.name();
        // A caller must not choose by the size of its request whether it is checked.
        let is_callers_doing =
            self.side == ChainSide::Request && failed.outcome == CallOutcome::NotSent;
        match self.settings.on_failure {
            OnFailureConfig::Allow if !is_callers_doing => {
                let error = detail;
                tracing::info!(service, id, outcome, error, "callout failed; continuing");
                Ok(())
            }
            OnFailureConfig::Allow | OnFailureConfig::Deny => {
                Err(Fault::new(FaultKind::CheckUnavailable, UNCHECKED)
                    .detail(format!("service `{service}`: {outcome}: {detail}")))
            }
        }
    }
}

/// A stream can be continued or ended, not changed.
fn unchanged(proposed: ProposedChanges) -> Result<(), String> {
    match proposed == ProposedChanges::default() {
        true => Ok(()),
        false => Err("the answer changes a stream, which is not possible".into()),
    }
}

/// The body with the edits of earlier filters; `None` if they made none.
fn edited_body(request: &RequestView) -> Result<Option<JsonDocument>, Fault> {
    let RequestBody::Json(document) = &request.body else {
        return Ok(None);
    };
    if request.edits.is_empty() {
        return Ok(None);
    }
    let body = request.edits.apply(document.body()).to_bytes();
    let edited = JsonDocument::parse(body, &JsonLimits::default())?;
    Ok(Some(edited))
}

/// The texts of a whole body, in lines of their own.
fn text_of(
    protocol: Option<Protocol>,
    body: &Bytes,
    document: Option<&JsonDocument>,
) -> Result<String, String> {
    let Some(document) = document else {
        // Clients may decode what the service would see as other bytes: escapes, a byte order mark, UTF-16, events.
        let text = std::str::from_utf8(body).ok().filter(|text| {
            let start = text.trim_ascii_start();
            !start.starts_with(['{', '[', '\u{feff}'])
                && !text.contains('\0')
                && !start.starts_with("data:")
                && !start.starts_with("event:")
        });
        return match (protocol, text) {
            (None, Some(text)) => Ok(text.to_owned()),
            _ => Err("the response is not strict JSON".into()),
        };
    };
    let mut texts: Vec<String> = Vec::new();
    visit_document(protocol, document, &mut |_, text| {
        texts.push(text.into_owned());
    });
    Ok(texts.join("\n"))
}

//! A filter that runs only if the condition of its step holds.

use super::body_edit::EditedBody;
use super::condition::StepCondition;
use super::expression::ExchangeValues;
use super::response_inputs::ResponseVaryInputs;
use super::settlement::ExchangeSettlement;
use super::view::{AttemptView, EventView, RequestView, ResponseView};
use super::{Filter, FilterAction, FilterDeclaration, HookResult, PlannedMirrorRequest};
use crate::callout::PlannedCallout;
use bytes::Bytes;
use headgate_expression::EvaluationPhase;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::sse::SseEvent;
use http::HeaderName;
use std::sync::Arc;

/// Runs the hooks of a filter if its condition holds, as [`EvaluationPhase`] of the condition has it:
///
/// - Conditions on the request's head are evaluated in `on_head`, those on its body in `on_body`; `on_head` of the filter
///   then runs directly before its `on_body`.
/// - Conditions on the attempt are evaluated in each `on_attempt`.
/// - Conditions on the response are evaluated in `on_response_head` or, if they name its body, in `on_response_body`.
///
/// All conditions of a response chain are evaluated when there is a response.
pub struct ConditionalFilter {
    filter: Arc<dyn Filter>,
    condition: StepCondition,
    /// When the condition is evaluated.
    phase: EvaluationPhase,
}

impl ConditionalFilter {
    /// `filter` with a condition, for a request chain.
    pub fn for_request_chain(filter: Arc<dyn Filter>, condition: StepCondition) -> Self {
        let phase = condition.expression.phase();
        Self {
            filter,
            condition,
            phase,
        }
    }

    /// `filter` with a condition, for a response chain.
    pub fn for_response_chain(filter: Arc<dyn Filter>, condition: StepCondition) -> Self {
        let phase = condition
            .expression
            .phase()
            .max(EvaluationPhase::ResponseHead);
        Self {
            filter,
            condition,
            phase,
        }
    }

    fn runs(&self, request: &RequestView) -> bool {
        self.condition.runs(request)
    }

    /// Evaluates the condition before an attempt.
    fn decide<'a>(
        &'a self,
        request: &'a mut RequestView,
        then: impl FnOnce(&'a mut RequestView) -> HookResult<'a>,
    ) -> HookResult<'a> {
        match self
            .condition
            .evaluate(ExchangeValues::for_request(request))
        {
            Ok(outcome) => {
                let runs = outcome.runs;
                self.condition.record(request, outcome);
                match runs {
                    true => then(request),
                    false => HookResult::next(),
                }
            }
            Err(fault) => HookResult::fail(fault),
        }
    }
}

impl Filter for ConditionalFilter {
    fn declare(&self) -> FilterDeclaration {
        let declared = self.filter.declare();
        FilterDeclaration {
            reads_body: declared.reads_body || self.condition.expression.reads_request_body(),
            replies_always: false,
            ..declared
        }
    }

    fn label(&self) -> Option<&str> {
        self.filter.label()
    }

    fn granted_response_headers(&self) -> &[HeaderName] {
        self.filter.granted_response_headers()
    }

    fn callout(&self) -> Option<PlannedCallout> {
        self.filter.callout()
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        self.filter.add_response_inputs(inputs);
        if self.phase >= EvaluationPhase::Attempt {
            inputs.add_references(self.condition.expression.references());
        }
    }

    fn planned_copy(&self, request: &RequestView) -> Option<PlannedMirrorRequest> {
        let planned = self.filter.planned_copy(request)?;
        let skipped = || "the condition of the step does not hold".to_owned();
        Some(PlannedMirrorRequest {
            obstacle: match self.runs(request) {
                true => planned.obstacle,
                false => Some(skipped()),
            },
            ..planned
        })
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.phase {
            EvaluationPhase::Head => self.decide(request, |request| self.filter.on_head(request)),
            _ => HookResult::next(),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.phase {
            EvaluationPhase::Head if self.runs(request) => self.filter.on_body(request),
            EvaluationPhase::Body => self.decide(request, |request| {
                HookResult::later(async {
                    match self.filter.on_head(request).decided().await? {
                        FilterAction::Continue => self.filter.on_body(request).decided().await,
                        reply => Ok(reply),
                    }
                })
            }),
            _ => HookResult::next(),
        }
    }

    fn check_edited_body(
        &self,
        request: &RequestView,
        edited: EditedBody<'_>,
    ) -> Result<(), Fault> {
        match self.runs(request) {
            true => self.filter.check_edited_body(request, edited),
            false => Ok(()),
        }
    }

    /// The condition may depend on the model, so it is evaluated again. What the filter did for the first model stays.
    fn on_fallback<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a, ()> {
        let runs = match self.phase {
            EvaluationPhase::Body => {
                let outcome = self
                    .condition
                    .evaluate(ExchangeValues::for_request(request));
                outcome.map(|outcome| outcome.runs)
            }
            _ => Ok(self.runs(request)),
        };
        match runs {
            Ok(true) => self.filter.on_fallback(request),
            Ok(false) => HookResult::done(),
            Err(fault) => HookResult::fail(fault),
        }
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        let runs = match self.phase {
            EvaluationPhase::Attempt => {
                let values = ExchangeValues::for_attempt(request, attempt);
                match self.condition.evaluate(values) {
                    Ok(outcome) => outcome.runs,
                    Err(fault) => return HookResult::fail(fault),
                }
            }
            _ => self.runs(request),
        };
        match runs {
            true => self.filter.on_attempt(request, attempt),
            false => HookResult::done(),
        }
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        if matches!(
            self.phase,
            EvaluationPhase::Attempt | EvaluationPhase::ResponseHead
        ) {
            // Without an outcome the filter does not run: a condition with `refuse` has refused the attempt before.
            if let Ok(outcome) = self
                .condition
                .evaluate(ExchangeValues::for_response(response))
            {
                self.condition.record(response.request, outcome);
            }
        }
        match self.runs(response.request) {
            true => self.filter.on_response_head(response),
            false => HookResult::done(),
        }
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if self.phase == EvaluationPhase::ResponseBody {
            let parsed = JsonDocument::parse(body.clone(), &JsonLimits::default()).ok();
            let values = ExchangeValues::for_response(response);
            let values = match &parsed {
                Some(document) => values.with_response_body(document),
                None => values,
            };
            match self.condition.evaluate(values) {
                Ok(outcome) => self.condition.record(response.request, outcome),
                Err(fault) => return HookResult::fail(fault),
            }
        }
        match self.runs(response.request) {
            true => self.filter.on_response_body(response, body),
            false => HookResult::done(),
        }
    }

    fn on_event<'a>(&'a self, event: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        match self.runs(event.request) {
            true => self.filter.on_event(event),
            false => HookResult::done(),
        }
    }

    fn on_stream_end<'a>(
        &'a self,
        request: &'a mut RequestView,
        rest: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        match self.runs(request) {
            true => self.filter.on_stream_end(request, rest),
            false => HookResult::done(),
        }
    }

    fn on_held_event(&self, request: &mut RequestView, event: &SseEvent) -> bool {
        self.runs(request) && self.filter.on_held_event(request, event)
    }

    fn on_window<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a, ()> {
        match self.runs(request) {
            true => self.filter.on_window(request),
            false => HookResult::done(),
        }
    }

    fn on_response_end(&self, request: &mut RequestView) {
        if self.runs(request) {
            self.filter.on_response_end(request);
        }
    }

    fn on_done(&self, request: &mut RequestView, settlement: ExchangeSettlement) {
        if self.runs(request) {
            self.filter.on_done(request, settlement);
        }
    }
}

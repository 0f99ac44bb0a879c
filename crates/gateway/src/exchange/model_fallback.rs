//! Falls back to another model after no channel of one could serve the request, before the caller received anything.

use super::attempt_verdict::LeasedResponse;
use super::attempts::{AttemptLoop, for_endpoint};
use super::load_balancing::load_balancing;
use super::model_queue::ModelQueue;
use super::retry_policy::{NextAttempt, RetryDecision, RetrySafety};
use headgate_core::catalog::fallback::FallbackCause;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_core::filter::stream_info::ModelFallback;
use headgate_core::filter::view::RequestDestination;
use headgate_protocol::error_class::{ErrorClass, ErrorSubject};
use headgate_protocol::fault::Fault;
use http::{HeaderName, HeaderValue};
use std::sync::Arc;

/// The model that served, if it is not the one that the request names.
const SERVING_MODEL: HeaderName = HeaderName::from_static("x-headgate-model");

impl AttemptLoop<'_> {
    /// Whether an error of this class leads to another model, as far as the configuration says.
    pub(super) fn has_fallback_for(&self, class: ErrorClass) -> bool {
        let cause = FallbackCause::from_error_class(class);
        let lists = |cause| {
            let model = self.request.model();
            model.is_some_and(|model| !model.properties.fallbacks.for_cause(cause).is_empty())
        };
        self.may_fall_back() && (cause.is_some_and(lists) || self.has_queued_model())
    }

    /// Whether some error would lead to another model, as far as the configuration says.
    pub(super) fn has_fallback(&self) -> bool {
        let model = self.request.model();
        let has_own = model.is_some_and(|model| !model.properties.fallbacks.is_empty());
        (has_own || self.has_queued_model()) && self.may_fall_back()
    }

    fn has_queued_model(&self) -> bool {
        let queue = self.models.as_ref();
        queue.is_some_and(|queue| !queue.is_empty())
    }

    /// Notes why the attempt failed, if another model may stand in after this decision: nothing may be processed twice that
    /// is stored or paid.
    pub(super) fn note_cause(&mut self, class: ErrorClass, decision: RetryDecision) {
        let is_refused = class.is_callers() && self.policy.safety == RetrySafety::Free;
        let may_follow = is_refused || decision.next == NextAttempt::Candidate;
        self.cause = FallbackCause::from_error_class(class).filter(|_| may_follow);
    }

    /// Tries the models that stand in, after the attempts of the first one ended so.
    pub(super) async fn run_other_models(
        &mut self,
        mut ended: Result<Box<LeasedResponse>, Fault>,
    ) -> Result<Box<LeasedResponse>, Fault> {
        while let Some(cause) = self.cause.take()
            && self.fall_back(cause).await
        {
            if let Ok(kept) = ended {
                kept.response.give_back().await;
            }
            ended = self.run_model().await;
        }
        ended
    }

    /// Selects the next model that stands in, and its candidates; `false` if there is none.
    async fn fall_back(&mut self, cause: FallbackCause) -> bool {
        if !self.has_fallback() {
            return false;
        }
        let Some(current) = self.request.model().cloned() else {
            return false;
        };
        let queue = self.models.take();
        let mut queue = queue.unwrap_or_else(|| Box::new(ModelQueue::new(&current.name)));
        queue.add_first(current.properties.fallbacks.for_cause(cause));
        let mut is_found = false;
        while !is_found && let Some(name) = queue.next() {
            is_found = self.select(&name, &current, cause).await;
        }
        queue.count_sent(is_found);
        self.models = Some(queue);
        is_found
    }

    /// Makes the model of this name the destination, if the caller may use it, every filter admits it, and a channel is
    /// usable.
    async fn select(&mut self, name: &str, current: &Arc<Model>, cause: FallbackCause) -> bool {
        let Some(protocol) = self.request.protocol else {
            return false;
        };
        let caller = self.request.caller.as_ref();
        if !caller.is_none_or(|caller| caller.may_use_model(name)) {
            return false;
        }
        let Some(model) = self.snapshot.catalog.get(name) else {
            return false;
        };
        let candidates = model.candidates(protocol);
        if candidates.is_empty() {
            return false;
        }
        let model_name = model.name.clone();
        let destination = RequestDestination {
            model: Some(model),
            candidates,
        };
        let before = self.request.destination.replace(destination);
        let admitted = self.check_filters().await;
        if let Err(fault) = &admitted {
            tracing::debug!(
                id = &*self.request.id,
                model = &*model_name,
                reason = &*fault.message,
                "a model that could stand in is passed over"
            );
        }
        let candidates = self
            .request
            .destination
            .as_ref()
            .filter(|_| admitted.is_ok());
        let candidates = candidates.map(|destination| destination.candidates.clone());
        let Some(candidates) = candidates else {
            self.request.destination = before;
            return false;
        };
        let tried_before = std::mem::take(&mut self.tried);
        let candidates_before = self.replace_candidates(candidates);
        if !self.may_go_on() {
            self.tried = tried_before;
            self.candidates = candidates_before;
            self.request.destination = before;
            return false;
        }
        let known = self.request.state.take::<ModelFallback>();
        let requested = known.map_or_else(|| current.clone(), |known| known.requested);
        self.request.state.set(ModelFallback { requested, cause });
        self.name_model(&model_name);
        if let Some(open) = &self.wait_times.open {
            open.update(|details| details.model = Some(model_name.clone()));
        }
        let metrics = &self.gateway.metrics;
        let label = self.snapshot.catalog.metric_label(current, false);
        metrics.fallbacks.count(label, cause.name());
        true
    }

    /// Whether a channel of the new candidates is usable, and the retry budget allows another attempt. The first attempt is no
    /// retry, whichever model it is for.
    fn may_go_on(&mut self) -> bool {
        match self.record.attempts {
            0 => self.has_usable_candidate(),
            _ => self.may_try_again(),
        }
    }

    /// Runs `on_fallback` of all filters, until one objects to the new destination.
    async fn check_filters(&mut self) -> Result<(), Fault> {
        for named in self.route.request.filters() {
            named.filter.on_fallback(self.request).decided().await?;
        }
        Ok(())
    }

    /// Names the model that serves in a header of the response.
    fn name_model(&mut self, name: &str) {
        let headers = &mut self.request.response_headers;
        headers.retain(|(header, _)| *header != SERVING_MODEL);
        // A name with other characters than a header may have stands in the body and in the log only.
        if let Ok(name) = HeaderValue::from_str(name) {
            headers.push((SERVING_MODEL, name));
        }
    }

    fn replace_candidates(&mut self, candidates: Arc<[Candidate]>) -> Arc<[Candidate]> {
        self.balancing = load_balancing(self.request, &candidates);
        let candidates = for_endpoint(candidates, self.class);
        std::mem::replace(&mut self.candidates, candidates)
    }

    /// Whether the request may go to another model: nothing in it belongs to a channel, and nothing of it is stored.
    fn may_fall_back(&self) -> bool {
        let is_safe = matches!(self.policy.safety, RetrySafety::Free | RetrySafety::Paid);
        is_safe
            && self.record.attempts < self.route.failover.max_attempts
            && self.error_subject() == ErrorSubject::Model
    }
}

//! Falls back to another model after no channel of one could serve the request, before the caller received anything.

use super::attempt_verdict::LeasedResponse;
use super::attempts::AttemptLoop;
use super::model_queue::ModelQueue;
use super::token_count::keep_counting;
use headgate_channel::balancing::LoadBalancing;
use headgate_channel::retry_policy::{NextAttempt, RetryDecision, RetrySafety};
use headgate_core::catalog::fallback::FallbackCause;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_core::filter::stream_info::ModelFallback;
use headgate_core::filter::view::RequestDestination;
use headgate_protocol::error_class::{ErrorClass, ErrorSubject};
use headgate_protocol::estimate;
use headgate_protocol::fault::Fault;
use http::{HeaderName, HeaderValue};
use std::sync::Arc;

/// The model that served, if it is not the one that the request names.
const SERVING_MODEL: HeaderName = HeaderName::from_static("x-headgate-model");

/// Where the attempts for a model go.
struct ModelRoute {
    destination: Option<RequestDestination>,
    candidates: Arc<[Candidate]>,
    balancing: LoadBalancing,
    tried: Vec<Arc<str>>,
}

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

    /// Whether the request cannot fit into the context of its model, and another model is configured for that: an attempt would
    /// only cost time.
    pub(super) fn exceeds_context(&self) -> bool {
        self.request.model().is_some_and(|model| {
            let longer = model
                .properties
                .fallbacks
                .for_cause(FallbackCause::ContextTooLong);
            !longer.is_empty() && self.is_too_long_for(model)
        })
    }

    fn is_too_long_for(&self, model: &Model) -> bool {
        let window = model.properties.context_window;
        let known = window.zip(self.request.body.document());
        known.is_some_and(|(window, body)| estimate::exceeds(body, window.get()))
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
    pub(super) async fn fall_back(&mut self, cause: FallbackCause) -> bool {
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
        let Some((model, destination)) = self.find_destination(name) else {
            return false;
        };
        let before = ModelRoute {
            destination: self.request.destination.replace(destination),
            candidates: self.candidates.clone(),
            balancing: std::mem::take(&mut self.balancing),
            tried: std::mem::take(&mut self.tried),
        };
        let admitted = self.check_filters().await;
        if let Err(fault) = &admitted {
            tracing::debug!(
                id = &*self.request.id,
                model = &*model.name,
                reason = &*fault.message,
                "a model that could stand in is passed over"
            );
        }
        self.set_candidates();
        let is_selected = admitted.is_ok() && self.may_go_on();
        match is_selected {
            true => self.record_fallback(&model, current, cause),
            false => self.restore(before),
        }
        is_selected
    }

    /// The model of this name, if the caller may use it, channels serve it in the request's protocol, and the request may fit into
    /// its context.
    fn find_destination(&self, name: &str) -> Option<(Arc<Model>, RequestDestination)> {
        let caller = self.request.caller.as_deref();
        let model = self.snapshot.catalog.usable_model(name, caller).ok()?;
        if self.is_too_long_for(&model) {
            return None;
        }
        let protocol = self.request.protocol?;
        let candidates = match self.route.translation.as_deref() {
            Some(route) => model.candidates_with_translation(protocol, &route.policy),
            None => model.candidates(protocol),
        };
        let candidates = keep_counting(self.request, candidates);
        let destination = RequestDestination {
            model: Some(model.clone()),
            candidates,
        };
        (!destination.candidates.is_empty()).then_some((model, destination))
    }

    /// Tries the candidates that the filters have left of the destination.
    fn set_candidates(&mut self) {
        if let Some(destination) = &self.request.destination {
            let candidates = destination.candidates.clone();
            self.balancing = LoadBalancing::for_request(self.request, &candidates);
            self.candidates = Candidate::all_with_endpoint(candidates, self.class);
        }
    }

    fn restore(&mut self, route: ModelRoute) {
        let ModelRoute {
            destination,
            candidates,
            balancing,
            tried,
        } = route;
        self.request.destination = destination;
        self.candidates = candidates;
        self.balancing = balancing;
        self.tried = tried;
    }

    /// Names the model in the response, in the log, in metrics and among the open requests.
    fn record_fallback(&mut self, model: &Arc<Model>, current: &Arc<Model>, cause: FallbackCause) {
        let known = self.request.state.take::<ModelFallback>();
        let requested = known.map_or_else(|| current.clone(), |known| known.requested);
        self.request.state.set(ModelFallback { requested, cause });
        self.name_model(&model.name);
        if let Some(open) = &self.wait_times.open {
            open.update(|details| details.model = Some(model.name.clone()));
        }
        let metrics = &self.gateway.metrics;
        let label = self.snapshot.catalog.metric_label(current, false);
        metrics.fallbacks.count(label, cause.name());
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

    /// Whether the request may go to another model: nothing in it belongs to a channel, and nothing of it is stored.
    fn may_fall_back(&self) -> bool {
        let is_safe = matches!(self.policy.safety, RetrySafety::Free | RetrySafety::Paid);
        is_safe
            && self.record.attempts < self.route.failover.max_attempts
            && self.error_subject() == ErrorSubject::Model
    }
}

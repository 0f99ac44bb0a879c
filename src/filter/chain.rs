//! Chains: the filters of a route in order, each hook run only where a filter asked for it.

use super::facts::{Facts, Settlement};
use super::view::{AnswerView, AttemptView, FrameView, RequestView, Verdict};
use super::{AnswerNeed, BodyNeed, Filter, Flow};
use crate::protocol::fault::Fault;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// A filter, and the name it was written with.
#[derive(Clone)]
pub struct Named {
    pub name: &'static str,
    pub filter: Arc<dyn Filter>,
}

/// The filters of a request, in order.
#[derive(Clone, Default)]
pub struct RequestChain {
    filters: Vec<Named>,
    need: Option<BodyNeed>,
}

/// The filters of an answer, in order.
#[derive(Clone, Default)]
pub struct ResponseChain {
    filters: Vec<Named>,
    body_observers: Vec<Arc<dyn Filter>>,
    body_replacers: Vec<Arc<dyn Filter>>,
    frame_filters: Vec<Arc<dyn Filter>>,
    rewrites_frames: bool,
    heartbeat: Option<Duration>,
}

impl RequestChain {
    pub fn new(filters: Vec<Named>) -> Self {
        let need = filters.iter().map(|named| named.filter.body_need()).max();
        Self { filters, need }
    }

    /// The filters in order, for telling what a route does.
    pub fn filters(&self) -> &[Named] {
        &self.filters
    }

    /// The most that any filter needs of the body.
    pub fn body_need(&self) -> BodyNeed {
        self.need.unwrap_or(BodyNeed::Untouched)
    }

    pub async fn on_head(&self, request: &mut RequestView) -> Result<Flow, Fault> {
        for Named { filter, .. } in &self.filters {
            if let Flow::Reply(reply) = filter.on_head(request).decided().await? {
                return Ok(Flow::Reply(reply));
            }
        }
        Ok(Flow::Next)
    }

    pub async fn on_body(&self, request: &mut RequestView) -> Result<Flow, Fault> {
        for Named { filter, .. } in &self.filters {
            if let Flow::Reply(reply) = filter.on_body(request).decided().await? {
                return Ok(Flow::Reply(reply));
            }
        }
        Ok(Flow::Next)
    }

    pub async fn on_attempt(
        &self,
        request: &RequestView,
        attempt: &mut AttemptView,
    ) -> Result<Flow, Fault> {
        for Named { filter, .. } in &self.filters {
            if let Flow::Reply(reply) = filter.on_attempt(request, attempt).decided().await? {
                return Ok(Flow::Reply(reply));
            }
        }
        Ok(Flow::Next)
    }

    pub fn on_done(&self, request: &RequestView, facts: &mut Facts, settlement: Settlement) {
        for Named { filter, .. } in &self.filters {
            filter.on_done(request, facts, settlement);
        }
    }
}

impl ResponseChain {
    /// `request_filters` are those of the same route: one that changed the request may have to
    /// change the answer back, which it does last.
    pub fn new(filters: Vec<Named>, request_filters: &[Named]) -> Self {
        let all = || {
            filters
                .iter()
                .chain(request_filters)
                .map(|named| &named.filter)
        };
        let with = |wanted: fn(&dyn Filter) -> bool| {
            all()
                .filter(|filter| wanted(&***filter))
                .cloned()
                .collect::<Vec<_>>()
        };
        Self {
            body_observers: with(|filter| filter.answer_need() == AnswerNeed::Observe),
            body_replacers: with(|filter| filter.answer_need() == AnswerNeed::Replace),
            frame_filters: with(|filter| filter.frame_need() != AnswerNeed::Nothing),
            rewrites_frames: all().any(|filter| filter.frame_need() == AnswerNeed::Replace),
            heartbeat: all().filter_map(|filter| filter.heartbeat()).min(),
            filters,
        }
    }

    /// The filters in order, for telling what a route does.
    pub fn filters(&self) -> &[Named] {
        &self.filters
    }

    /// What is done with a JSON answer.
    pub fn answer_need(&self) -> AnswerNeed {
        match (
            self.body_replacers.is_empty(),
            self.body_observers.is_empty(),
        ) {
            (false, _) => AnswerNeed::Replace,
            (true, false) => AnswerNeed::Observe,
            (true, true) => AnswerNeed::Nothing,
        }
    }

    /// What is done with the events of a streamed answer.
    pub fn frame_need(&self) -> AnswerNeed {
        match (self.rewrites_frames, self.frame_filters.is_empty()) {
            (true, _) => AnswerNeed::Replace,
            (false, false) => AnswerNeed::Observe,
            (false, true) => AnswerNeed::Nothing,
        }
    }

    /// How often a caller is sent a comment while the provider is silent; the shortest counts.
    pub fn heartbeat(&self) -> Option<Duration> {
        self.heartbeat
    }

    pub fn on_response_head(&self, answer: &mut AnswerView<'_>) {
        for Named { filter, .. } in &self.filters {
            filter.on_response_head(answer);
        }
    }

    /// Before a JSON answer is sent: filters that may change it.
    ///
    /// # Errors
    /// What a filter cannot send in good conscience.
    pub async fn replace_body(
        &self,
        answer: &mut AnswerView<'_>,
        body: &mut Bytes,
    ) -> Result<(), Fault> {
        for filter in &self.body_replacers {
            filter.on_response_body(answer, body);
        }
        for filter in &self.body_replacers {
            filter.on_held_answer(answer, body).decided().await?;
        }
        Ok(())
    }

    /// Before a provider's error is sent: every filter may put it into other words.
    pub fn reword_error(&self, answer: &mut AnswerView<'_>, body: &mut Bytes) {
        for filter in &self.body_replacers {
            filter.on_error_body(answer, body);
        }
    }

    /// After a JSON answer was sent: filters that only look.
    pub fn observe_body(&self, answer: &mut AnswerView<'_>, mut body: Bytes) {
        for filter in &self.body_observers {
            filter.on_response_body(answer, &mut body);
        }
    }

    /// One event; filters behind one that dropped it do not see it.
    pub fn on_frame(&self, frame: &mut FrameView<'_>) {
        for filter in &self.frame_filters {
            filter.on_frame(frame);
            if frame.verdict == Verdict::Drop {
                return;
            }
        }
    }

    pub fn on_done(&self, request: &RequestView, facts: &mut Facts, settlement: Settlement) {
        for Named { filter, .. } in &self.filters {
            filter.on_done(request, facts, settlement);
        }
    }
}

//! Chains: the filters of a route in order, each hook run only where a filter declares it.

use super::kind::{FilterKind, Need, Provision};
use super::settlement::Settlement;
use super::view::{AnswerView, AttemptView, FrameView, RequestView, Verdict};
use super::{Access, BodyNeed, Declaration, Filter, Flow, Step};
use crate::protocol::fault::Fault;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// A filter, and the kind it was built from.
#[derive(Clone)]
pub struct Named {
    pub kind: &'static FilterKind,
    pub filter: Arc<dyn Filter>,
}

/// The filters of a request, in order.
#[derive(Clone, Default)]
pub struct RequestChain {
    filters: Vec<Named>,
    body_need: BodyNeed,
}

/// The filters of a response, in order: those of the response chain, then those of the request chain backwards.
#[derive(Clone, Default)]
pub struct ResponseChain {
    filters: Vec<Named>,
    all: Vec<Arc<dyn Filter>>,
    body_observers: Vec<Arc<dyn Filter>>,
    body_replacers: Vec<Arc<dyn Filter>>,
    event_filters: Vec<Arc<dyn Filter>>,
    events: Access,
    heartbeat: Option<Duration>,
}

impl Named {
    fn body_need(&self) -> BodyNeed {
        let declared = self.filter.declare();
        match (self.kind.needs(Need::Body), declared.reads_body) {
            (true, _) if !declared.ignores_body => BodyNeed::Scanned,
            (_, true) => BodyNeed::Whole,
            _ => BodyNeed::Untouched,
        }
    }
}

impl RequestChain {
    pub fn new(filters: Vec<Named>) -> Self {
        let body_need = filters.iter().map(Named::body_need).max();
        let body_need = body_need.unwrap_or_default();
        Self { filters, body_need }
    }

    /// The filters in order, for telling what a route does.
    pub fn filters(&self) -> &[Named] {
        &self.filters
    }

    /// The chain without the filters that provide something which is known by other means.
    pub fn without(&self, provision: Provision) -> Self {
        let others = self.filters.iter();
        let others = others.filter(|named| !named.kind.provides(provision));
        Self {
            filters: others.cloned().collect(),
            body_need: self.body_need,
        }
    }

    /// The first filter that provides this.
    pub fn provider_of(&self, provision: Provision) -> Option<&'static FilterKind> {
        let mut kinds = self.filters.iter().map(|named| named.kind);
        kinds.find(|kind| kind.provides(provision))
    }

    /// The most that any filter needs of the body.
    pub fn body_need(&self) -> BodyNeed {
        self.body_need
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
    ) -> Result<(), Fault> {
        for Named { filter, .. } in &self.filters {
            filter.on_attempt(request, attempt).decided().await?;
        }
        Ok(())
    }

    pub fn on_done(&self, request: &mut RequestView, settlement: Settlement) {
        for Named { filter, .. } in &self.filters {
            filter.on_done(request, settlement);
        }
    }
}

impl ResponseChain {
    /// `request_filters` are those of the same route: one that changed the request may have to change the
    /// response back, the first of them last.
    pub fn new(filters: Vec<Named>, request_filters: &[Named]) -> Self {
        let all: Vec<_> = filters
            .iter()
            .chain(request_filters.iter().rev())
            .map(|named| named.filter.clone())
            .collect();
        let with = |wanted: fn(Declaration) -> bool| {
            all.iter()
                .filter(|filter| wanted(filter.declare()))
                .cloned()
                .collect::<Vec<_>>()
        };
        let declared = || all.iter().map(|filter| filter.declare());
        Self {
            body_observers: with(|declared| declared.response_body == Access::Observe),
            body_replacers: with(|declared| declared.response_body == Access::Replace),
            event_filters: with(|declared| declared.events != Access::None),
            events: declared().map(|one| one.events).max().unwrap_or_default(),
            heartbeat: declared().filter_map(|one| one.heartbeat).min(),
            filters,
            all,
        }
    }

    /// The filters that were written in the response chain, for telling what a route does.
    pub fn filters(&self) -> &[Named] {
        &self.filters
    }

    /// What is done with a complete response body.
    pub fn body_access(&self) -> Access {
        match (
            self.body_replacers.is_empty(),
            self.body_observers.is_empty(),
        ) {
            (false, _) => Access::Replace,
            (true, false) => Access::Observe,
            (true, true) => Access::None,
        }
    }

    /// What is done with the events of a streamed response.
    pub fn event_access(&self) -> Access {
        self.events
    }

    /// How often a caller is sent a comment while the provider is silent; the shortest counts.
    pub fn heartbeat(&self) -> Option<Duration> {
        self.heartbeat
    }

    pub fn on_response_head(&self, answer: &mut AnswerView<'_>) {
        for filter in &self.all {
            filter.on_response_head(answer);
        }
    }

    /// Before a response body is sent: filters that may change it.
    ///
    /// # Errors
    /// A filter refuses the response.
    pub async fn replace_body(
        &self,
        answer: &mut AnswerView<'_>,
        body: &mut Bytes,
    ) -> Result<(), Fault> {
        for filter in &self.body_replacers {
            filter.on_response_body(answer, body).decided().await?;
        }
        Ok(())
    }

    /// After a response body was sent: filters that only look, and so have nothing to wait for.
    pub fn observe_body(&self, answer: &mut AnswerView<'_>, mut body: Bytes) {
        for filter in &self.body_observers {
            match filter.on_response_body(answer, &mut body) {
                Step::Ready(_) | Step::Later(_) => {}
            }
        }
    }

    pub fn on_response_end(&self, request: &mut RequestView) {
        for filter in &self.all {
            filter.on_response_end(request);
        }
    }

    /// One event; filters behind one that dropped it do not see it.
    pub fn on_event(&self, event: &mut FrameView<'_>) {
        for filter in &self.event_filters {
            filter.on_event(event);
            if event.verdict == Verdict::Drop {
                return;
            }
        }
    }

    pub fn on_done(&self, request: &mut RequestView, settlement: Settlement) {
        for Named { filter, .. } in &self.filters {
            filter.on_done(request, settlement);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::registry::FILTERS;
    use crate::filter::view::AnswerKind;
    use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

    /// Adds its name to each header that a hook may change, and to bodies.
    struct Recorder(&'static str);

    const SEEN: HeaderName = HeaderName::from_static("x-seen");

    impl Filter for Recorder {
        fn declare(&self) -> Declaration {
            Declaration {
                response_body: Access::Replace,
                ..Declaration::default()
            }
        }

        fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
            let name = HeaderValue::from_static(self.0);
            request.headers.append(SEEN, name);
            Step::next()
        }

        fn on_response_head(&self, answer: &mut AnswerView<'_>) {
            let name = HeaderValue::from_static(self.0);
            answer.headers.append(SEEN, name);
        }

        fn on_response_body<'a>(
            &'a self,
            _: &'a mut AnswerView<'_>,
            body: &'a mut Bytes,
        ) -> Step<'a, ()> {
            *body = [body, self.0.as_bytes(), b" "].concat().into();
            Step::done()
        }
    }

    fn recorders(names: &[&'static str]) -> Vec<Named> {
        let named = |name: &&'static str| Named {
            kind: &FILTERS[0],
            filter: Arc::new(Recorder(name)),
        };
        names.iter().map(named).collect()
    }

    fn seen(headers: &HeaderMap) -> Vec<&str> {
        let seen = headers.get_all(SEEN).into_iter();
        seen.map(|name| name.to_str().unwrap()).collect()
    }

    #[tokio::test]
    async fn the_first_that_changed_a_request_is_the_last_to_change_its_response() {
        let request_chain = RequestChain::new(recorders(&["first", "second"]));
        let response_chain =
            ResponseChain::new(recorders(&["third", "fourth"]), request_chain.filters());
        let mut request = RequestView::new(
            "id".into(),
            Method::POST,
            "/".into(),
            None,
            HeaderMap::new(),
            Vec::new(),
            None,
        );
        assert!(matches!(
            request_chain.on_head(&mut request).await,
            Ok(Flow::Next)
        ));
        assert_eq!(seen(&request.headers), ["first", "second"]);
        let mut headers = HeaderMap::new();
        let mut answer = AnswerView {
            request: &mut request,
            candidate: None,
            status: StatusCode::OK,
            headers: &mut headers,
            kind: AnswerKind::Json,
        };
        response_chain.on_response_head(&mut answer);
        let mut body = Bytes::new();
        let replaced = response_chain.replace_body(&mut answer, &mut body).await;
        assert!(replaced.is_ok());
        assert_eq!(seen(&headers), ["third", "fourth", "second", "first"]);
        assert_eq!(body, "third fourth second first ");
    }
}

//! Request and response chains: the filters of a route in order, and which of them each hook runs.

use super::condition::StepCondition;
use super::descriptor::{FilterDescriptor, FilterPrerequisite, FilterProvision};
use super::output_check::OutputChecks;
use super::settlement::Settlement;
use super::view::{AttemptView, EventAction, EventView, RequestView, ResponseView};
use super::{
    Filter, FilterAction, FilterDeclaration, HookResult, RequestBodyNeed, ResponseBodyAccess,
};
use crate::protocol::fault::Fault;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// A filter with the kind that it was built from.
#[derive(Clone)]
pub struct NamedFilter {
    pub kind: &'static FilterDescriptor,
    pub filter: Arc<dyn Filter>,
    /// The condition of its step, which `filter` evaluates.
    pub condition: Option<StepCondition>,
}

/// The filters of a route's request chain, in order.
#[derive(Clone, Default)]
pub struct RequestChain {
    filters: Vec<NamedFilter>,
    /// In the order in which they see an attempt.
    attempt_filters: Vec<Arc<dyn Filter>>,
    body_need: RequestBodyNeed,
}

/// The filters whose response hooks run: those of the response chain, then those of the request chain in reverse order.
#[derive(Clone, Default)]
pub struct ResponseChain {
    filters: Vec<NamedFilter>,
    all: Vec<Arc<dyn Filter>>,
    body_observers: Vec<Arc<dyn Filter>>,
    body_replacers: Vec<Arc<dyn Filter>>,
    event_filters: Vec<Arc<dyn Filter>>,
    events: ResponseBodyAccess,
    heartbeat: Option<Duration>,
    output_checks: OutputChecks,
}

impl NamedFilter {
    fn body_need(&self) -> RequestBodyNeed {
        let declared = self.filter.declare();
        match (
            self.kind.needs(FilterPrerequisite::Body),
            declared.reads_body,
        ) {
            (true, _) if !declared.ignores_body => RequestBodyNeed::Scanned,
            (_, true) => RequestBodyNeed::Whole,
            _ => RequestBodyNeed::Untouched,
        }
    }
}

impl RequestChain {
    /// `response_filters` are the filters of the same route's response chain, which may read the request's body, too.
    pub fn new(filters: Vec<NamedFilter>, response_filters: &[NamedFilter]) -> Self {
        let needs = filters.iter().chain(response_filters);
        let body_need = needs.map(NamedFilter::body_need).max().unwrap_or_default();
        let mut attempt_filters: Vec<_> = filters.iter().map(|one| one.filter.clone()).collect();
        move_to_end(&mut attempt_filters);
        Self {
            filters,
            attempt_filters,
            body_need,
        }
    }

    /// All filters of the chain, in order.
    pub fn filters(&self) -> &[NamedFilter] {
        &self.filters
    }

    /// The chain without the filters that have this provision. The caller of this function supplies the value itself.
    pub fn without(&self, provision: FilterProvision) -> Self {
        let others = self.filters.iter();
        let others = others.filter(|named| !named.kind.provides(provision));
        Self {
            body_need: self.body_need,
            ..Self::new(others.cloned().collect(), &[])
        }
    }

    /// The first filter with this provision.
    pub fn provider_of(&self, provision: FilterProvision) -> Option<&'static FilterDescriptor> {
        let mut kinds = self.filters.iter().map(|named| named.kind);
        kinds.find(|kind| kind.provides(provision))
    }

    /// The largest body need of any filter in the chain.
    pub fn body_need(&self) -> RequestBodyNeed {
        self.body_need
    }

    pub async fn on_head(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        for NamedFilter { filter, .. } in &self.filters {
            match filter.on_head(request).decided().await? {
                FilterAction::Continue => {}
                reply => return Ok(reply),
            }
        }
        Ok(FilterAction::Continue)
    }

    pub async fn on_body(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        for NamedFilter { filter, .. } in &self.filters {
            match filter.on_body(request).decided().await? {
                FilterAction::Continue => {}
                reply => return Ok(reply),
            }
        }
        Ok(FilterAction::Continue)
    }

    pub async fn on_attempt(
        &self,
        request: &RequestView,
        attempt: &mut AttemptView,
    ) -> Result<(), Fault> {
        for filter in &self.attempt_filters {
            filter.on_attempt(request, attempt).decided().await?;
        }
        Ok(())
    }

    pub fn on_done(&self, request: &mut RequestView, settlement: Settlement) {
        for NamedFilter { filter, .. } in &self.filters {
            filter.on_done(request, settlement);
        }
    }
}

/// Moves the filters that run last behind all others.
fn move_to_end(filters: &mut [Arc<dyn Filter>]) {
    filters.sort_by_key(|filter| filter.declare().runs_last);
}

impl ResponseChain {
    /// `request_filters` are the filters of the same route's request chain. They are appended in reverse order, since a
    /// filter that changed the request may have to change the response back.
    pub fn new(filters: Vec<NamedFilter>, request_filters: &[NamedFilter]) -> Self {
        let mut all: Vec<_> = filters
            .iter()
            .chain(request_filters.iter().rev())
            .map(|named| named.filter.clone())
            .collect();
        move_to_end(&mut all);
        let with = |wanted: fn(FilterDeclaration) -> bool| {
            all.iter()
                .filter(|filter| wanted(filter.declare()))
                .cloned()
                .collect::<Vec<_>>()
        };
        let declared = || all.iter().map(|filter| filter.declare());
        Self {
            body_observers: with(|declared| declared.response_body == ResponseBodyAccess::Observe),
            body_replacers: with(|declared| declared.response_body == ResponseBodyAccess::Replace),
            event_filters: with(|declared| declared.events != ResponseBodyAccess::None),
            events: declared().map(|one| one.events).max().unwrap_or_default(),
            heartbeat: declared().filter_map(|one| one.heartbeat).min(),
            output_checks: OutputChecks::of(&all),
            filters,
            all,
        }
    }

    /// The filters of the configured response chain, without the request chain's.
    pub fn filters(&self) -> &[NamedFilter] {
        &self.filters
    }

    /// The highest access of any filter to complete response bodies.
    pub fn body_access(&self) -> ResponseBodyAccess {
        match (
            self.body_replacers.is_empty(),
            self.body_observers.is_empty(),
        ) {
            (false, _) => ResponseBodyAccess::Replace,
            (true, false) => ResponseBodyAccess::Observe,
            (true, true) => ResponseBodyAccess::None,
        }
    }

    /// The highest access of any filter to the events of a streamed response.
    pub fn event_access(&self) -> ResponseBodyAccess {
        self.events
    }

    /// The shortest heartbeat of any filter: the interval of keep-alive comments while the provider is silent.
    pub fn heartbeat(&self) -> Option<Duration> {
        self.heartbeat
    }

    /// The filters that decide whether a response may reach the caller.
    pub fn output_checks(&self) -> &OutputChecks {
        &self.output_checks
    }

    pub fn on_response_head(&self, response: &mut ResponseView<'_>) {
        for filter in &self.all {
            filter.on_response_head(response);
        }
    }

    /// Runs the filters that may change a response body, before it is sent.
    ///
    /// # Errors
    /// A filter rejects the response.
    pub async fn replace_body(
        &self,
        response: &mut ResponseView<'_>,
        body: &mut Bytes,
    ) -> Result<(), Fault> {
        for filter in &self.body_replacers {
            filter.on_response_body(response, body).decided().await?;
        }
        Ok(())
    }

    /// Runs the filters that only read a response body. The body may already be sent; these filters never wait.
    pub fn observe_body(&self, response: &mut ResponseView<'_>, mut body: Bytes) {
        for filter in &self.body_observers {
            match filter.on_response_body(response, &mut body) {
                HookResult::Ready(_) | HookResult::Later(_) => {}
            }
        }
    }

    pub fn on_response_end(&self, request: &mut RequestView) {
        for filter in &self.all {
            filter.on_response_end(request);
        }
    }

    /// Runs the event filters. Once a filter drops the event, later filters do not see it.
    pub fn on_event(&self, event: &mut EventView<'_>) {
        for filter in &self.event_filters {
            filter.on_event(event);
            if event.action == EventAction::Drop {
                return;
            }
        }
    }

    pub fn on_done(&self, request: &mut RequestView, settlement: Settlement) {
        for NamedFilter { filter, .. } in &self.filters {
            filter.on_done(request, settlement);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::registry::FILTERS;
    use crate::filter::view::ResponseBodyKind;
    use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

    /// Appends its name to each header that a hook may change, and to bodies.
    struct RecordingFilter(&'static str);

    const SEEN: HeaderName = HeaderName::from_static("x-seen");

    impl Filter for RecordingFilter {
        fn declare(&self) -> FilterDeclaration {
            FilterDeclaration {
                response_body: ResponseBodyAccess::Replace,
                runs_last: self.0 == "last",
                ..FilterDeclaration::default()
            }
        }

        fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
            let name = HeaderValue::from_static(self.0);
            request.headers.append(SEEN, name);
            HookResult::next()
        }

        fn on_response_head(&self, response: &mut ResponseView<'_>) {
            let name = HeaderValue::from_static(self.0);
            response.headers.append(SEEN, name);
        }

        fn on_response_body<'a>(
            &'a self,
            _: &'a mut ResponseView<'_>,
            body: &'a mut Bytes,
        ) -> HookResult<'a, ()> {
            *body = [body, self.0.as_bytes(), b" "].concat().into();
            HookResult::done()
        }
    }

    fn recorders(names: &[&'static str]) -> Vec<NamedFilter> {
        let named = |name: &&'static str| NamedFilter {
            kind: &FILTERS[0],
            filter: Arc::new(RecordingFilter(name)),
            condition: None,
        };
        names.iter().map(named).collect()
    }

    fn seen(headers: &HeaderMap) -> Vec<&str> {
        let seen = headers.get_all(SEEN).into_iter();
        seen.map(|name| name.to_str().unwrap()).collect()
    }

    #[tokio::test]
    async fn response_filters_run_in_reverse_request_order_and_those_that_run_last_after_all() {
        let request_chain = RequestChain::new(recorders(&["first", "last", "second"]), &[]);
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
            Ok(FilterAction::Continue)
        ));
        assert_eq!(seen(&request.headers), ["first", "last", "second"]);
        let mut headers = HeaderMap::new();
        let mut response = ResponseView {
            request: &mut request,
            candidate: None,
            status: StatusCode::OK,
            headers: &mut headers,
            kind: ResponseBodyKind::Json,
        };
        response_chain.on_response_head(&mut response);
        let mut body = Bytes::new();
        let replaced = response_chain.replace_body(&mut response, &mut body).await;
        assert!(replaced.is_ok());
        let order = ["third", "fourth", "second", "first", "last"];
        assert_eq!(seen(&headers), order);
        assert_eq!(body, "third fourth second first last ");
    }
}

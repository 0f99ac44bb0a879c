//! Request and response chains: the filters of a route in order, and which of them each hook runs.

mod granted_headers;
mod replaced_events;
#[cfg(test)]
mod tests;

use super::body_edit::{EditedBody, invalid_edit};
use super::condition::StepCondition;
use super::contract::RouteApiDescription;
use super::descriptor::{FilterDescriptor, FilterPrerequisite, FilterProvision};
use super::output_check::RouteOutputChecks;
use super::settlement::ExchangeSettlement;
use super::view::{AttemptView, EventAction, EventView, RequestView, ResponseView};
use super::{
    Filter, FilterAction, FilterDeclaration, HookResult, RequestBodyNeed, ResponseBodyAccess,
};
use crate::catalog::model::Candidate;
use bytes::Bytes;
pub use granted_headers::GrantedResponseHeaders;
use headgate_protocol::fault::Fault;
use replaced_events::on_replaced_events;
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
    /// Each with whether it sees the caller's body, not the provider's.
    body_observers: Vec<(Arc<dyn Filter>, bool)>,
    body_replacers: Vec<Arc<dyn Filter>>,
    event_filters: Vec<Arc<dyn Filter>>,
    /// Those that read the provider's events, before they are converted for the caller.
    upstream_event_observers: Vec<Arc<dyn Filter>>,
    bodies: ResponseBodyAccess,
    events: ResponseBodyAccess,
    heartbeat: Option<Duration>,
    reads_body_during_stream: bool,
    output_checks: RouteOutputChecks,
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

    /// What the filters that always run determine of the HTTP API of the route.
    pub fn contract(&self) -> RouteApiDescription {
        let mut contract = RouteApiDescription::default();
        for named in &self.filters {
            named.filter.add_to_contract(&mut contract);
        }
        contract
    }

    /// The first filter with this provision.
    pub fn first_with_provision(
        &self,
        provision: FilterProvision,
    ) -> Option<&'static FilterDescriptor> {
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
        match attempt.edited_by {
            Some(editor) => self.check_attempt_body(request, attempt, editor),
            None => Ok(()),
        }
    }

    fn check_attempt_body(
        &self,
        request: &RequestView,
        attempt: &AttemptView,
        editor: &str,
    ) -> Result<(), Fault> {
        let Some(document) = attempt.edited_document(request)? else {
            return Ok(());
        };
        let edited = EditedBody {
            document: &document,
            candidate: Some(&attempt.candidate),
        };
        for NamedFilter { filter, .. } in &self.filters {
            let checked = filter.check_edited_body(request, edited);
            checked.map_err(|fault| invalid_edit(editor, &fault))?;
        }
        Ok(())
    }

    pub fn on_done(&self, request: &mut RequestView, settlement: ExchangeSettlement) {
        for NamedFilter { filter, .. } in &self.filters {
            filter.on_done(request, settlement);
        }
    }
}

/// Moves the filters that run last after all others.
fn move_to_end(filters: &mut [Arc<dyn Filter>]) {
    let order = |declared: FilterDeclaration| (declared.runs_last, declared.runs_after_edits);
    filters.sort_by_key(|filter| order(filter.declare()));
}

impl ResponseChain {
    /// `request_filters` are the route's request chain: one that changed the request may have to change the response back.
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
        let highest = |access: fn(FilterDeclaration) -> ResponseBodyAccess| {
            declared().map(access).max().unwrap_or_default()
        };
        Self {
            body_observers: with(|declared| declared.response_body == ResponseBodyAccess::Observe)
                .into_iter()
                .map(|filter| (filter.clone(), filter.declare().observes_caller_body))
                .collect(),
            body_replacers: with(|declared| declared.response_body == ResponseBodyAccess::Replace),
            event_filters: with(|declared| {
                declared.events != ResponseBodyAccess::None && !declared.reads_upstream_events
            }),
            upstream_event_observers: with(|declared| declared.reads_upstream_events),
            bodies: highest(|one| one.response_body),
            events: highest(|one| one.events),
            heartbeat: declared().filter_map(|one| one.heartbeat).min(),
            reads_body_during_stream: declared().any(|one| one.reads_body_during_stream),
            output_checks: RouteOutputChecks::from_filters(&all),
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
        self.bodies
    }

    /// The highest access of any filter to the events of a streamed response.
    pub fn event_access(&self) -> ResponseBodyAccess {
        self.events
    }

    /// The shortest heartbeat of any filter: the interval of keep-alive comments while the provider is silent.
    pub fn heartbeat(&self) -> Option<Duration> {
        self.heartbeat
    }

    /// Whether any filter reads the request's body once a stream has begun.
    pub fn reads_body_during_stream(&self) -> bool {
        self.reads_body_during_stream
    }

    /// The filters that decide whether a response may reach the caller.
    pub fn output_checks(&self) -> &RouteOutputChecks {
        &self.output_checks
    }

    /// # Errors
    /// A filter rejects the response.
    pub async fn on_response_head(&self, response: &mut ResponseView<'_>) -> Result<(), Fault> {
        for filter in &self.all {
            filter.on_response_head(response).decided().await?;
        }
        Ok(())
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
    pub fn observe_body(
        &self,
        response: &mut ResponseView<'_>,
        mut provider_body: Bytes,
        mut caller_body: Bytes,
    ) {
        for (filter, is_for_caller) in &self.body_observers {
            let body = match is_for_caller {
                true => &mut caller_body,
                false => &mut provider_body,
            };
            match filter.on_response_body(response, body) {
                HookResult::Ready(_) | HookResult::Later(_) => {}
            }
        }
    }

    pub fn on_response_end(&self, request: &mut RequestView) {
        for filter in &self.all {
            filter.on_response_end(request);
        }
    }

    /// Shows an event of the provider to the filters that read its side of the stream. These filters never wait.
    pub fn observe_event(&self, event: &mut EventView<'_>) {
        for filter in &self.upstream_event_observers {
            match filter.on_event(event) {
                HookResult::Ready(_) | HookResult::Later(_) => {}
            }
        }
    }

    /// Whether any filter sees or changes the caller's events.
    pub fn has_event_filters(&self) -> bool {
        !self.event_filters.is_empty()
    }

    /// Runs the event filters on an event of the caller's side. Filters see an event as those before them replaced it; once a filter drops the event,
    /// later filters do not see it.
    ///
    /// # Errors
    /// A filter ends the stream.
    pub async fn on_event(&self, event: &mut EventView<'_>) -> Result<(), Fault> {
        for (index, filter) in self.event_filters.iter().enumerate() {
            filter.on_event(event).decided().await?;
            match &event.action {
                EventAction::Pass => {}
                EventAction::Drop => return Ok(()),
                EventAction::Replace(bytes) => {
                    let later = &self.event_filters[index + 1..];
                    if !later.is_empty() {
                        let bytes = bytes.clone();
                        let (request, candidate) = (&mut *event.request, event.candidate);
                        let replaced = on_replaced_events(later, request, candidate, bytes).await?;
                        event.action = match replaced.is_empty() {
                            true => EventAction::Drop,
                            false => EventAction::Replace(replaced),
                        };
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs the event filters after the last event; returns what they add to the stream.
    ///
    /// # Errors
    /// A filter ends the stream with an error.
    pub async fn on_stream_end(
        &self,
        request: &mut RequestView,
        candidate: Option<&Candidate>,
    ) -> Result<Bytes, Fault> {
        let mut added = Bytes::new();
        for filter in &self.event_filters {
            if !added.is_empty() {
                let filters = std::slice::from_ref(filter);
                added = on_replaced_events(filters, request, candidate, added).await?;
            }
            let mut rest = Bytes::new();
            filter.on_stream_end(request, &mut rest).decided().await?;
            added = [added, rest].concat().into();
        }
        Ok(added)
    }

    pub fn on_done(&self, request: &mut RequestView, settlement: ExchangeSettlement) {
        for NamedFilter { filter, .. } in &self.filters {
            filter.on_done(request, settlement);
        }
    }
}

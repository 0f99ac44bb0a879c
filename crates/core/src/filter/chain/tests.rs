//! Tests of the order in which the filters of a route run.

use super::*;
use crate::filter::descriptor::{ChainSide, FilterChainRules, FilterDescriptor};
use crate::filter::view::ResponseBodyKind;
use headgate_protocol::sse::decode_events;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// Appends its name to each header that a hook may change, and to bodies.
struct RecordingFilter(&'static str);

const RECORDER: FilterDescriptor = FilterDescriptor {
    name: "recorder",
    summary: "",
    side: ChainSide::Either,
    placement: FilterChainRules::ANYWHERE,
    settings: None,
    bare: true,
    build: |_, _| Ok(Arc::new(RecordingFilter(""))),
};
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

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        let name = HeaderValue::from_static(self.0);
        response.headers.append(SEEN, name);
        HookResult::done()
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
        kind: &RECORDER,
        filter: Arc::new(RecordingFilter(name)),
        condition: None,
    };
    names.iter().map(named).collect()
}

fn seen(headers: &HeaderMap) -> Vec<&str> {
    let seen = headers.get_all(SEEN).into_iter();
    seen.map(|name| name.to_str().unwrap()).collect()
}

fn request() -> RequestView {
    RequestView::new(
        "id".into(),
        Method::POST,
        "/".into(),
        None,
        HeaderMap::new(),
        Vec::new(),
        None,
    )
}

#[tokio::test]
async fn response_filters_run_in_reverse_request_order_and_those_that_run_last_after_all() {
    let request_chain = RequestChain::new(recorders(&["first", "last", "second"]), &[]);
    let response_chain =
        ResponseChain::new(recorders(&["third", "fourth"]), request_chain.filters());
    let mut request = request();
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
    let seen_head = response_chain.on_response_head(&mut response).await;
    assert!(seen_head.is_ok());
    let mut body = Bytes::new();
    let replaced = response_chain.replace_body(&mut response, &mut body).await;
    assert!(replaced.is_ok());
    let order = ["third", "fourth", "second", "first", "last"];
    assert_eq!(seen(&headers), order);
    assert_eq!(body, "third fourth second first last ");
}

/// Drops all events.
struct DroppingFilter;

impl Filter for DroppingFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            events: ResponseBodyAccess::Replace,
            ..FilterDeclaration::default()
        }
    }

    fn on_event<'a>(&'a self, event: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        event.action = EventAction::Drop;
        HookResult::done()
    }
}

/// Notes each event that it sees.
struct ObservingFilter {
    reads_upstream_events: bool,
    note: &'static str,
}

impl Filter for ObservingFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            events: ResponseBodyAccess::Observe,
            reads_upstream_events: self.reads_upstream_events,
            ..FilterDeclaration::default()
        }
    }

    fn on_event<'a>(&'a self, event: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        let note = HeaderValue::from_static(self.note);
        event.request.headers.append(SEEN, note);
        HookResult::done()
    }
}

#[tokio::test]
async fn what_reads_the_providers_events_sees_them_whatever_other_filters_do_with_them() {
    let observing = |reads_upstream_events, note| {
        Arc::new(ObservingFilter {
            reads_upstream_events,
            note,
        }) as Arc<dyn Filter>
    };
    let filters = [
        Arc::new(DroppingFilter) as Arc<dyn Filter>,
        observing(false, "caller"),
        observing(true, "provider"),
    ];
    let filters = filters.map(|filter| NamedFilter {
        kind: &RECORDER,
        filter,
        condition: None,
    });
    let chain = ResponseChain::new(filters.into(), &[]);
    assert!(chain.has_event_filters());
    let mut request = request();
    for event in decode_events(&Bytes::from_static(b"data: {}\n\n"), 64) {
        let mut view = EventView {
            request: &mut request,
            candidate: None,
            event: &event,
            action: EventAction::Pass,
        };
        chain.observe_event(&mut view);
        assert_eq!(view.action, EventAction::Pass);
        assert!(chain.on_event(&mut view).await.is_ok());
        assert_eq!(view.action, EventAction::Drop);
    }
    assert_eq!(seen(&request.headers), ["provider"]);
}

//! Tests of the order in which the filters of a route run.

use super::*;
use crate::filter::descriptor::{ChainSide, FilterDescriptor, FilterPlacement};
use crate::filter::view::ResponseBodyKind;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// Appends its name to each header that a hook may change, and to bodies.
struct RecordingFilter(&'static str);

const RECORDER: FilterDescriptor = FilterDescriptor {
    name: "recorder",
    summary: "",
    side: ChainSide::Either,
    placement: FilterPlacement::ANYWHERE,
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
    let seen_head = response_chain.on_response_head(&mut response).await;
    assert!(seen_head.is_ok());
    let mut body = Bytes::new();
    let replaced = response_chain.replace_body(&mut response, &mut body).await;
    assert!(replaced.is_ok());
    let order = ["third", "fourth", "second", "first", "last"];
    assert_eq!(seen(&headers), order);
    assert_eq!(body, "third fourth second first last ");
}

//! `map_results_url`: the URL of a message batch's results becomes one of this gateway, from which SDKs read them.

use bytes::Bytes;
use headgate_core::catalog::public_url::PublicUrl;
use headgate_core::filter::descriptor::{ChainSide, FilterChainRules, FilterDescriptor};
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::view::{RequestView, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_protocol::batch::RESULTS_URL;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, quoted};
use http::header;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "map_results_url",
    summary: "Replaces `results_url` of message batches by the URL of the results at this gateway.",
    side: ChainSide::Response,
    placement: FilterChainRules::ALWAYS,
    settings: None,
    bare: true,
    build: |_, context| {
        Ok(Arc::new(MapResultsUrlFilter {
            public_url: context.public_url.cloned(),
        }))
    },
};

struct MapResultsUrlFilter {
    public_url: Option<PublicUrl>,
}

impl Filter for MapResultsUrlFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            response_body: ResponseBodyAccess::Replace,
            ..FilterDeclaration::default()
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        inputs.add_caller();
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if !response.status.is_success() {
            return HookResult::done();
        }
        let public_url = self.public_url.as_ref();
        match mapped(response.request, public_url, body) {
            Ok(None) => HookResult::done(),
            Ok(Some(changed)) => {
                *body = changed;
                response.headers.remove(header::CONTENT_LENGTH);
                HookResult::done()
            }
            Err(fault) => HookResult::fail(fault),
        }
    }
}

/// The batch, or the list of batches, with the gateway's URLs; `None` if it has none.
fn mapped(
    request: &RequestView,
    public_url: Option<&PublicUrl>,
    body: &Bytes,
) -> Result<Option<Bytes>, Fault> {
    let document = JsonDocument::parse(body.clone(), &JsonLimits::default()).map_err(|error| {
        Fault::new(
            FaultKind::Upstream,
            "the provider's batch is not valid JSON; try again, and tell the operator of this gateway if the error persists",
        )
        .source(error)
    })?;
    let base = base_url(request, public_url);
    let listed = document.root().get("data");
    let listed = listed.into_iter().flat_map(DocumentNode::elements);
    let mut edits = JsonEdits::default();
    for batch in listed.chain([document.root()]) {
        let id = batch.get("id").and_then(DocumentNode::as_str);
        let url = batch.get(RESULTS_URL).filter(|url| !url.is_null());
        if let (Some(id), Some(url)) = (id, url) {
            let own = quoted(&format!("{base}/{id}/results"));
            edits.replace(url.span(), own);
        }
    }
    if edits.is_empty() {
        return Ok(None);
    }
    Ok(Some(edits.apply(document.body()).to_bytes()))
}

/// The URL of all batches, at the gateway's own URL if it is configured, else at the host that the client used; without one
/// only its path.
fn base_url(request: &RequestView, public_url: Option<&PublicUrl>) -> String {
    let mut path = request.path.as_str();
    if let Some(start) = path.find("/batches") {
        path = &path[..start + "/batches".len()];
    }
    match (public_url, request.header(header::HOST)) {
        (Some(url), _) => url.join(path),
        (None, Some(host)) => format!("{}://{host}{path}", request.scheme()),
        (None, None) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue, Method};

    #[test]
    fn urls_of_results_lead_to_this_gateway() {
        const PATH: &str = "/v1/messages/batches";
        let own = r#""http://gate.example:8080/v1/messages/batches/b1/results""#;
        let other = r#""https://provider.example/v1/messages/batches/b1/results""#;
        for (path, body, expected) in [
            (
                PATH,
                format!(r#"{{"id":"b1","results_url":{other}}}"#),
                format!(r#"{{"id":"b1","results_url":{own}}}"#),
            ),
            (
                "/v1/messages/batches/b1/cancel",
                format!(r#"{{"results_url": {other} ,"id":"b1"}}"#),
                format!(r#"{{"results_url": {own} ,"id":"b1"}}"#),
            ),
            (
                PATH,
                format!(
                    r#"{{"data":[{{"id":"b1","results_url":{other}}},{{"id":"b2","results_url":null}}]}}"#
                ),
                format!(
                    r#"{{"data":[{{"id":"b1","results_url":{own}}},{{"id":"b2","results_url":null}}]}}"#
                ),
            ),
            (
                PATH,
                r#"{"id":"b1","results_url":null}"#.into(),
                r#"{"id":"b1","results_url":null}"#.into(),
            ),
            (PATH, r#"{"id":"b1"}"#.into(), r#"{"id":"b1"}"#.into()),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("gate.example:8080"));
            let request = RequestView::new(
                "r".into(),
                Method::GET,
                path.into(),
                None,
                headers,
                Vec::new(),
                None,
            );
            let body = Bytes::from(body);
            let changed = mapped(&request, None, &body).unwrap().unwrap_or(body);
            assert_eq!(changed, expected, "{path}");
        }
    }

    #[test]
    fn the_url_of_the_gateway_is_what_clients_reach() {
        let body = Bytes::from_static(br#"{"id":"b1","results_url":"https://provider.example/x"}"#);
        for (host, is_tls, public_url, expected) in [
            (Some("gate:8080"), false, None, "http://gate:8080/v1"),
            (Some("gate"), true, None, "https://gate/v1"),
            (None, true, None, "/v1"),
            (
                Some("10.0.0.7:8080"),
                false,
                Some("https://gate.example/ai/"),
                "https://gate.example/ai/v1",
            ),
            (
                None,
                false,
                Some("https://gate.example"),
                "https://gate.example/v1",
            ),
        ] {
            let headers = host.map(|host| (header::HOST, HeaderValue::from_static(host)));
            let path = "/v1/messages/batches/b1".to_owned();
            let mut request = RequestView::new(
                "r".into(),
                Method::GET,
                path,
                None,
                headers.into_iter().collect::<HeaderMap>(),
                Vec::new(),
                None,
            );
            request.is_tls = is_tls;
            let public_url = public_url.map(PublicUrl::new);
            let changed = mapped(&request, public_url.as_ref(), &body)
                .unwrap()
                .unwrap();
            let url = format!("{expected}/messages/batches/b1/results");
            let expected = format!(r#"{{"id":"b1","results_url":"{url}"}}"#);
            assert_eq!(changed, expected, "{host:?} {public_url:?}");
        }
    }
}

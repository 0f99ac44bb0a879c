//! Tests of the trace context on the wire: what callers send, and what providers receive.

use super::{CHAT, TracingSetup, id_of};
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, config};
use headgate_protocol::Protocol;
use serde_json::json;

/// Headers of a request: names with values.
type SentHeaders<'h> = &'h [(&'h str, &'h str)];

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

#[tokio::test]
async fn a_valid_trace_is_continued_and_an_invalid_one_is_replaced() {
    let setup = TracingSetup::start(json!({})).await;
    let valid = format!("00-{TRACE}-{SPAN}-01");
    let future = format!("cc-{TRACE}-{SPAN}-01-more");
    let cases: [(SentHeaders, bool, &str); 9] = [
        (&[], false, ""),
        (&[("traceparent", &valid)], true, ""),
        (
            &[("TraceParent", &valid), ("TraceState", "a=1,b=2")],
            true,
            "a=1,b=2",
        ),
        (
            &[
                ("traceparent", &valid),
                ("tracestate", "a=1"),
                ("tracestate", "b=2"),
            ],
            true,
            "a=1,b=2",
        ),
        (&[("traceparent", &valid), ("tracestate", "A=1")], true, ""),
        (&[("traceparent", &future)], true, ""),
        (
            &[("traceparent", &valid), ("traceparent", &valid)],
            false,
            "",
        ),
        (
            &[
                (
                    "traceparent",
                    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                ),
                ("tracestate", "a=1"),
            ],
            false,
            "",
        ),
        (
            &[("traceparent", "nonsense"), ("tracestate", "a=1")],
            false,
            "",
        ),
    ];
    for (headers, is_continued, state) in cases {
        let mut request = Request::ask(Protocol::Chat);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = setup.gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{headers:?}");
        let spans = setup.collector.exchange(id_of(&response)).await;
        let [server, attempt] = &spans[..] else {
            panic!("{headers:?}: {spans:?}")
        };
        assert_eq!(server.trace_id == TRACE, is_continued, "{headers:?}");
        let parent = if is_continued { SPAN } else { "" };
        assert_eq!(server.parent, parent, "{headers:?}");
        assert_eq!(attempt.trace_id, server.trace_id);
        // Whether the parent is remote is known of both, and the server's is.
        let remote = [server, attempt].map(|span| span.flags & 0x300);
        assert_eq!(remote, [if is_continued { 0x300 } else { 0x100 }, 0x100]);
        assert_eq!([&server.state, &attempt.state], [state; 2], "{headers:?}");
        let sent = setup.provider_headers("traceparent");
        let flags = if is_continued { "01" } else { "03" };
        let expected = format!("00-{}-{}-{flags}", server.trace_id, attempt.span_id);
        assert_eq!(sent, [expected], "{headers:?}");
        let sent = setup.provider_headers("tracestate");
        assert_eq!(sent.concat(), state, "{headers:?}");
        let line = setup.gateway.log_of(&response).await;
        assert_eq!(line["trace_id"], server.trace_id, "{line}");
        assert_eq!(line["trace_exported"], true, "{line}");
    }
}

#[tokio::test]
async fn the_lines_of_the_requests_page_lead_to_their_traces() {
    let setup = TracingSetup::start(json!({})).await;
    let response = setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
    let spans = setup.collector.exchange(id_of(&response)).await;
    let page = setup.gateway.page("GET", "/requests").await;
    assert!(page.text().contains(&spans[0].trace_id), "{}", page.text());
}

#[tokio::test]
async fn without_tracing_the_headers_pass_as_they_are() {
    let provider = ScriptedProvider::answering(json_response(200, CHAT)).await;
    let gateway = Gateway::start(&config::standard(&provider.url())).await;
    let request = Request::ask(Protocol::Chat)
        .header("traceparent", "nonsense")
        .header("tracestate", "a=1");
    let response = gateway.ask(&request).await;
    assert_eq!(response.status, 200);
    let sent = provider.requests().concat().to_ascii_lowercase();
    assert!(sent.contains("traceparent: nonsense\r\n"), "{sent}");
    assert!(sent.contains("tracestate: a=1\r\n"), "{sent}");
    let line = gateway.log_of(&response).await;
    assert!(
        line["trace_id"].is_null() && line["trace_exported"].is_null(),
        "{line}"
    );
}

#[tokio::test]
async fn an_operator_can_keep_the_trace_context_from_providers() {
    let provider = ScriptedProvider::answering(json_response(200, CHAT)).await;
    let setup = TracingSetup::with(provider, json!({}), |config| {
        let chain = &mut config::route(config, "chat")["request"];
        let remove = json!({"remove_headers": ["traceparent", "tracestate"]});
        chain.as_array_mut().unwrap().push(remove);
    })
    .await;
    let response = setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(setup.collector.exchange(id_of(&response)).await.len(), 2);
    assert_eq!(setup.provider_headers("traceparent"), [""; 0]);
}

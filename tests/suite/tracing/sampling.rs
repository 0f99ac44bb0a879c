//! Tests of which exchanges are exported.

use super::{CHAT, TracingSetup, id_of};
use crate::harness::http_response::json_response;
use crate::harness::{Request, ScriptedProvider};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// A request whose parent has these flags.
fn request(flags: Option<&str>) -> Request {
    let request = Request::ask(Protocol::Chat);
    match flags {
        Some(flags) => request.header("traceparent", &format!("00-{TRACE}-{SPAN}-{flags}")),
        None => request,
    }
}

#[tokio::test]
async fn parents_and_the_ratio_decide_what_is_exported() {
    for (sampling, cases) in [
        (
            json!({}),
            [(None, true), (Some("00"), false), (Some("01"), true)],
        ),
        (
            json!({"ratio": 0}),
            [(None, false), (Some("00"), false), (Some("01"), true)],
        ),
        (
            json!({"ratio": 0, "parents_per_second": 0}),
            [(None, false), (Some("00"), false), (Some("01"), false)],
        ),
        (
            json!({"ratio": 0, "parent": "ignore"}),
            [(None, false), (Some("00"), false), (Some("01"), false)],
        ),
        (
            json!({"ratio": 1, "parent": "ignore"}),
            [(None, true), (Some("00"), true), (Some("01"), true)],
        ),
    ] {
        let setup = TracingSetup::start(json!({"sampling": sampling})).await;
        let mut exported = 0;
        for (flags, expected) in cases {
            let response = setup.gateway.ask(&request(flags)).await;
            let line = setup.gateway.log_of(&response).await;
            assert_eq!(line["trace_exported"], expected, "{sampling} {flags:?}");
            // Providers learn the decision.
            let sent = setup.provider_headers("traceparent");
            let is_sampled = sent[0].ends_with("01") || sent[0].ends_with("03");
            assert_eq!(is_sampled, expected, "{sampling} {flags:?}: {sent:?}");
            if expected {
                exported += 2;
                setup.collector.exchange(id_of(&response)).await;
            }
        }
        assert_eq!(setup.collector.spans().len(), exported, "{sampling}");
    }
}

#[tokio::test]
async fn failed_exchanges_are_exported_although_they_are_not_sampled() {
    let failing = json_response(500, r#"{"error":{"message":"broken"}}"#);
    for (errors, of_provider, of_caller) in [
        (Value::Null, true, false),
        (json!("server"), true, false),
        (json!("all"), true, true),
        (json!("none"), false, false),
    ] {
        let mut sampling = json!({"ratio": 0});
        if !errors.is_null() {
            sampling["errors"] = errors.clone();
        }
        let provider = ScriptedProvider::answering(json_response(200, CHAT)).await;
        let setup = TracingSetup::with(provider, json!({"sampling": sampling}), |_| {}).await;
        let good = setup.gateway.ask(&request(Some("00"))).await;
        assert_eq!(good.status, 200);
        let refused = setup.gateway.ask(&Request::to(Protocol::Chat, "{}")).await;
        assert_eq!(refused.status, 400);
        setup
            .provider
            .next(vec![crate::harness::ScriptedResponse::Send(
                failing.clone(),
            )]);
        let failed = setup.gateway.ask(&request(Some("00"))).await;
        assert!(failed.status >= 500, "{}", failed.status);
        for (response, expected) in [
            (&good, false),
            (&refused, of_caller),
            (&failed, of_provider),
        ] {
            let line = setup.gateway.log_of(response).await;
            assert_eq!(line["trace_exported"], expected, "{errors} {line}");
            if expected {
                setup.collector.exchange(id_of(response)).await;
            }
        }
        if of_provider {
            let spans = setup.collector.exchange(id_of(&failed)).await;
            assert_eq!((spans.len(), spans[0].trace_id.as_str()), (2, TRACE));
            assert_eq!(*spans[1].get("headgate.outcome"), "server_error");
        }
    }
}

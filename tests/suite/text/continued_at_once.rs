//! Tests of callers who continue a response as soon as they have its last byte.

use crate::harness::http_response::{json_response, typed_response};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Long enough that the gateway reads its ids for longer than a request takes.
const TEXT_BYTES: usize = 2 << 20;
/// As many events as a gateway gets at once.
const EVENTS: usize = 500;
const ROUNDS: usize = 10;

fn response(id: &str, output: &Value) -> Value {
    json!({"object": "response", "status": "completed", "output": output, "id": id})
}

async fn start() -> (ScriptedProvider, Gateway) {
    let whole = json_response(200, response("resp_last", &json!([])));
    let provider = ScriptedProvider::answering(whole).await;
    let gateway = Gateway::start(&config::standard(&provider.url())).await;
    (provider, gateway)
}

fn continuation(id: &str) -> Request {
    let body = json!({"model": "demo-large", "input": "On", "previous_response_id": id});
    Request::to(Protocol::Responses, body.to_string())
}

#[tokio::test]
async fn a_response_can_be_continued_as_soon_as_its_last_byte_has_arrived() {
    let (provider, gateway) = start().await;
    let text = "a gate ".repeat(TEXT_BYTES / 7);
    let output = json!([{"type": "message", "content": [{"type": "output_text", "text": text}]}]);
    for round in 0..ROUNDS {
        let id = format!("resp_{round}");
        let whole = json_response(200, response(&id, &output));
        provider.next(vec![ScriptedResponse::Send(whole)]);
        let first = gateway.ask(&Request::ask(Protocol::Responses)).await;
        assert_eq!(first.status, 200, "{round}");
        let next = gateway.ask(&continuation(&id)).await;
        assert_eq!(next.status, 200, "{round}: {}", next.text());
    }
}

#[tokio::test]
async fn a_streamed_response_can_be_continued_as_soon_as_its_last_event_has_arrived() {
    let (provider, gateway) = start().await;
    for round in 0..ROUNDS {
        let id = format!("resp_{round}");
        let event = |name: &str, data: Value| format!("event: {name}\ndata: {data}\n\n");
        let delta = json!({"type": "response.output_text.delta", "delta": "a gate"});
        let last = json!({"type": "response.completed", "response": response(&id, &json!([]))});
        let events = event("response.output_text.delta", delta).repeat(EVENTS)
            + &event("response.completed", last);
        let stream = typed_response(200, "text/event-stream", events);
        provider.next(vec![ScriptedResponse::Send(stream)]);
        let streamed = Request::ask_stream(Protocol::Responses);
        let mut open = gateway.connect().await.open(&streamed).await;
        open.until("event: response.completed").await;
        let next = gateway.ask(&continuation(&id)).await;
        assert_eq!(next.status, 200, "{round}: {}", next.text());
    }
}

//! Test of a caller who continues a response as soon as it has its last byte.

use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config};
use headgate_protocol::Protocol;
use serde_json::json;

/// Long enough that the gateway reads its ids for longer than a request takes.
const TEXT_BYTES: usize = 2 << 20;
const ROUNDS: usize = 5;

#[tokio::test]
async fn a_response_can_be_continued_as_soon_as_its_last_byte_has_arrived() {
    let provider = ScriptedProvider::answering(json_response(
        200,
        json!({"id": "resp_last", "object": "response", "status": "completed", "output": []}),
    ))
    .await;
    let gateway = Gateway::start(&config::standard(&provider.url())).await;
    let text = "a gate ".repeat(TEXT_BYTES / 7);
    for round in 0..ROUNDS {
        let id = format!("resp_{round}");
        let message =
            json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
        let response = json!({
            "object": "response", "status": "completed", "output": [message], "id": id,
        });
        provider.next(vec![ScriptedResponse::Send(json_response(200, response))]);
        let first = gateway.ask(&Request::ask(Protocol::Responses)).await;
        assert_eq!(first.status, 200, "{round}");
        let next = json!({"model": "demo-large", "input": "On", "previous_response_id": id});
        let next = gateway
            .ask(&Request::to(Protocol::Responses, next.to_string()))
            .await;
        assert_eq!(next.status, 200, "{round}: {}", next.text());
    }
}

//! Tests of content that only the account that sealed it can read: it goes back there, or finds it by trying.

use crate::harness::http_response::{json_response, typed_response};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, WholeResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Turns of a conversation, and conversations.
const TURNS: usize = 4;
const CONVERSATIONS: usize = 20;

/// What each account writes into its sealed content, and nobody else.
const SEALS: [&str; 2] = ["gAAAAAone", "gAAAAAtwo"];

/// An account that reads `own` content and refuses `foreign` content, in both protocols.
fn account(request: &str, own: &str, foreign: &str) -> Vec<u8> {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let is_messages = head.starts_with("POST /messages") || head.contains("/messages HTTP");
    let is_stream = body.contains(r#""stream":true"#);
    if body.contains(foreign) {
        let error = match is_messages {
            true => json!({"type": "error", "error": {"type": "invalid_request_error",
                "message": "messages.1.content.0: Invalid `signature` in `thinking` block"}}),
            false => json!({"error": {"type": "invalid_request_error", "param": null,
                "code": "invalid_encrypted_content",
                "message": "The encrypted content could not be verified."}}),
        };
        return json_response(400, error);
    }
    // Content that is long, and different each time.
    let sealed = format!("{own}{}{}", "A".repeat(200), body.len());
    match (is_messages, is_stream) {
        (true, false) => json_response(200, message(&sealed)),
        (true, true) => stream_of(&message_events(&sealed)),
        (false, false) => json_response(200, response(&sealed)),
        (false, true) => stream_of(&response_events(&sealed)),
    }
}

fn one(request: &str) -> Vec<u8> {
    account(request, SEALS[0], SEALS[1])
}

fn two(request: &str) -> Vec<u8> {
    account(request, SEALS[1], SEALS[0])
}

fn reasoning(sealed: &str) -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed})
}

fn response(sealed: &str) -> Value {
    let text = json!({"type": "output_text", "text": "hi", "annotations": []});
    let answer = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]});
    json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
        "output": [reasoning(sealed), answer],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}})
}

fn message(sealed: &str) -> Value {
    let thinking = json!({"type": "thinking", "thinking": "t", "signature": sealed});
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [thinking, {"type": "text", "text": "hi"}], "stop_reason": "end_turn",
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}})
}

fn response_events(sealed: &str) -> Vec<Value> {
    let mut begun = response(sealed);
    begun["output"] = json!([]);
    vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning(sealed)}),
        json!({"type": "response.completed", "response": response(sealed)}),
    ]
}

fn message_events(sealed: &str) -> Vec<Value> {
    let mut begun = message(sealed);
    begun["content"] = json!([]);
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    vec![
        json!({"type": "message_start", "message": begun}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        delta(json!({"type": "thinking_delta", "thinking": "t"})),
        delta(json!({"type": "signature_delta", "signature": sealed})),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
}

fn stream_of(events: &[Value]) -> Vec<u8> {
    let mut body = String::new();
    for event in events {
        let name = event["type"].as_str().unwrap();
        body.push_str(&format!("event: {name}\ndata: {event}\n\n"));
    }
    typed_response(200, "text/event-stream", body)
}

/// The sealed content of a response, however it came.
fn sealed_in(response: &WholeResponse) -> String {
    let text = response.text();
    let places = SEALS.iter().filter_map(|seal| text.find(seal));
    let start = places
        .min()
        .unwrap_or_else(|| panic!("nothing sealed in {text}"));
    let rest = &text[start..];
    rest[..rest.find('"').unwrap()].to_owned()
}

/// A turn of a conversation with what was sealed so far.
fn turn(protocol: Protocol, is_stream: bool, sealed: &[String]) -> Request {
    let user = json!({"role": "user", "content": "Hello"});
    let mut items = vec![user.clone()];
    for text in sealed {
        match protocol {
            Protocol::Messages => items.push(json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": text}, {"type": "text", "text": "hi"}]})),
            _ => items.push(reasoning(text)),
        }
        items.push(user.clone());
    }
    let body = match protocol {
        Protocol::Messages => {
            json!({"model": "demo-large", "max_tokens": 99, "messages": items, "stream": is_stream})
        }
        _ => json!({"model": "demo-large", "input": items, "store": false, "stream": is_stream,
            "include": ["reasoning.encrypted_content"]}),
    };
    Request::to(protocol, body.to_string())
}

async fn accounts() -> [ScriptedProvider; 2] {
    [
        ScriptedProvider::start(vec![ScriptedResponse::Answer(one)]).await,
        ScriptedProvider::start(vec![ScriptedResponse::Answer(two)]).await,
    ]
}

async fn gateway(accounts: &[ScriptedProvider; 2], order: [usize; 2]) -> Gateway {
    let protocols = ["responses", "messages"];
    let mut config = config::standard(&accounts[0].url());
    let channel = |index: usize| {
        let credential = json!({"bearer": config::CREDENTIALS[index]});
        let mut channel = config::channel(&accounts[index].url(), &protocols, credential);
        channel["tier"] = json!(order[index]);
        channel
    };
    config["channels"] = json!({"one": channel(0), "two": channel(1)});
    for protocol in protocols {
        let response = json!(["pass_sse", "meter_usage", "remember_ids"]);
        config::route(&mut config, protocol)["response"] = response;
    }
    Gateway::start(&config).await
}

#[tokio::test]
async fn conversations_stay_with_the_account_that_sealed_their_reasoning() {
    for protocol in [Protocol::Responses, Protocol::Messages] {
        let accounts = accounts().await;
        let gateway = gateway(&accounts, [0, 0]).await;
        let mut used = [0; 2];
        for conversation in 0..CONVERSATIONS {
            let is_stream = conversation % 2 == 1;
            let mut sealed = Vec::new();
            for _ in 0..TURNS {
                let response = gateway.ask(&turn(protocol, is_stream, &sealed)).await;
                assert_eq!(response.status, 200, "{protocol:?}: {}", response.text());
                let line = gateway.log_of(&response).await;
                assert_eq!(line["attempts"], 1, "{protocol:?} {is_stream}: {line}");
                sealed.push(sealed_in(&response));
            }
            used[usize::from(sealed[0].starts_with(SEALS[1]))] += 1;
        }
        assert!(used.iter().all(|count| *count > 0), "{used:?}");
    }
}

#[tokio::test]
async fn content_of_an_unknown_account_finds_it_and_cools_nothing_down() {
    for protocol in [Protocol::Responses, Protocol::Messages] {
        let accounts = accounts().await;
        let gateway = gateway(&accounts, [0, 1]).await;
        let sealed = [format!("{}{}", SEALS[1], "B".repeat(200))];
        for round in 0..8 {
            let response = gateway.ask(&turn(protocol, false, &sealed)).await;
            assert_eq!(response.status, 200, "{protocol:?}: {}", response.text());
            let line = gateway.log_of(&response).await;
            assert_eq!(line["attempts"], 2, "{protocol:?} {round}: {line}");
        }
        let fresh = gateway.ask(&turn(protocol, false, &[])).await;
        let line = gateway.log_of(&fresh).await;
        assert_eq!(
            (&line["channel"], &line["attempts"]),
            (&json!("one"), &json!(1)),
            "{line}"
        );
    }
}

#[tokio::test]
async fn content_that_nobody_can_read_gets_the_providers_error() {
    let accounts = accounts().await;
    let gateway = gateway(&accounts, [0, 1]).await;
    let sealed = SEALS.map(|seal| format!("{seal}{}", "C".repeat(200)));
    let refused = gateway
        .ask(&turn(Protocol::Responses, false, &sealed))
        .await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(refused.json()["error"]["code"], "invalid_encrypted_content");
}

#[tokio::test]
async fn an_account_that_is_not_available_is_no_reason_to_refuse_its_content() {
    let accounts = accounts().await;
    let gateway = gateway(&accounts, [0, 1]).await;
    let first = gateway.ask(&turn(Protocol::Responses, false, &[])).await;
    let sealed = [sealed_in(&first)];
    assert!(sealed[0].starts_with(SEALS[0]));
    let failure = json_response(500, "{}");
    accounts[0].next(vec![ScriptedResponse::Send(failure)]);
    let second = gateway
        .ask(&turn(Protocol::Responses, false, &sealed))
        .await;
    let line = gateway.log_of(&second).await;
    // The other account was asked; it cannot read the content.
    assert_eq!(line["attempts"], 2, "{line}");
    assert_eq!(line["channel"], "two", "{line}");
}

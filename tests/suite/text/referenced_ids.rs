//! Tests of ids in unusual fields, types and spellings: none reaches the provider unchecked.

use crate::harness::accounts::CAT;
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::json_response;
use crate::harness::request::ANN;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

async fn before(provider: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::add_stored_objects(&mut config);
    let callers = config["callers"].as_array_mut().unwrap();
    callers.push(config::caller("cat", CAT, &["*"]));
    // The schemas would refuse some of these types first.
    for route in config["routes"].as_array_mut().unwrap() {
        if let Some(steps) = route["request"].as_array_mut() {
            steps.retain(|step| step != "validate");
        }
    }
    let chat = config::route(&mut config, "chat")["request"].as_array_mut();
    chat.unwrap().push("follow_ids".into());
    for name in ["chat", "responses"] {
        config::route(&mut config, name)["response"] = json!(["remember_ids"]);
    }
    Gateway::start(&config).await
}

fn asking(protocol: Protocol, mut members: Value) -> Request {
    members["model"] = "demo-large".into();
    Request::to(protocol, members.to_string())
}

#[tokio::test]
async fn a_field_that_is_no_id_is_refused_before_the_provider() {
    let provider = ScriptedProvider::answering(json_response(200, json!({"id": "x"}))).await;
    let gateway = before(&provider).await;
    for (members, param) in [
        (json!({"input": "x", "container": ["c"]}), "container"),
        (json!({"input": "x", "conversation": ["c"]}), "conversation"),
        (
            json!({"input": "x", "vector_store_ids": {"0": "v"}}),
            "vector_store_ids",
        ),
        (json!({"input": "x", "prompt": {"id": ["p"]}}), "prompt.id"),
        (
            json!({"input": [{"type": "item_reference", "id": ["i"]}]}),
            "input.0.id",
        ),
    ] {
        let answer = gateway.ask(&asking(Protocol::Responses, members)).await;
        assert_error_body(Protocol::Responses, &answer, 400);
        assert_eq!(answer.json()["error"]["param"], param);
    }
    for file_ids in [json!("file-1"), json!({"0": "file-1"}), json!([["file-1"]])] {
        let body = json!({"name": "box", "file_ids": file_ids}).to_string();
        for path in ["/v1/containers", "/v1/vector_stores"] {
            let answer = gateway.ask(&Request::post(path, body.clone())).await;
            assert_error_body(Protocol::Responses, &answer, 400);
        }
    }
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn an_item_or_audio_is_referred_to_by_the_caller_that_got_it() {
    let provider = ScriptedProvider::answering(json_response(200, json!({"id": "x"}))).await;
    let gateway = before(&provider).await;
    let made = json!({"id": "resp_1", "object": "response", "status": "completed",
        "output": [{"id": "msg_1", "type": "message", "role": "assistant", "content": []}]});
    let audio = json!({"id": "c", "object": "chat.completion", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "audio": {"id": "audio_1"}}}]});
    let speaking = json!({"messages": [{"role": "user", "content": "x"}], "audio": {"voice": "v"}});
    for (request, answer) in [
        (asking(Protocol::Responses, json!({"input": "x"})), &made),
        (asking(Protocol::Chat, speaking), &audio),
    ] {
        provider.next(vec![ScriptedResponse::Send(json_response(200, answer))]);
        let found = gateway.ask(&request.key(ANN)).await;
        assert_eq!(found.status, 200, "{}", found.text());
        gateway.log_of(&found).await;
    }
    let item = |id: &str| {
        let members = json!({"input": [{"type": "item_reference", "id": id}]});
        asking(Protocol::Responses, members)
    };
    let heard = |id: &str| {
        let members = json!({"messages": [{"role": "assistant", "audio": {"id": id}}]});
        asking(Protocol::Chat, members)
    };
    let prompt = asking(Protocol::Responses, json!({"prompt": {"id": "pmpt_1"}}));
    let before = provider.requests().len();
    for (request, key, status) in [
        (item("msg_1"), CAT, 404),
        (item("msg_2"), ANN, 404),
        (
            asking(Protocol::Responses, json!({"input": [{"id": "msg_1"}]})),
            CAT,
            404,
        ),
        (heard("audio_1"), CAT, 404),
        (heard("audio_2"), ANN, 404),
        (prompt, ANN, 404),
    ] {
        let found = gateway.ask(&request.key(key)).await;
        assert_eq!(found.status, status, "{}", found.text());
    }
    assert_eq!(provider.requests().len(), before);
    for request in [item("msg_1"), heard("audio_1")] {
        let found = gateway.ask(&request.key(ANN)).await;
        assert_eq!(found.status, 200, "{}", found.text());
    }
}

#[tokio::test]
async fn a_cursor_in_another_spelling_is_looked_up() {
    let provider = ScriptedProvider::answering(json_response(200, json!({"data": []}))).await;
    let gateway = before(&provider).await;
    for query in [
        "after=f",
        "%61fter=f",
        "limit=1;after=f",
        "after[]=f",
        "after%5B0%5D=f",
    ] {
        let found = gateway
            .ask(&Request::get(&format!("/v1/files?{query}")))
            .await;
        assert!(
            matches!(found.status, 400 | 404),
            "{query}: {}",
            found.text()
        );
    }
    assert!(provider.requests().is_empty());
}

//! Tests of streams: their sequence of events, and that they have the same content as whole responses.

use super::{ordinary, post, simulator, with};
use serde_json::{Value, json};

const STREAM: &str = r#"{"stream": true}"#;

fn stream(body: &Value) -> Value {
    with(body, &serde_json::from_str(STREAM).unwrap())
}

#[tokio::test]
async fn the_deltas_put_together_are_the_whole_text() {
    let simulator = simulator();
    let text_at = [
        "/choices/0/message/content",
        "/content/0/text",
        "/output/0/content/0/text",
    ];
    let delta_at = ["/choices/0/delta/content", "/delta/text", "/delta"];
    for (((path, body), text_at), delta_at) in ordinary().into_iter().zip(text_at).zip(delta_at) {
        let whole = post(&simulator, path, &body).await.json();
        let seen = post(&simulator, path, &stream(&body)).await;
        assert_eq!(
            seen.headers["content-type"],
            "text/event-stream; charset=utf-8"
        );
        assert_eq!(
            &seen.joined(delta_at),
            whole.pointer(text_at).unwrap(),
            "{path}"
        );
        assert!((15..50).contains(&seen.events().len()), "{path}");
    }
}

#[tokio::test]
async fn a_chat_stream_ends_with_usage_where_asked_and_done() {
    let [(path, body), ..] = ordinary();
    let simulator = simulator();
    let requested = with(
        &stream(&body),
        &json!({"stream_options": {"include_usage": true}}),
    );
    let events = post(&simulator, path, &requested).await.events();
    let [.., (_, finish), (_, usage), (_, done)] = events.as_slice() else {
        panic!("too few events");
    };
    assert_eq!(finish["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        (&finish["usage"], &usage["choices"]),
        (&Value::Null, &json!([]))
    );
    assert!(finish.as_object().unwrap().contains_key("usage"));
    assert!(usage["usage"]["total_tokens"].is_u64());
    assert_eq!(done, "[DONE]");
    let unasked = post(&simulator, path, &stream(&body)).await.events();
    assert_eq!(unasked.len() + 1, events.len());
    assert!(unasked.iter().all(|(_, data)| data.get("usage").is_none()));
}

#[tokio::test]
async fn a_message_stream_has_its_events_in_order() {
    let [_, (path, body), _] = ordinary();
    let body = with(&stream(&body), &json!({"thinking": {"type": "adaptive"}}));
    let seen = post(&simulator(), path, &body).await;
    assert_eq!(
        seen.names(),
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "ping",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    for (name, data) in seen.events() {
        assert_eq!(data["type"], name);
    }
    let events = seen.events();
    assert!(events[0].1["message"]["usage"]["input_tokens"].is_u64());
    assert!(events[events.len() - 2].1["usage"]["output_tokens"].as_u64() > Some(60));
    assert_eq!(
        seen.joined("/delta/type")
            .matches("signature_delta")
            .count(),
        1
    );
}

#[tokio::test]
async fn a_response_stream_has_its_events_numbered_and_in_order() {
    let [_, _, (path, body)] = ordinary();
    let seen = post(&simulator(), path, &stream(&body)).await;
    assert_eq!(
        seen.names(),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (number, (name, data)) in seen.events().iter().enumerate() {
        assert_eq!(
            (&data["type"], &data["sequence_number"]),
            (&json!(name), &json!(number))
        );
    }
    let (_, last) = seen.events().pop().unwrap();
    assert_eq!(last["response"]["status"], "completed");
    assert!(last["response"]["usage"]["total_tokens"].is_u64());
}

#[tokio::test]
async fn a_tool_call_streams_its_arguments_in_several_deltas() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
    let tools = [
        json!([{"type": "function", "function": {"name": "f", "parameters": schema}}]),
        json!([{"name": "f", "input_schema": schema}]),
        json!([{"type": "function", "name": "f", "parameters": schema}]),
    ];
    let choices = [json!("required"), json!({"type": "any"}), json!("required")];
    let delta_at = [
        "/choices/0/delta/tool_calls/0/function/arguments",
        "/delta/partial_json",
        "/delta",
    ];
    let simulator = simulator();
    let requests = ordinary().into_iter().zip(tools).zip(choices).zip(delta_at);
    for ((((path, body), tools), choice), delta_at) in requests {
        let body = with(
            &stream(&body),
            &json!({"tools": tools, "tool_choice": choice}),
        );
        let seen = post(&simulator, path, &body).await;
        let arguments = serde_json::from_str(&seen.joined(delta_at)).unwrap();
        assert!(
            jsonschema::is_valid(&schema, &arguments),
            "{path} {arguments}"
        );
        let deltas = seen.events();
        assert!(
            deltas
                .iter()
                .filter(|(_, data)| data.pointer(delta_at).is_some())
                .count()
                > 2
        );
    }
}

#[tokio::test]
async fn a_cut_short_response_ends_as_incomplete() {
    let [_, _, (path, body)] = ordinary();
    let body = with(&stream(&body), &json!({"max_output_tokens": 4}));
    let seen = post(&simulator(), path, &body).await;
    assert_eq!(seen.names().last().unwrap(), "response.incomplete");
}

#[tokio::test]
async fn every_choice_of_a_chat_stream_has_its_own_index() {
    let [(path, body), ..] = ordinary();
    let seen = post(&simulator(), path, &with(&stream(&body), &json!({"n": 2}))).await;
    let of = |index: u64| {
        let events = seen.events();
        let texts = events
            .iter()
            .filter(|(_, data)| data["choices"][0]["index"] == index);
        texts
            .filter_map(|(_, data)| {
                data["choices"][0]["delta"]["content"]
                    .as_str()
                    .map(str::to_owned)
            })
            .collect::<String>()
    };
    assert_eq!(of(0), of(1));
    assert_eq!(of(0).len(), 240);
}

//! Tests of `edit_event`: which bytes of streams change, in any cut, on all three text protocols.

use crate::harness::config::{self, route};
use crate::harness::whole_streams::whole;
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, TestSetup, body_of,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn append(config: &mut Value, protocol: Protocol, step: Value) {
    let chain = route(config, protocol.name())["response"]
        .as_array_mut()
        .unwrap();
    chain.push(step);
}

/// The stream as the caller receives it, if the provider sends it in pieces of `size` bytes.
async fn relayed(protocol: Protocol, steps: &[Value], stream: &str, size: usize) -> String {
    let provider = ScriptedProvider::start(vec![]).await;
    let mut acts = vec![ScriptedResponse::Send(HEAD.into())];
    for piece in stream.as_bytes().chunks(size) {
        acts.push(ScriptedResponse::Send(piece.to_vec()));
        if size > 1 {
            acts.push(ScriptedResponse::Wait(Duration::from_millis(1)));
        }
    }
    acts.push(ScriptedResponse::Close);
    provider.next(acts);
    let mut config = config::standard(&provider.url());
    steps
        .iter()
        .for_each(|step| append(&mut config, protocol, step.clone()));
    let gateway = Gateway::start(&config).await;
    let response = gateway.ask(&Request::ask_stream(protocol)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.text()
}

fn stream_of(protocol: Protocol) -> String {
    whole(protocol)
        .0
        .iter()
        .map(|event| format!("{event}\n\n"))
        .collect()
}

#[tokio::test]
async fn only_the_data_of_the_selected_events_changes_in_any_cut() {
    for (protocol, edit, from, to) in [
        (
            Protocol::Chat,
            json!({"events": ["*"], "set": {"/usage/by": {"cel": "caller"}}, "remove": ["/choices/0/delta/role"]}),
            &[
                (
                    "{\"role\":\"assistant\"},\"finish_reason\":null}]",
                    "{},\"finish_reason\":null}],\"usage\":{\"by\":\"ann\"}",
                ),
                (
                    "b\"},\"finish_reason\":null}]",
                    "b\"},\"finish_reason\":null}],\"usage\":{\"by\":\"ann\"}",
                ),
                (
                    "\"finish_reason\":\"\"}]",
                    "\"finish_reason\":\"\"}],\"usage\":{\"by\":\"ann\"}",
                ),
                (
                    "\"delta\":{},\"finish_reason\":\"stop\"}]",
                    "\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"by\":\"ann\"}",
                ),
                ("\"total_tokens\":3}", "\"total_tokens\":3,\"by\":\"ann\"}"),
            ][..],
            "",
        ),
        (
            Protocol::Messages,
            json!({"events": ["content_block_delta"], "rename": {"/delta/text": "t"}, "default": {"/n": {"cel": "event.type"}}}),
            &[(
                "\"text\":\"message_stop\"}",
                "\"t\":\"message_stop\"},\"n\":\"content_block_delta\"",
            )][..],
            "",
        ),
        (
            Protocol::Responses,
            json!({"events": ["response.output_text.delta", "response.output_text.done"], "set": {"/delta": {"cel": "event_json(\"/delta\") == null ? \"\" : event_json(\"/delta\").upperAscii()"}}}),
            &[
                (
                    "\"delta\":\"response.completed\"",
                    "\"delta\":\"RESPONSE.COMPLETED\"",
                ),
                ("\"text\":\"x\"", "\"text\":\"x\",\"delta\":\"\""),
            ][..],
            "",
        ),
    ] {
        let extra = ": note\r\nid: 7\r\nevent: other\r\nretry: 5\r\ndata: { \"a\" : 1.0 }\r\n\r\n";
        let (extra, extra_changed) = match protocol {
            Protocol::Chat => (
                extra,
                extra.replace("1.0 }", "1.0,\"usage\":{\"by\":\"ann\"} }"),
            ),
            _ => (extra, extra.to_owned()),
        };
        let stream = format!("{extra}{}", stream_of(protocol));
        let mut expected = stream.replace(extra, &extra_changed);
        for (before, after) in from {
            assert!(expected.contains(before), "{before}");
            expected = expected.replacen(before, after, 1);
        }
        expected.push_str(to);
        for size in [1, 7, 64, stream.len()] {
            let steps = [json!({"edit_event": edit})];
            assert_eq!(
                relayed(protocol, &steps, &stream, size).await,
                expected,
                "pieces of {size}"
            );
        }
    }
}

#[tokio::test]
async fn events_are_dropped_whole_and_later_steps_see_what_is_left() {
    let steps = [
        json!({"edit_event": {"events": ["*"], "drop": {"cel": "event_json(\"/choices\").size() == 0"}}}),
        json!({"edit_event": {"events": ["*"], "set": {"/a": 1}}}),
        json!({"edit_event": {"events": ["*"], "set": {"/b": {"cel": "event_json(\"/a\") + 1"}}}}),
    ];
    let received = relayed(Protocol::Chat, &steps, &stream_of(Protocol::Chat), 30).await;
    let expected: String = whole(Protocol::Chat)
        .0
        .iter()
        .filter(|event| !event.contains("\"choices\":[]"))
        .map(|event| match event.strip_suffix('}') {
            Some(start) => format!("{start},\"a\":1,\"b\":2}}\n\n"),
            None => format!("{event}\n\n"),
        })
        .collect();
    assert_eq!(received, expected);
    let steps = [json!({"edit_event": {"events": ["content_block_stop"], "drop": true}})];
    let received = relayed(
        Protocol::Messages,
        &steps,
        &stream_of(Protocol::Messages),
        30,
    )
    .await;
    assert!(!received.contains("content_block_stop"), "{received}");
    assert!(
        received.ends_with("data: {\"type\":\"message_stop\"}\n\n"),
        "{received}"
    );
}

#[tokio::test]
async fn an_event_whose_value_cannot_be_computed_passes_unchanged() {
    let steps = [
        json!({"edit_event": {"events": ["*"], "set": {"/n": {"cel": "event_json(\"/choices/0/delta/content\") + \"!\""}}}}),
    ];
    let stream = stream_of(Protocol::Chat);
    let received = relayed(Protocol::Chat, &steps, &stream, 50).await;
    let expected = stream
        .replace(
            "b\"},\"finish_reason\":null}]}",
            "b\"},\"finish_reason\":null}],\"n\":\"a \\\"finish_reason\\\":\\\"stop\\\" b!\"}",
        )
        .replace(
            "\"finish_reason\":\"\"}]}",
            "\"finish_reason\":\"\"}],\"n\":\"word!\"}",
        );
    assert_eq!(received, expected);
}

#[tokio::test]
async fn every_event_can_get_a_value_of_the_body_of_its_request() {
    let steps = [
        json!({"edit_event": {"events": ["*"], "set": {"/n": {"cel": "json(\"/stream\") && request.size > 10"}}}}),
    ];
    let stream = stream_of(Protocol::Chat);
    let received = relayed(Protocol::Chat, &steps, &stream, 50).await;
    let objects = stream.matches("data: {").count();
    assert!(objects > 1);
    assert_eq!(
        received.matches(",\"n\":true}").count(),
        objects,
        "{received}"
    );
}

#[tokio::test]
async fn usage_is_metered_before_events_are_dropped() {
    let world = TestSetup::with(|config| {
        for protocol in PROTOCOLS {
            let step = json!({"edit_event": {"events": ["*"], "drop": {"cel": "event_json(\"/usage\") != null"}}});
            append(config, protocol, step);
        }
    })
    .await;
    let response = world.ask(&Request::ask_stream(Protocol::Messages)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(
        !response.text().contains("event: message_delta"),
        "{}",
        response.text()
    );
    let line = world.gateway.log_of(&response).await;
    assert!(line["output_tokens"].as_u64().unwrap() > 0, "{line}");
}

#[tokio::test]
async fn usage_that_the_caller_did_not_request_is_removed_from_edited_events() {
    let world = TestSetup::with(|config| {
        let request = route(config, "chat")["request"].as_array_mut().unwrap();
        request.push(json!("force_usage"));
        for edit in [
            json!({"events": ["*"], "set": {"/x_by": {"cel": "caller"}}}),
            json!({"events": ["*"], "default": {"/usage/total_tokens": 0, "/usage/x_cost": 1}}),
        ] {
            append(config, Protocol::Chat, json!({"edit_event": edit}));
        }
    })
    .await;
    for requests_usage in [false, true] {
        let mut body = body_of(Protocol::Chat);
        body["stream"] = true.into();
        if requests_usage {
            body["stream_options"] = json!({"include_usage": true});
        }
        let response = world
            .ask(&Request::to(Protocol::Chat, body.to_string()))
            .await;
        let text = response.text();
        assert_eq!(response.status, 200, "{text}");
        let data: Vec<Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
            .collect();
        assert!(data.len() > 2, "{text}");
        let is_edited = |event: &Value| event["x_by"] == "ann";
        assert!(data.iter().all(is_edited), "{text}");
        let has_usage = |event: &&Value| event.get("usage").is_some();
        let with_usage = data.iter().filter(has_usage).count();
        let usage_chunks = data
            .iter()
            .filter(|event| event["choices"] == json!([]))
            .count();
        match requests_usage {
            false => assert_eq!((with_usage, usage_chunks), (0, 0), "{text}"),
            true => assert_eq!((with_usage, usage_chunks), (data.len(), 1), "{text}"),
        }
        let line = world.gateway.log_of(&response).await;
        assert!(line["output_tokens"].as_u64().unwrap() > 0, "{line}");
    }
}

#[tokio::test]
async fn usage_that_an_edit_renames_reaches_the_caller() {
    let world = TestSetup::with(|config| {
        let request = route(config, "chat")["request"].as_array_mut().unwrap();
        request.push(json!("force_usage"));
        let edit = json!({"events": ["*"], "rename": {"/usage": "x_usage"}});
        append(config, Protocol::Chat, json!({"edit_event": edit}));
    })
    .await;
    let text = world.ask(&Request::ask_stream(Protocol::Chat)).await.text();
    assert!(text.contains("\"x_usage\":{"), "{text}");
    assert!(!text.contains("\"usage\""), "{text}");
}
